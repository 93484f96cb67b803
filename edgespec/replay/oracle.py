"""The clairvoyant: it knows at each position how much of every draft would be accepted.

No policy can be faster on the trace: the least time over all sequences of choices, by dynamic
programming from the answer's end.
"""

from collections.abc import Sequence
from itertools import accumulate

from edgespec.control.costs import LONGEST, Measured
from edgespec.replay.passes import drafts_s
from edgespec.replay.trace import PaidTrace, Trace


def best_s(trace: Trace, costs: Measured) -> float:
    """Least time for the answer.

    A draft model must have read the prompt once before its first draft; it reads what was
    committed meanwhile for nothing, its passes are guessed for where that is right, and of a tree
    or a window only the right way takes rows (which only makes the clairvoyant faster).
    """
    pass_s = [0.0, *(costs.target.of(n) for n in range(1, LONGEST + 2))]
    free = [[p.accepted for p in proposals] for proposals in trace.free.values()]
    if trace.trees or trace.windows:
        free += [[max(grown.accepted, default=0) for grown in trace.trees]] if trace.trees else []
        free += [list(right) for right in trace.windows.values()]
        # More rows may take less time: a tree that was right may have had some to spare.
        pass_s = [0.0, *accumulate(reversed(pass_s[1:]), min)]
        pass_s[1:] = reversed(pass_s[1:])
    if not trace.paid or costs.draft_s is None or costs.read_s is None:
        return _least(trace.n_tokens, free, pass_s)[0]
    paid = [runs_of(t) for t in trace.paid.values()]
    warm = _least(trace.n_tokens, free, pass_s, paid, drafts_s(trace, costs, LONGEST))
    reading_s = costs.read_s * max(0, trace.prompt_tokens - 1)
    # It may begin to read at any position: before, it is as without the model.
    instead = [seconds + reading_s for seconds in warm]
    return _least(trace.n_tokens, free, pass_s, instead=instead)[0]


def runs_of(paid: PaidTrace) -> list[int]:
    """How many tokens in a row are accepted from each position on."""
    runs, run = [], 0
    for is_accepted in reversed(paid.accepted):
        run = run + 1 if is_accepted else 0
        runs.append(run)
    return runs[::-1]


def _least(
    n: int,
    free: Sequence[Sequence[int]],
    pass_s: Sequence[float],
    paid: Sequence[Sequence[int]] = (),
    draft_s: Sequence[Sequence[float]] = (),
    instead: Sequence[float] | None = None,
) -> list[float]:
    """Least time from each position to the end; `instead`: what else may be had from there."""
    least = [0.0] * (n + 1)
    nothing_s = [0.0] * (LONGEST + 1)
    for at in range(n - 1, -1, -1):
        best = pass_s[1] + least[at + 1]
        for runs, spent_s in (
            *((runs, nothing_s) for runs in free),
            *((runs, draft_s[at]) for runs in paid),
        ):
            for k in range(1, min(runs[at], LONGEST, n - at - 1) + 1):
                best = min(best, pass_s[k + 1] + spent_s[k] + least[at + k + 1])
        least[at] = best if instead is None else min(best, instead[at])
    return least
