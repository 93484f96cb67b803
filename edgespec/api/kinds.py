"""Of what kind the values of `load` must be: they come from settings files and forms, too."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType
from typing import Final, SupportsFloat, SupportsIndex

from edgespec.errors import UsageError
from edgespec.text.template import check_template

_PLACE: Final = "a name or a path"
_WHOLE: Final = "a whole number"
_KINDS: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = {
    "target": (_PLACE, (str, Path)),
    "draft": (_PLACE, (str, Path, NoneType)),
    "drafter": ("a text", (str,)),
    "index": ("a text", (str,)),
    "template": ("a text", (str, NoneType)),
    "rpc": ("a text", (str, NoneType)),
    "n_ctx": (_WHOLE, (SupportsIndex, NoneType)),
    "n_threads": (_WHOLE, (SupportsIndex, NoneType)),
    "n_gpu_layers": (_WHOLE, (SupportsIndex, NoneType)),
    "memory_bytes": ("a number", (SupportsFloat, NoneType)),
    "progress": ("a function", (Callable, NoneType)),  # type: ignore[dict-item]
}


def check_kinds(said: Mapping[str, object]) -> None:
    """Raises: `UsageError` for a value of another kind than its name takes, or a broken template.

    Ranges, and names that must be known, are checked where they are used.
    """
    for name, value in said.items():
        wanted, kinds = _KINDS.get(name, ("", (object,)))
        if not isinstance(value, kinds):
            raise UsageError(
                f"{name} is {value!r}, but must be {wanted}",
                hint="leave it out for the usual value" if name != "target" else "edgespec models",
            )
    if isinstance(template := said.get("template"), str):
        check_template(template)
