"""Drafters of other distributions: found by the entry-point group `edgespec.drafters`.

    [project.entry-points."edgespec.drafters"]
    mine = "my_package.drafter:MyDrafter"

Looking for them reads every installed distribution's metadata, so it is done when a name is not
one of ours, or when all are wanted. Knows no drafter by itself.
"""

import logging
import re
from collections.abc import Container
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from edgespec.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from edgespec.drafters import DrafterClass

_log = logging.getLogger(__name__)

GROUP = "edgespec.drafters"
_NAME = re.compile(r"[a-z0-9][a-z0-9_.+-]{0,39}")
"""What can be typed behind --drafter, and told from a length and from the next name."""
_RESERVED = ("auto", "on", "off")


@dataclass(frozen=True, slots=True)
class Offered:
    """One entry point."""

    name: str
    target: str
    """"module:class"."""
    distribution: str
    """Name and version; empty where the metadata do not say."""
    refusal: str = ""
    """Why the name cannot be used; empty if it can."""


def offered(taken: Container[str]) -> tuple[Offered, ...]:
    """What installed distributions offer, with our own names `taken`; by name."""
    found, seen = [], set[str]()
    for point in _points():
        refusal = ""
        if point.name in taken or point.name in _RESERVED:
            refusal = "the name is edgespec's own"
        elif not _NAME.fullmatch(point.name):
            refusal = "a name is of small letters, digits and _ . + -, 40 at most"
        elif point.name in seen:
            refusal = "another distribution has a drafter of this name"
        else:
            seen.add(point.name)
        found.append(Offered(point.name, point.value, _distribution(point), refusal))
    return tuple(found)


def names(taken: Container[str]) -> tuple[str, ...]:
    """Those that can be asked for, by name."""
    return tuple(one.name for one in offered(taken) if not one.refusal)


def find(name: str, taken: Container[str]) -> "DrafterClass | None":
    """The class behind a name; None: nobody offers it. Raises: `UsageError` if it is no drafter."""
    if name not in names(taken):
        return None
    point = next(point for point in _points() if point.name == name)
    try:
        found = point.load()
    except (Exception, SystemExit) as fault:  # a stranger's module may raise anything
        _log.debug("the drafter %r cannot be imported", name, exc_info=fault)
        raise _unusable(point, f"cannot be imported: {told(fault)}") from fault
    if not callable(found):
        raise _unusable(point, f"is {type(found).__name__}, not a class of drafters")
    if not isinstance(getattr(found, "needs_draft_model", None), bool):
        raise _unusable(point, "does not say whether it needs_draft_model")
    drafter: DrafterClass = found
    return drafter


def told(fault: BaseException) -> str:
    """An exception of any kind in a sentence's part."""
    said = " ".join(str(fault).split())
    return f"{said} ({type(fault).__name__})" if said else type(fault).__name__


def _unusable(point: "EntryPoint", why: str) -> UsageError:
    origin = _distribution(point) or point.value
    return UsageError(
        f"the drafter {point.name!r} of {origin} {why}",
        hint=f"update or uninstall {origin.split()[0]}, or take another --drafter",
    )


def _distribution(point: "EntryPoint") -> str:
    dist = point.dist
    return f"{dist.name} {dist.version}" if dist is not None else ""


@cache
def _points() -> "tuple[EntryPoint, ...]":
    """By name, then by distribution; what is installed does not change while we run."""
    from importlib.metadata import entry_points  # 20 ms that `edgespec --help` need not pay

    try:
        found = entry_points(group=GROUP)
    except Exception as fault:  # damaged metadata of any distribution
        _log.warning("installed drafters cannot be listed: %s", told(fault))
        return ()
    return tuple(sorted(found, key=lambda point: (point.name, _distribution(point))))


def forget() -> None:
    """Look again with the next question: something was installed meanwhile."""
    _points.cache_clear()


def checked(taken: Container[str]) -> tuple[Offered, ...]:
    """As `offered`, each one imported: what cannot be used says why."""
    found = []
    for one in offered(taken):
        if not one.refusal:
            try:
                find(one.name, taken)
            except UsageError as error:
                one = replace(one, refusal=error.message)
        found.append(one)
    return tuple(found)
