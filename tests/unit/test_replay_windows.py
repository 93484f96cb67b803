"""Lookahead's windows as they ran beside six recorded answers, and what the curves make of them.

Counts only, of the first 48 tokens of each. Recorded as by `edgespec bench --record FILE --draft
off --drafters lookahead --suite chat,code-edit,summary,json,code,creative,short -n 48 --temp 0`.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from pathlib import Path

import pytest

from edgespec.drafters.lookahead import SHAPES, LookaheadDrafter, Shape, window_buckets
from edgespec.replay.branches import Brought, brought, tokens_per_step
from edgespec.replay.curves import ELSEWHERE
from edgespec.replay.trace import Trace, read

TRACES = read(Path(__file__).parents[1] / "data" / "traces" / "qwen-windows.json.gz").traces
FREE_TEXT = ("chat-short", "creative-short", "code-short")
YOUNG = 12
"""Passes of a window that is little known: it has little in it, and then a prior counts."""


@cache
def result(curve: str) -> Brought:
    return brought(curve, TRACES, ELSEWHERE[curve])


def passes(trace: Trace, shape: Shape) -> Iterator[int]:
    """Tokens that the window had right at each of its own passes."""
    right, at = trace.windows[shape.n_nodes], 0
    while at < len(right):
        yield right[at]
        at += right[at] + 1


def rates(shape: Shape, traces: Sequence[Trace], n_passes: int | None = None) -> list[float]:
    """How often each token of a way came true, where the one before it had."""
    found = [n for trace in traces for n in islice(passes(trace, shape), n_passes)]
    reached = [sum(n >= depth for n in found) for depth in range(shape.n)]
    return [after / max(before, 1) for before, after in pairwise(reached)]


def test_windows_bring_what_the_readme_says() -> None:
    assert {n: round(tokens, 2) for n, tokens in tokens_per_step(TRACES).items()} == {
        7: 1.49,
        13: 1.65,
        29: 1.72,
    }


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_window_is_expected_to_do_as_it_did_on_free_text(shape: Shape) -> None:
    free = [trace for trace in TRACES if trace.prompt in FREE_TEXT]
    first, *later = window_buckets(shape.n_nodes, shape.n)

    expected = [LookaheadDrafter.buckets[bucket].prior for bucket in later]

    young = rates(shape, free, YOUNG)
    assert LookaheadDrafter.buckets[first].prior == pytest.approx(young[0], abs=0.01)
    assert expected == pytest.approx(rates(shape, free)[1:], abs=0.02)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_window_brings_less_while_it_is_young(shape: Shape) -> None:
    assert rates(shape, TRACES, YOUNG)[0] < rates(shape, TRACES)[0]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_window_is_hoped_to_do_as_on_the_text_that_suited_it_best(shape: Shape) -> None:
    best = max(tokens_per_step([trace])[shape.n_nodes] - 1 for trace in TRACES)

    hoped = {offer.n_nodes: offer.tokens for offer in LookaheadDrafter.best}

    assert hoped[shape.n_nodes] == pytest.approx(best, abs=0.05)


@pytest.mark.parametrize("curve", ["AVX2", "AMX", "CUDA", "Metal"])
def test_a_window_at_every_step_loses_and_the_controller_runs_none(curve: str) -> None:
    found = result(curve)

    assert all(times < 1 for times in found.always.values())
    assert found.window_share == 0
    assert found.with_windows == found.chains


def test_a_window_wins_where_rows_are_nearly_free_but_copies_bring_more() -> None:
    found = result("flat")

    assert all(times > 1 for times in found.always.values())
    assert max(found.always.values()) < found.chains
