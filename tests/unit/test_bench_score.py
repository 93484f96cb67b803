"""From runs to figures, by hand-made runs."""

from dataclasses import replace

import pytest

from edgespec.bench.engine import Run
from edgespec.bench.latency import latency
from edgespec.bench.measure import Cell
from edgespec.bench.score import Score, Shares, scores
from edgespec.bench.total import totals
from edgespec.events import Stats

PLAIN_OF = {"none": "none", "suffix": "none"}


def run(arm: str, wall_s: float = 1.0, tokens: tuple[int, ...] = (1, 2, 3, 4)) -> Run:
    stats = Stats(
        passes=2, rounds=2, drafted=4, accepted=2, accepted_at=(2, 0), draft_s=0.1 * wall_s,
        target_s=0.7 * wall_s, verify_s=0.004,
    )  # fmt: skip
    arrivals = ((0.25 * wall_s, 2), (wall_s, 2))
    return Run(arm, tokens, len(tokens), wall_s, arrivals, 0.9 * wall_s, stats)


def cell(*turns: tuple[Run, ...], name: str = "json-long", temperature: float = 0.0) -> Cell:
    ttft_s = {"edgespec": 1.5, "peer:plain": 1.2, "peer:fast": 1.3}
    return Cell(name, "json", "en", "long", temperature, 400, ttft_s, turns)


def scored(*cells: Cell, plain_of: dict[str, str] | None = None) -> list[Score]:
    return scores(cells, plain_of or PLAIN_OF, is_deterministic=lambda arm: arm == "suffix")


def test_ratio_compares_within_turns_only() -> None:
    # The machine became three times slower between the turns: only pairs can be compared.
    found = cell(
        (run("none", 1.0), run("suffix", 0.5)), (run("suffix", 1.8), run("none", 3.0))
    )  # fmt: skip

    plain, suffix = scored(found)

    assert plain.ratio == 1
    assert suffix.ratio == pytest.approx((2.0 * 3.0 / 1.8) ** 0.5)


def test_ratio_is_to_plain_decoding_as_it_was_at_the_same_time() -> None:
    # The machine slows down steadily; between two answers of plain decoding lies what it had then.
    turn = (run("none", 1.0), run("suffix", 1.0), run("none", 4.0))

    _, suffix = scored(cell(turn))

    assert suffix.ratio == pytest.approx(2.0)


def test_ratio_outside_of_two_answers_of_plain_decoding_is_to_the_nearer_one() -> None:
    turn = (run("suffix", 0.5), run("none", 1.0), run("other", 1.0), run("none", 4.0))

    found = {score.arm: score for score in scored(cell(turn))}

    assert found["suffix"].ratio == pytest.approx(2.0)


def test_score_counts_per_step() -> None:
    score = scored(cell((run("none"), run("suffix"))))[1]

    assert score.tokens_per_pass == 2
    assert score.step_ms == pytest.approx(500)
    assert score.overhead_ms == pytest.approx(50)
    assert score.verify_ms == pytest.approx(2)
    assert score.acceptance == pytest.approx(0.5)
    assert score.mean_acceptance_length == 2
    assert score.acceptance_per_position == (1, 0)


def test_shares_of_time_add_up_to_one() -> None:
    shares = scored(cell((run("none"), run("suffix"))))[1].shares

    assert shares is not None
    assert (shares.draft, shares.target) == pytest.approx((0.1, 0.7))
    assert shares.draft + shares.target + shares.verify + shares.host == pytest.approx(1)


def test_shares_add_up_to_one_when_steps_began_before_anybody_looked() -> None:
    early = replace(run("none"), wall_s=1.0, stats=Stats(passes=1, target_s=1.5, draft_s=0.5))

    shares = scored(cell((early,)))[0].shares

    assert shares == Shares(draft=0.25, target=0.75, verify=0.0, host=0.0)


def test_acceptance_is_a_share_of_what_was_judged() -> None:
    # Public fault: acceptance always 100 %, or over the wrong number.
    stats = Stats(rounds=3, passes=3, drafted=12, accepted=6, discarded=2, accepted_at=(3, 3))
    drafted = replace(run("suffix"), stats=stats)

    found = scored(cell((run("none"), drafted)))[1]

    assert found.acceptance == pytest.approx(6 / 10)


@pytest.mark.parametrize(
    ("arm", "temperature", "is_comparable"),
    [("model", 0.0, True), ("suffix", 0.7, True), ("model", 0.7, False)],
)
def test_score_compares_texts_where_they_must_be_equal(
    arm: str, temperature: float, is_comparable: bool
) -> None:
    found = cell((run("none"), run(arm, tokens=(1, 2, 9, 9))), temperature=temperature)

    score = scored(found, plain_of={"none": "none", arm: "none"})[1]

    assert score.is_comparable == is_comparable
    assert score.differs_at == (2 if is_comparable else None)


