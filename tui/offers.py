"""The picker's rows: what a model or a draft is, whether it fits, what is said of it.

From the catalogue, from other programs' files, from what `edgespec pair` finds; knows no widgets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgespec.sizes import gigabytes

if TYPE_CHECKING:
    from edgespec.api.pairs import Candidate
    from edgespec.api.speeds import Speed
    from edgespec.models.folders import Found
    from edgespec.models.spec import ModelSpec

ROOM = 1.1
"""Weights are not all: a tenth more for the context and what computing needs."""
AUTO, OFF = "auto", "off"


@dataclass(frozen=True, slots=True)
class Row:
    """One model as the picker shows it."""

    name: str
    """What a person types for it."""
    quant: str
    size_bytes: int | None
    told: str
    """What it is, its licence, where it comes from."""
    spec: "ModelSpec | None"
    """None: another program's file, read in place."""
    is_here: bool
    fits: bool
    verdict: str
    """Whether it fits, in words."""
    speed: "Speed | None" = None
    """Of plain decoding here; None: not known."""


@dataclass(frozen=True, slots=True)
class DraftRow:
    """One way to draft for a target."""

    name: str
    """A catalogue id, "auto" or "off"."""
    told: str
    ok: bool
    is_here: bool = True
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file that a choice needs."""

    name: str
    quant: str
    size_bytes: int | None
    is_here: bool
    origin: str
    """Where it comes from."""


def of_another(found: "Found", free_bytes: int) -> Row:
    """A file of another program."""
    from edgespec.models.quants import quant_of

    size, quant = found.size_bytes, quant_of(found.path.name)
    told = f"{found.program}'s, read in place: {found.path}"
    return Row(found.name, quant, size, told, None, True, *fit(size, free_bytes))


def fit(size_bytes: int | None, free_bytes: int) -> tuple[bool, str]:
    """Whether a model of that size fits, and in words."""
    if size_bytes is None:
        return True, "size unknown"
    needed = int(size_bytes * ROOM)
    if needed <= free_bytes:
        return True, "fits"
    return False, f"needs {gigabytes(needed)}, {gigabytes(free_bytes)} free"


def as_row(one: "Candidate") -> DraftRow:
    """What the files and measurements say of a draft."""
    gain = one.here or one.expected
    told = [part for part in (one.reason, one.note) if part]
    if gain is not None:
        low, high = gain.times
        times = f"{low:.2f}x" if low == high else f"{low:.2f}x to {high:.2f}x"
        told.insert(0, f"{times}, {'measured' if one.here else 'expected'} ({gain.source})")
    is_fit = one.verdict != "unfit"
    return DraftRow(
        one.name,
        "; ".join(told) or ("fits this target" if is_fit else ""),
        is_fit,
        one.is_here,
        one.size_bytes or 0,
    )


def is_draft_only(spec: "ModelSpec") -> bool:
    """Whether a model was made to draft and has nothing to say by itself."""
    return "draft" in spec.id


def why_not(target: "ModelSpec", draft: "ModelSpec") -> str:
    """Why a model cannot draft for a target, by the catalogue; empty: nothing speaks against it."""
    if draft.vocab != target.vocab:
        return f"another vocabulary: {draft.vocab}, not {target.vocab}"
    if (draft.planning_bytes or 0) >= (target.planning_bytes or 0):
        return "not smaller than the target"
    return ""


def missing(rows: Sequence[Row | DraftRow], name: str) -> bool:
    """Whether the model of that name has to be fetched first."""
    return any(row.name == name and not row.is_here for row in rows)
