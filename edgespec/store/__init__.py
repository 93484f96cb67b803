"""Model files on this machine: which are here, getting them, removing them.

`pull` gives a complete, verified file or an error that says why not; half a file is never a model.
Knows the catalogue's entries (`edgespec.models.spec`), nothing of llama.cpp.
"""

from edgespec.store.compare import Compared, Verdict, compare
from edgespec.store.disk import Installed, Removed, installed, list_installed, remove
from edgespec.store.job import Patience
from edgespec.store.progress import Phase, PullProgress, Tell, ignore
from edgespec.store.pull import described, pull

__all__ = [
    "Compared",
    "Installed",
    "Patience",
    "Phase",
    "PullProgress",
    "Removed",
    "Tell",
    "Verdict",
    "compare",
    "described",
    "ignore",
    "installed",
    "list_installed",
    "pull",
    "remove",
]