def test_peer_is_compared_with_our_plain_decoding_and_with_its_own() -> None:
    turn = (run("none", 1.0), run("peer:plain", 0.8), run("peer:fast", 0.4))
    plain_of = {"none": "none", "peer:plain": "peer:plain", "peer:fast": "peer:plain"}

    _, plain, fast = scored(cell(turn), plain_of=plain_of)

    assert (plain.ratio, plain.own_ratio) == pytest.approx((1.25, 1.0))
    assert (fast.ratio, fast.own_ratio) == pytest.approx((2.5, 2.0))
    assert fast.ttft_s == 1.3


def test_arm_that_ran_once_is_compared_with_its_own_turn() -> None:
    found = cell((run("none", 1.0), run("peer:pool", 0.5)), (run("none", 9.0),))

    _, pool = scored(found, plain_of={"none": "none", "peer:pool": "peer:plain"})

    assert pool.ratio == pytest.approx(2)
    assert pool.interval is None


def test_peer_that_tells_little_has_no_figures_of_its_inside() -> None:
    peer = Run("peer:served", (), 4, 0.8, ((0.2, 1), (0.4, 1), (0.8, 1)))

    score = scored(cell((run("none"), peer)), plain_of={"none": "none", "peer:served": None})[1]  # type: ignore[dict-item]

    assert score.ratio == pytest.approx(1.25)
    assert (score.shares, score.step_ms, score.own_ratio, score.acceptance) == (None,) * 4
    assert not score.is_comparable


def test_latency_shares_the_wait_among_tokens_that_arrive_together() -> None:
    found = latency([Run("a", (), 8, 2.0, ((0.5, 1), (0.6, 1), (1.2, 6)))])

    assert found is not None
    assert found.median_ms == pytest.approx(100)
    assert found.worst_gap_ms == pytest.approx(600)


def test_latency_takes_a_busy_servers_events_of_one_pass_for_one_arrival() -> None:
    # A loaded machine lets milliseconds pass between events that belong together.
    told = ((0.4, 1), (0.8, 1), (0.802, 1), (0.804, 1), (1.2, 1))

    found = latency([Run("a", (), 5, 1.2, told)])

    assert found is not None
    assert found.worst_gap_ms == pytest.approx(400, rel=0.01)
    assert found.median_ms == pytest.approx(400 / 3, rel=0.05)


def test_latency_takes_a_servers_quick_events_for_one_arrival() -> None:
    told_one_by_one = ((0.5, 1), (0.9, 1), (0.9003, 1), (0.9006, 1), (0.9009, 1))

    found = latency([Run("a", (), 5, 1.0, told_one_by_one)])

    assert found is not None
    assert found.median_ms == pytest.approx(100)
    assert found.worst_gap_ms == pytest.approx(400)


def test_latency_tells_no_more_arrivals_apart_than_there_were_passes() -> None:
    # As a server told them: the first token of a pass, and 16 ms later all others.
    at_s = (0.117, 0.223, 0.286, 1.098, *(1.114 + 1e-5 * i for i in range(17)), 1.164)
    stats = Stats(passes=5)
    answer = Run("peer", (), len(at_s), 1.164, tuple((s, 1) for s in at_s), stats=stats)

    found = latency([answer])

    assert found is not None
    assert found.median_ms == pytest.approx((1098 - 286) / 18)
    assert found.worst_gap_ms == pytest.approx(1098 - 286)


def test_latency_of_a_single_arrival_is_not_known() -> None:
    assert latency([Run("a", (), 5, 1.0, ((0.5, 5),))]) is None


def test_totals_tell_the_losses() -> None:
    cells = [
        cell((run("none"), run("suffix", 2.0)), name="a"),
        cell((run("none"), run("suffix", 0.5)), name="b"),
    ]

    _, total = totals(cells, scored(*cells))

    assert total.ratio == pytest.approx(1.0)
    assert (total.worst.prompt, total.best.prompt) == ("a", "b")
    assert (total.n_losses, total.n_prompts) == (1, 2)
    assert total.tokens_per_s == pytest.approx(8 / 2.5)
    assert total.acceptance_per_position == (1, 0)


def test_totals_keep_temperatures_apart() -> None:
    cells = [
        cell((run("none"), run("suffix", 0.5)), temperature=0.0),
        cell((run("none"), run("suffix", 1.0)), temperature=0.7),
    ]

    found = {(t.temperature, t.arm): t.ratio for t in totals(cells, scored(*cells))}

    assert found[0.0, "suffix"] == pytest.approx(2)
    assert found[0.7, "suffix"] == pytest.approx(1)


def test_energy_is_told_per_token() -> None:
    spent = replace(run("suffix"), energy_j=20.0)

    assert scored(cell((run("none"), spent)))[1].energy_j_per_token == 5
