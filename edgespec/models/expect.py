"""What a draft may bring: others' reports where there are any, else arithmetic that says so.

Source of the arithmetic: Leviathan et al. 2023 (arXiv 2211.17192), theorem 3.8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from edgespec.costs import RowCosts
from edgespec.models.spec import Gain

ASSUMED_ACCEPTANCE: Final = 0.7
"""Of one drafted token; between free text and code."""
_LONGEST: Final = 16


@dataclass(frozen=True, slots=True)
class Expected:
    """Speed with the draft over speed without."""

    times: tuple[float, float]
    """From, to; below 1 it is slower."""
    source: str
    is_reported: bool
    """Somebody measured it; else it is arithmetic."""


def reported(gains: Sequence[Gain], draft_id: str) -> Expected | None:
    """What others measured with this draft."""
    found = [gain for gain in gains if gain.draft == draft_id]
    if not found:
        return None
    low = min(gain.times[0] for gain in found)
    high = max(gain.times[1] for gain in found)
    return Expected((low, high), "; ".join(gain.source for gain in found), is_reported=True)


def reckoned(draft_share: float, rows: RowCosts, *, is_measured: bool) -> Expected:
    """The best length's gain, where a draft token costs `draft_share` of a plain step."""
    best = max(_gain(draft_share, rows, k) for k in range(_LONGEST + 1))
    costs = "costs measured here" if is_measured else "costs by size"
    source = f"arithmetic: {ASSUMED_ACCEPTANCE:.0%} of drafted tokens right, {costs}"
    return Expected((best, best), source, is_reported=False)


def _gain(draft_share: float, rows: RowCosts, k: int) -> float:
    a = ASSUMED_ACCEPTANCE
    tokens = (1 - a ** (k + 1)) / (1 - a)
    return tokens / (k * draft_share + rows.of(k + 1) / rows.plain_s)
