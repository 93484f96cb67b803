from collections import Counter

import numpy as np
import pytest

from edgespec.core import Dist, Mask, Sampler, Sampling, Tokens
from edgespec.errors import UsageError
from edgespec.sampling import RequestSampler
from edgespec.sampling.noise import coupled_draw, exponential_noise
from tests.fakes import tokens_of

WIDE = Dist(np.arange(1_000, dtype=np.int32), np.full(1_000, 1e-3))
FAIR = Dist(tokens_of(0, 1), np.array([0.5, 0.5]))


def sampler(
    seed: int | None = 7,
    *,
    reproducible: bool = False,
    logit_bias: tuple[tuple[int, float], ...] = (),
) -> RequestSampler:
    params = Sampling(1.0, seed=seed, reproducible=reproducible, logit_bias=logit_bias)
    return RequestSampler(params, n_vocab=1_000)


def draws(made: Sampler, n: int = 8) -> list[int]:
    return [made.draw(WIDE, position) for position in range(n)]


class Counted:
    """A grammar that only counts."""

    def __init__(self, n: int = 0) -> None:
        self.n = n

    def allowed(self, ids: Tokens) -> Mask:
        return np.ones(len(ids), np.bool_)

    def advanced(self, token: int) -> "Counted":
        return Counted(self.n + 1)


def test_same_seed_gives_the_same_draws() -> None:
    assert draws(sampler(7)) == draws(sampler(7))


def test_five_seeds_give_five_texts() -> None:
    assert len({tuple(draws(sampler(seed))) for seed in range(5)}) == 5


def test_no_seed_gives_a_new_one_every_time() -> None:
    first, second = sampler(None), sampler(None)

    assert first.seed != second.seed
    assert draws(first) != draws(second)


def test_random_seed_is_told_so_that_the_text_can_be_had_again() -> None:
    first = sampler(None)

    assert draws(sampler(first.seed)) == draws(first)


def test_draft_and_acceptance_leave_the_targets_stream_alone() -> None:
    disturbed = sampler()
    for position in range(5):
        disturbed.draw_draft(WIDE, position)
        disturbed.uniform()

    assert draws(disturbed) == draws(sampler())


def test_three_streams_differ() -> None:
    made = sampler()
    target = draws(made)
    draft = [made.draw_draft(WIDE, position) for position in range(8)]
    acceptance = [int(1_000 * made.uniform()) for _ in range(8)]

    assert len({tuple(target), tuple(draft), tuple(acceptance)}) == 3


def test_numbers_are_those_of_the_generator_one_after_the_other() -> None:
    made = RequestSampler(Sampling(1, seed=4), 2)
    stream = np.random.default_rng(np.random.SeedSequence(4).spawn(3)[1])

    drawn = [made.uniform() for _ in range(500)]

    assert drawn == [stream.random() for _ in range(500)]


@pytest.mark.parametrize("dist", [Dist.point(3), FAIR, WIDE], ids=["point", "fair", "wide"])
def test_draw_takes_one_number_whatever_the_distribution(dist: Dist) -> None:
    used, expected = sampler(), sampler()
    used.draw(dist, 0)
    expected.draw(WIDE, 0)

    assert draws(used) == draws(expected)


def test_commit_advances_the_grammar() -> None:
    made = RequestSampler(Sampling(), 8, Counted())

    made.commit(1)
    made.commit(2)

    assert isinstance(made.constraint, Counted)
    assert made.constraint.n == 2


def test_commit_without_a_grammar_does_nothing() -> None:
    made = sampler()

    made.commit(1)

    assert made.constraint is None


def test_dist_applies_the_constraint_it_is_given() -> None:
    class OnlyOne(Counted):
        def allowed(self, ids: Tokens) -> Mask:
            return np.equal(ids, 1)

    row = np.array([3, 2, 1], np.float32)

    assert sampler().dist(row, tokens_of(), OnlyOne()).ids.tolist() == [1]


