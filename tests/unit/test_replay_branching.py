"""Recorded trees and windows in a replay: what they cost and bring, and the bound on both."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.control.costs import Measured
from edgespec.control.ledger import SHARE, Ledger
from edgespec.costs import PassCosts
from edgespec.drafters.ways import Way
from edgespec.replay.branches import brought, lines, tokens_per_step
from edgespec.replay.curves import ELSEWHERE, FLAT
from edgespec.replay.grown import Grown
from edgespec.replay.oracle import best_s
from edgespec.replay.play import Arms, play, total_s
from edgespec.replay.policies import auto, fixed, plain, static
from edgespec.replay.trace import Proposal, Trace
from tests.fakes import tokens_of

FORK = (
    Way((), (("suffix", 2), ("suffix", 2)), 0),
    Way((), (("tree", 3), ("suffix", 3), ("suffix", 3)), 0, is_other=True),
)
"""A seen pair of tokens, and another way of three."""
CHEAP = Measured(PassCosts((1, 8, 9, 16, 17, 32, 33, 64), (1.0, *[1.05] * 7)))
HOSTILE = Measured(PassCosts((1, 2, 64), (1.0, 2.2, 140.8)))


def made(trees: list[tuple[int, int]], windows: dict[int, int] | None = None) -> Trace:
    """An answer with a fork at each token, and how far it went along either way; and windows that
    always have so many tokens right."""
    n = len(trees)
    proposals = tuple(Proposal((2, 2), min(a, n - at)) for at, (a, _) in enumerate(trees))
    grown = tuple(
        Grown(FORK, (min(a, n - at), min(b, n - at) if not a else 0))
        for at, (a, b) in enumerate(trees)
    )
    right = {
        size: tuple(min(count, n - at - 1) for at in range(n))
        for size, count in (windows or {}).items()
    }
    return Trace("made", 0.0, 50, n, {"suffix": proposals}, {}, trees=grown, windows=right)


def test_a_tree_pays_for_all_its_rows_and_brings_its_right_way() -> None:
    steps = play(made([(0, 3)] * 120), auto, FLAT)

    grown = [step for step in steps if step.drafter == "tree"]
    assert len(grown) > 20
    assert all(step.target_s == pytest.approx(FLAT.target.of(step.rows)) for step in grown)
    assert grown[-2].accepted == 3
    assert max(step.rows for step in grown) > 4


def test_trees_where_the_second_way_is_right_are_faster_than_chains() -> None:
    trace = made([(0, 3)] * 120)
    chains = Trace(trace.prompt, 0.0, 50, trace.n_tokens, trace.free, {})

    assert total_s(play(trace, auto, FLAT)) < 0.6 * total_s(play(chains, auto, FLAT))


def test_trees_are_left_alone_where_the_second_way_is_wrong() -> None:
    steps = play(made([(2, 0)] * 200), auto, ELSEWHERE["CUDA"])

    assert sum(step.drafter == "tree" for step in steps[20:]) <= 0.1 * len(steps)


def test_windows_are_run_where_rows_are_cheap_and_they_bring_tokens() -> None:
    trace = made([(0, 0)] * 200, {7: 1, 13: 1, 29: 1})

    steps = play(trace, auto, CHEAP)

    assert steps[50].drafter == "lookahead"
    assert steps[50].rows in (8, 14, 30)
    assert total_s(steps) < 0.7 * trace.n_tokens


@pytest.mark.parametrize("costs", [HOSTILE, ELSEWHERE["AMX"], ELSEWHERE["Metal"]])
def test_windows_are_not_run_where_the_curve_forbids_it(costs: Measured) -> None:
    steps = play(made([(0, 0)] * 300, {7: 2, 13: 2, 29: 3}), auto, costs)

    assert not any(step.drafter == "lookahead" for step in steps)


def test_a_window_of_a_set_size_is_run_at_every_step() -> None:
    steps = play(made([(0, 0)] * 20, {7: 1}), fixed("lookahead", 7), ELSEWHERE["CUDA"])

    assert {(step.rows, len(step.tokens)) for step in steps[:6]} == {(8, 2)}
    assert total_s(steps[:6]) == pytest.approx(6 * 1.72)


def test_fewer_nodes_than_a_window_are_a_chain_from_the_pool() -> None:
    arms = Arms.of(
        Trace("made", 0.0, 50, 1, {"lookahead": (Proposal((0,), 1),)}, {}, windows={7: (0,)}), FLAT
    )
    few, many = (
        arms.chosen(fixed("lookahead", k)(arms, FLAT).choose(tokens_of(), 63)) for k in (3, 7)
    )

    assert (few, many) == (arms.free[0], arms.branching[0])


def test_every_recorded_drafter_has_its_buckets() -> None:
    empty = (Proposal((0,), 1),)

    arms = Arms.of(
        Trace("made", 0.0, 9, 1, {"suffix": empty, "index": empty, "lookahead": empty}, {}), FLAT
    )

    assert [arm.name for arm in arms.free] == ["suffix", "index", "lookahead"]
    assert all(arm.buckets for arm in arms.free)


def test_every_policy_emits_the_whole_answer() -> None:
    trace = made([(0, 3), (2, 0), (0, 0)] * 15, {7: 1})

    for policy in (auto, plain, *static(trace).values()):
        assert sum(len(step.tokens) for step in play(trace, policy, FLAT)) == trace.n_tokens


REGIMES = st.lists(
    st.tuples(st.sampled_from([(0, 0), (0, 3), (2, 0), (1, 0)]), st.integers(1, 60)),
    min_size=1,
    max_size=8,
).map(lambda parts: [fork for fork, n in parts for _ in range(n)])


@pytest.mark.parametrize("costs", [*ELSEWHERE.values(), HOSTILE])
@settings(max_examples=20, deadline=None)
@given(REGIMES, st.integers(0, 2))
def test_bound_holds_at_every_prefix_and_nobody_beats_the_clairvoyant(
    costs: Measured, forks: list[tuple[int, int]], right: int
) -> None:
    trace = made(forks, {7: right, 13: right, 29: right})

    steps = play(trace, auto, costs)

    plain_s = costs.target.plain_s
    head_start = Ledger(costs.live().target.relative).head_start
    took = itertools.accumulate(step.step_s for step in steps)
    tokens = itertools.accumulate(len(step.tokens) for step in steps)
    for took_s, n in zip(took, tokens, strict=True):
        assert took_s <= ((1 + SHARE) * n + head_start) * plain_s * (1 + 1e-9)
    assert best_s(trace, costs) <= total_s(steps) * (1 + 1e-9)


def test_brought_compares_the_controller_with_and_without() -> None:
    traces = [made([(0, 3)] * 100), made([(0, 0)] * 100)]

    found = brought("flat", traces, FLAT)

    assert found.chains == pytest.approx(1, abs=0.05)
    assert found.with_trees > found.chains + 0.1
    assert found.with_windows == pytest.approx(found.chains)
    assert found.both == pytest.approx(found.with_trees)
    assert found.tree_share > 0.2
    assert (found.window_share, found.always, found.pool) == (0, {}, None)


def test_what_a_window_brings_is_counted_and_the_curve_makes_it_a_speed() -> None:
    trace = made([(0, 0)] * 50, {7: 1})

    found = brought("CUDA", [trace], ELSEWHERE["CUDA"])

    assert tokens_per_step([trace]) == {7: pytest.approx(2)}
    assert found.always == {7: pytest.approx(2 / 1.72)}


def test_table_names_every_curve_and_every_window() -> None:
    traces = [made([(0, 3)] * 40, {7: 1, 13: 1, 29: 2})]
    found = [brought(name, traces, costs) for name, costs in ELSEWHERE.items()]

    text = "\n".join(lines(found, tokens_per_step(traces)))

    assert all(f"\n{name} " in text for name in ELSEWHERE)
    assert "a window of 29 at every step: 2.86 tokens a step, AVX2" in text
    assert "no window was run" in "\n".join(lines(found, {}))
