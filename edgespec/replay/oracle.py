"""The clairvoyant: it knows at each position how much of every draft would be accepted.

No policy can be faster on the trace: the least time over all sequences of choices, by dynamic
programming from the answer's end.
"""

from collections.abc import Sequence
from itertools import accumulate

from edgespec.control.costs import LONGEST, Measured
from edgespec.replay.trace import PaidTrace, Trace


def best_s(trace: Trace, costs: Measured) -> float:
    """Least time for the answer.

    A draft model must have read the prompt once before its first draft; it reads what was
    committed meanwhile for nothing, and of a tree or a window only the right way takes rows
    (which only makes the clairvoyant faster).
    """
    pass_s = [0.0, *(costs.target.of(n) for n in range(1, LONGEST + 2))]
    free = [[p.accepted for p in proposals] for proposals in trace.free.values()]
    if trace.trees or trace.windows:
        free += [[max(grown.accepted, default=0) for grown in trace.trees]] if trace.trees else []
        free += [list(right) for right in trace.windows.values()]
        # More rows may take less time: a tree that was right may have had some to spare.
        pass_s = [0.0, *accumulate(reversed(pass_s[1:]), min)]
        pass_s[1:] = reversed(pass_s[1:])
    cold = _least(trace.n_tokens, free, [], pass_s, 0.0)
    if not trace.paid or costs.draft_s is None or costs.read_s is None:
        return cold[0]
    paid = [runs_of(t) for t in trace.paid.values()]
    warm = _least(trace.n_tokens, free, paid, pass_s, costs.draft_s)
    reading_s = costs.read_s * max(0, trace.prompt_tokens - 1)
    # It may begin to read at any position: before, it is as without the model.
    ways = _least(trace.n_tokens, free, [], pass_s, 0.0, [w + reading_s for w in warm])
    return ways[0]


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
    paid: Sequence[Sequence[int]],
    pass_s: Sequence[float],
    draft_s: float,
    instead: Sequence[float] | None = None,
) -> list[float]:
    """Least time from each position to the end; `instead`: what else may be had from there."""
    least = [0.0] * (n + 1)
    for at in range(n - 1, -1, -1):
        best = pass_s[1] + least[at + 1]
        for accepted, token_s in (*((a, 0.0) for a in free), *((a, draft_s) for a in paid)):
            for k in range(1, min(accepted[at], LONGEST, n - at - 1) + 1):
                best = min(best, pass_s[k + 1] + k * token_s + least[at + k + 1])
        least[at] = best if instead is None else min(best, instead[at])
    return least
