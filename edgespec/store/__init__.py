"""Model files on this machine: which are here, getting them, removing them.

`pull` gives a complete, verified file or an error that says why not; half a file is never a model.
Knows the catalogue's entries (`edgespec.models.spec`), nothing of llama.cpp.

Names are imported on first use (PEP 562): to know what is here takes no network code. Therefore no
module has the name of a function.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgespec.store.comparison import Compared as Compared
    from edgespec.store.comparison import Verdict as Verdict
    from edgespec.store.comparison import compare as compare
    from edgespec.store.disk import Installed as Installed
    from edgespec.store.disk import Removed as Removed
    from edgespec.store.disk import installed as installed
    from edgespec.store.disk import list_installed as list_installed
    from edgespec.store.disk import remove as remove
    from edgespec.store.job import Patience as Patience
    from edgespec.store.progress import Phase as Phase
    from edgespec.store.progress import PullProgress as PullProgress
    from edgespec.store.progress import Tell as Tell
    from edgespec.store.progress import ignore as ignore
    from edgespec.store.pulls import described as described
    from edgespec.store.pulls import pull as pull

_NAMES = {
    "comparison": ("Compared", "Verdict", "compare"),
    "disk": ("Installed", "Removed", "installed", "list_installed", "remove"),
    "job": ("Patience",),
    "progress": ("Phase", "PullProgress", "Tell", "ignore"),
    "pulls": ("described", "pull"),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
