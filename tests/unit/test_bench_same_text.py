"""Whether greedy answers are plain decoding's, in words."""

from dataclasses import replace

from edgespec.bench.report import lines
from edgespec.bench.same_text import divergence_line
from tests.unit.bench_world import (
    diverged,
    result,
)


def test_near_tie_is_reported_with_gap_and_deviation() -> None:
    line = divergence_line([diverged(gap=0.02, deviation=0.31)])

    assert "differs from token 3: ' an' for ' a'" in line
    assert "0.020" in line
    assert "0.310" in line
    assert line.endswith("a near-tie")


def test_result_is_not_lossless_when_rounding_explains_nothing() -> None:
    near, far = diverged(0.02, 0.31), diverged(0.5, 0.31)

    assert result(near).is_lossless
    assert not result(near, far).is_lossless
    assert divergence_line([far]).endswith("NOT LOSSLESS")


def test_third_token_that_is_likelier_is_told() -> None:
    near = diverged(0.02, 0.31)
    third = replace(near, difference=replace(near.difference, are_best=False))

    assert divergence_line([third]).endswith(
        "differ by 0.310, and a third is likelier: NOT LOSSLESS"
    )


def test_third_token_that_a_peer_passed_over_is_told_without_a_verdict_on_rounding() -> None:
    near = diverged(gap=0.1, deviation=0.31, arm="other:plain")
    third = replace(near, difference=replace(near.difference, are_best=False))

    assert divergence_line([third]).endswith("and a third is likelier: no near-tie of these two")


def test_same_turning_is_told_once() -> None:
    near = diverged(0.02, 0.31)

    text = "\n".join(lines(result(near, near)))

    assert text.count(divergence_line([near])) == 1


def test_arms_that_take_the_same_turning_share_a_line() -> None:
    arms = ("other:plain", "other:fast", "suffix")

    shown = list(lines(result(*(diverged(gap=0.02, deviation=0.31, arm=arm) for arm in arms))))

    assert [line.partition(": ")[0] for line in shown if "greedy text differs" in line] == [
        "a, other:plain, other:fast",
        "a, suffix",
    ]


def test_drafter_with_a_length_is_ours_to_answer_for() -> None:
    assert not result(diverged(0.5, 0.31, arm="suffix:7")).is_lossless


def test_peers_text_is_not_ours_to_answer_for() -> None:
    far = diverged(0.5, 0.31, arm="llama-server:draft")

    assert result(far).is_lossless
    assert divergence_line([far]).endswith("more than edgespec's own passes differ by")