@pytest.mark.parametrize("token", [-1, 1_000])
def test_bias_beyond_the_vocabulary_is_refused(token: int) -> None:
    with pytest.raises(UsageError, match=f"token {token}, but the vocabulary ends at 999"):
        sampler(logit_bias=((token, 1.0),))


def test_bias_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(UsageError, match="token 5 is not a number"):
        sampler(logit_bias=((5, float("nan")),))


def test_reproducible_draws_depend_on_the_position_only() -> None:
    forward, backward = sampler(reproducible=True), sampler(reproducible=True)

    there = [forward.draw(WIDE, position) for position in range(8)]
    back = [backward.draw_draft(WIDE, position) for position in reversed(range(8))]

    assert there == back[::-1]
    assert len(set(there)) > 4


def test_reproducible_seeds_differ() -> None:
    first, second = sampler(1, reproducible=True), sampler(2, reproducible=True)

    assert draws(first) != draws(second)


def test_reproducible_draws_have_the_law_of_the_distribution() -> None:
    made = sampler(reproducible=True)
    dist = Dist(tokens_of(2, 5, 9), np.array([0.6, 0.3, 0.1]))
    n = 20_000

    counts = Counter(made.draw(dist, position) for position in range(n))

    # Five standard deviations: a false alarm once in two million seeds.
    for token, p in zip(dist.ids.tolist(), dist.probs.tolist(), strict=True):
        assert abs(counts[token] - n * p) < 5 * (n * p * (1 - p)) ** 0.5


@pytest.mark.parametrize("power", [0, 1, 6])
def test_reproducible_draw_is_who_finishes_the_race_first(power: int) -> None:
    """From a flat law to one that a few tokens dominate."""
    ids = np.arange(3, 40_000, 7, dtype=np.int32)
    weights = np.random.default_rng(power).random(len(ids)) ** power
    dist = Dist(ids, weights / weights.sum())

    drawn = [coupled_draw(dist, 11, position) for position in range(50)]

    finish = [exponential_noise(11, position, ids) / dist.probs for position in range(50)]
    assert drawn == [int(ids[times.argmin()]) for times in finish]


def test_reproducible_draws_agree_more_than_independent_ones() -> None:
    made = sampler(reproducible=True)
    p = Dist(tokens_of(0, 1, 2), np.array([0.5, 0.3, 0.2]))
    q = Dist(tokens_of(0, 1, 2), np.array([0.4, 0.4, 0.2]))

    n_same = sum(made.draw(p, i) == made.draw_draft(q, i) for i in range(1_000))

    assert n_same > 780  # Independent draws agree in 36 % of the cases.


def test_reproducible_sampler_refuses_acceptance_tests() -> None:
    with pytest.raises(AssertionError, match="verified by matching"):
        sampler(reproducible=True).uniform()


def test_noise_of_a_token_does_not_depend_on_its_neighbours() -> None:
    everyone = exponential_noise(3, 5, np.arange(20_000, dtype=np.int32))
    some = exponential_noise(3, 5, tokens_of(0, 17, 19_999))

    assert some.tolist() == everyone[[0, 17, 19_999]].tolist()


def test_noise_is_exponential() -> None:
    noise = exponential_noise(0, 0, np.arange(100_000, dtype=np.int32))

    assert (noise > 0).all()
    assert abs(noise.mean() - 1) < 0.02
    assert abs((noise > 2).mean() - np.exp(-2)) < 0.005


def test_coupled_draw_is_silent_about_what_is_next_to_impossible() -> None:
    """A temperature of 0.01 leaves probabilities that no number can be divided by."""
    dist = Dist(np.arange(3, dtype=np.int32), np.array([1.0, 5e-324, 1e-320]))

    drawn = {coupled_draw(dist, seed, 3) for seed in range(50)}

    assert drawn == {0}
