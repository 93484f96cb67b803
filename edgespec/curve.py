"""What a target's passes cost by their rows on this machine, as `edgespec doctor --curve` shows it.

Loads and measures; gives data and lines, prints nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from edgespec.api.files import find_files
from edgespec.api.load import load_pair
from edgespec.api.pace import PHASE, measured
from edgespec.api.wishes import wishes
from edgespec.control.costs import LONGEST, Measured
from edgespec.costs import LAST_OF_KERNEL, RowCosts

_PATIENCE_S = 120.0
"""Time to measure every size as often as it shall be, which loading spreads over several loads."""
_WIDTH = 44
_RATES = (0.5, 0.7, 0.8, 0.9, 0.97)


@dataclass(frozen=True, slots=True)
class Curve:
    """Measured costs of a loaded pair."""

    target: str
    draft: str | None
    backend: str
    costs: Measured


def curve(
    target: str | Path,
    draft: str | Path | None,
    progress: Callable[[str, float], None],
    rpc: str | None = None,
) -> Curve:
    """Load a pair and measure it, unless that is known; with the workers `rpc`, if any.

    Raises: as loading does.
    """
    files = find_files(target, draft, "auto")
    asked, workers = wishes({} if rpc is None else {"rpc": rpc}, draft=draft)
    loaded = load_pair(
        files, n_ctx=None, n_threads=None, progress=progress, asked=asked, workers=workers
    )
    try:
        costs = measured(loaded, partial(progress, PHASE), budget_s=_PATIENCE_S)
        kept = loaded.files
        return Curve(kept.target_id, kept.draft_id, loaded.backend, costs)
    finally:
        loaded.close()


def lines(found: Curve, *, bar: str = "█") -> Iterator[str]:
    """A table with a plot, then what it means for drafts."""
    costs = found.costs
    yield f"{found.target} on {found.backend}: what a pass takes by its rows"
    yield f"{'rows':>4}  {'ms':>8}  {'x plain':>7}"
    plain_s, most_s = costs.target.plain_s, max(costs.target.seconds)
    last = 1
    for rows, seconds in zip(costs.target.rows, costs.target.seconds, strict=True):
        if any(last <= edge < rows for edge in LAST_OF_KERNEL):
            yield f"{'':>4}  {'- ' * 12}backends change kernels here"
        length = max(1, round(_WIDTH * seconds / most_s))
        yield f"{rows:>4}  {seconds * 1e3:8.1f}  {seconds / plain_s:7.2f}  {bar * length}"
        last = rows
    yield ""
    yield "best draft length, and times plain decoding, where each token comes true with"
    yield "  " + "".join(f"{rate:>14.0%}" for rate in _RATES)
    yield "  " + "".join(f"{_best(costs, rate, 0.0):>14}" for rate in _RATES) + "   looked up"
    if costs.draft_s is not None and costs.read_s is not None:
        drafted = "".join(f"{_best(costs, rate, costs.draft_s):>14}" for rate in _RATES)
        yield f"  {drafted}   by {found.draft}"
        yield (
            f"a draft token takes {costs.draft_s * 1e3:.1f} ms ({costs.draft_s / plain_s:.2f} plain"
            f" steps), a token of context read for it {costs.read_s * 1e3:.2f} ms"
        )
    if costs.is_doubtful:
        yield "in doubt: the machine was busy meanwhile, or the time too short; measure again later"


def best_length(target: RowCosts, rate: float, token_s: float) -> tuple[int, float]:
    """The length with the most tokens for its time, and times plain decoding, for a drafter that
    is always asked; at least one token, however little that brings."""
    best, best_times = 0, 0.0
    tokens = survives = 1.0
    for k in range(1, LONGEST + 1):
        survives *= rate
        tokens += survives
        times = tokens * target.plain_s / (target.of(k + 1) + k * token_s)
        if times > best_times:
            best, best_times = k, times
    return best, best_times


def _best(costs: Measured, rate: float, token_s: float) -> str:
    k, times = best_length(costs.target, rate, token_s)
    return f"{k}: {times:.2f}x" if times > 1 else "none"
