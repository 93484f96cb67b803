"""Which of edgespec's own arms take part."""

from collections.abc import Sequence

from edgespec.bench.engine import AUTO
from edgespec.bench.ours import parted
from edgespec.drafters import find
from edgespec.errors import UsageError


def check(names: Sequence[str], *, has_draft: bool) -> None:
    """Raises: `UsageError` for a drafter that is not known, or lacks its draft model."""
    for arm in names:
        name, _ = parted(arm)
        if name != AUTO and find(name).needs_draft_model and not has_draft:
            raise UsageError(
                f"the drafter {name!r} needs a draft model", hint="name one with --draft"
            )


def chosen(names: Sequence[str], built: Sequence[str]) -> tuple[str, ...]:
    """The drafters to measure; none named: all that were built, and "auto".

    Trees and lookahead's window are measured where they are named: on most machines their rows
    would take more of the time than all others together. "auto" weighs them in any case.
    Raises: `UsageError` for one that was not built.
    """
    if not names:
        return (*(name for name in built if not getattr(find(name), "needs_branches", 0)), AUTO)
    check(names, has_draft=any(find(name).needs_draft_model for name in built))
    for arm in names:
        name, _ = parted(arm)
        if name not in (AUTO, *built):
            raise UsageError(
                f"the drafter {name!r} cannot be built for this model here",
                hint="--suite index-edit brings an index of its own"
                if getattr(find(name), "needs_index", False)
                else f"choose from: {', '.join((*built, AUTO))}",
            )
    return tuple(dict.fromkeys(names))
