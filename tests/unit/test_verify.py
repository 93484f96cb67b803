"""What each rule does with given random numbers; that the laws are right is for exactness/."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.core import Constraint, Dist, Draft, Row, Rule, Sampling, Tokens, Verdict
from edgespec.sampling import RequestSampler
from edgespec.verify import accept_probability, residual, verify
from tests.fakes import tokens_of

RULES: list[Rule] = ["token", "block"]
FIXED = settings(derandomize=True, deadline=None, max_examples=150)


class Scripted:
    """A `core.Sampler` with given acceptance numbers; draws the likeliest token."""

    constraint: Constraint | None = None
    rule: Rule = "block"

    def commit(self, token: int) -> None:
        raise NotImplementedError

    def __init__(self, *uniforms: float) -> None:
        self._uniforms = list(uniforms)
        self.positions: list[int] = []

    def dist(self, row: Row, history: Tokens, constraint: Constraint | None = None) -> Dist:
        raise NotImplementedError

    def draw(self, dist: Dist, position: int) -> int:
        self.positions.append(position)
        return int(dist.ids[dist.probs.argmax()])

    def uniform(self) -> float:
        return self._uniforms.pop(0)

    def draw_draft(self, dist: Dist, position: int) -> int:
        raise NotImplementedError


class Rows:
    """p as `verify` sees it, remembering which rows were asked for."""

    def __init__(self, *dists: Dist) -> None:
        self._dists = dists
        self.asked: list[int] = []

    def __call__(self, i: int) -> Dist:
        self.asked.append(i)
        return self._dists[i]


def dist(*probs: float) -> Dist:
    """A distribution over 0, 1, ...; zeros are left out."""
    kept = [i for i, p in enumerate(probs) if p > 0]
    return Dist(np.array(kept, np.int32), np.array([probs[i] for i in kept]))


def points(*tokens: int) -> Rows:
    return Rows(*map(Dist.point, tokens))


def test_deterministic_draft_that_is_right_gets_a_bonus() -> None:
    verdict = verify(Draft((4, 5)), points(4, 5, 6), Scripted(), 10)

    assert verdict == Verdict(2, (4, 5, 6), "bonus")


def test_deterministic_draft_ends_at_the_first_mismatch() -> None:
    p = points(4, 9, 6)

    verdict = verify(Draft((4, 5, 6)), p, Scripted(), 10)

    assert verdict == Verdict(1, (4, 9), "recovered")
    assert p.asked == [0, 1]


def test_empty_draft_gives_one_token() -> None:
    assert verify(Draft(), points(3), Scripted(), 10) == Verdict(0, (3,), "bonus")


def test_every_draw_is_told_its_position() -> None:
    sampler = Scripted()

    verify(Draft((4, 5)), points(4, 5, 6), sampler, 10)

    assert sampler.positions == [10, 11, 12]


@pytest.mark.parametrize("rule", RULES)
def test_sampled_draft_that_equals_the_target_is_accepted_whole(rule: Rule) -> None:
    q = dist(0.5, 0.5)
    draft = Draft((0, 1), (q, q))

    verdict = verify(draft, Rows(q, q, Dist.point(2)), Scripted(0.999, 0.999), 0, rule=rule)

    assert verdict == Verdict(2, (0, 1, 2), "bonus")


@pytest.mark.parametrize("rule", RULES)
def test_refused_token_is_replaced_by_the_residuals(rule: Rule) -> None:
    p, q = dist(0.2, 0.5, 0.3), dist(0.8, 0.1, 0.1)

    verdict = verify(Draft((0,), (q,)), Rows(p, p), Scripted(0.26), 5, rule=rule)

    assert verdict == Verdict(0, (1,), "recovered")


@pytest.mark.parametrize("rule", RULES)
def test_point_masses_need_no_case_of_their_own(rule: Rule) -> None:
    """A greedy target: a sampled draft is accepted as far as it is the argmax."""
    q = dist(0.1, 0.9)
    draft = Draft((1, 1), (q, q))

    verdict = verify(draft, points(1, 0, 1), Scripted(0.0, 0.0), 0, rule=rule)

    assert verdict == Verdict(1, (1, 0), "recovered")


@pytest.mark.parametrize("rule", RULES)
def test_token_of_probability_zero_falls_even_at_u_zero(rule: Rule) -> None:
    p, q = dist(0, 1), dist(0.5, 0.5)

    verdict = verify(Draft((0,), (q,)), Rows(p, p), Scripted(0.0), 0, rule=rule)

    assert verdict.tokens == (1,)


@pytest.mark.parametrize("rule", RULES)
def test_row_of_the_bonus_is_not_asked_for_when_the_last_token_is_refused(rule: Rule) -> None:
    """It costs a pass over the vocabulary; and where a grammar leaves nothing behind a token that
    is not said, that is no fault of the answer."""
    draft = Draft((0,), (dist(0.9, 0.1),))
    rows = Rows(dist(0.5, 0.5))

    verdict = verify(draft, rows, Scripted(0.99), 0, rule=rule)

    assert verdict == Verdict(0, (1,), "recovered")
    assert rows.asked == [0]


@pytest.mark.parametrize(("rule", "asked"), [("token", [0]), ("block", [0, 1])])
def test_rows_behind_a_refusal_are_not_asked_for(rule: Rule, asked: list[int]) -> None:
    """Block verification must look on while a later token could still turn the scale."""
    p, q = dist(0.2, 0.8), dist(0.8, 0.2)
    zero = dist(0, 1)
    rows = Rows(p, zero, p, p)

    verify(Draft((0, 0, 0), (q, q, q)), rows, Scripted(0.99, 0.99), 0, rule=rule)

    assert rows.asked == asked


def test_block_may_accept_what_single_tokens_lose() -> None:
    """A doubtful first token is redeemed by a second one that the target likes much more."""
    p, q = dist(0.4, 0.6), dist(0.8, 0.2)
    draft, uniforms = Draft((0, 1), (q, q)), (0.6, 0.6)

    by_token = verify(draft, Rows(p, p, p), Scripted(*uniforms), 0, rule="token")
    by_block = verify(draft, Rows(p, p, p), Scripted(*uniforms), 0, rule="block")

    assert (by_token.accepted, by_block.accepted) == (0, 2)


def test_block_is_the_default_for_sampled_drafts() -> None:
    p, q = dist(0.4, 0.6), dist(0.8, 0.2)

    verdict = verify(Draft((0, 1), (q, q)), Rows(p, p, p), Scripted(0.6, 0.6), 0)

    assert verdict.accepted == 2


def test_reproducible_sampler_matches_even_sampled_drafts() -> None:
    sampler = RequestSampler(Sampling(1, seed=1, reproducible=True), 4)
    p = dist(0.25, 0.25, 0.25, 0.25)
    own = sampler.draw(p, 0)

    right = verify(Draft((own,), (p,)), Rows(p, p), sampler, 0)
    wrong = verify(Draft(((own + 1) % 4,), (p,)), Rows(p, p), sampler, 0)

    assert (right.accepted, wrong.accepted) == (1, 0)
    assert wrong.tokens == (own,)


def test_sampled_draft_without_all_its_distributions_is_our_fault() -> None:
    q = dist(0.5, 0.5)

    with pytest.raises(AssertionError, match="keeps every q"):
        verify(Draft((0, 1), (q,)), Rows(q, q, q), Scripted(0.0), 0)


probabilities = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-6, 1)), min_size=2, max_size=6
).filter(any)


def normalised(weights: list[float]) -> Dist:
    return dist(*(np.array(weights) / sum(weights)))


@FIXED
@given(probabilities, probabilities)
def test_accepting_and_recovering_add_up_to_the_target(
    p_weights: list[float], q_weights: list[float]
) -> None:
    """Σ min(p, q) + (1 - β)·residual = p (2211.17192, Appendix A.1)."""
    p, q = normalised(p_weights), normalised(q_weights)
    beta = accept_probability(p, q)

    left = residual(p, q)

    for token in p.ids.tolist():
        mass = min(p.prob(token), q.prob(token)) + (1 - beta) * left.prob(token)
        assert mass == pytest.approx(p.prob(token), abs=1e-9)


@FIXED
@given(probabilities, probabilities)
def test_residual_is_a_distribution_on_the_targets_support(
    p_weights: list[float], q_weights: list[float]
) -> None:
    p, q = normalised(p_weights), normalised(q_weights)

    left = residual(p, q)

    assert set(left.ids.tolist()) <= set(p.ids.tolist())
    assert (left.probs > 0).all()
    assert left.probs.sum() == pytest.approx(1)


def test_residual_of_equals_is_the_target() -> None:
    p = dist(0.25, 0.75)

    assert residual(p, dist(0.25, 0.75)) is p


def test_residual_pairs_by_id_not_by_place() -> None:
    p = Dist(tokens_of(2, 7), np.array([0.5, 0.5]))
    q = Dist(tokens_of(7, 9), np.array([0.5, 0.5]))

    assert residual(p, q).ids.tolist() == [2]


@pytest.mark.parametrize("n_vocab", [151_936])
@pytest.mark.parametrize("same_ids", [True, False])
def test_residual_of_a_whole_vocabulary_stays_in_it(n_vocab: int, same_ids: bool) -> None:
    rng = np.random.default_rng(0)
    ids = np.arange(n_vocab, dtype=np.int32)
    p = Dist(ids, rng.dirichlet(np.ones(n_vocab)))
    other = ids if same_ids else ids[1:]
    q = Dist(other, rng.dirichlet(np.ones(len(other))))

    left = residual(p, q)

    expected = np.maximum(p.probs - q.probs_of(ids), 0)
    np.testing.assert_allclose(left.probs, (expected / expected.sum())[left.ids])
    assert left.ids[-1] < n_vocab


def test_draws_of_the_target_are_one_per_emitted_token() -> None:
    p = dist(0.25, 0.25, 0.25, 0.25)
    plain, speculative = (RequestSampler(Sampling(1, seed=3), 4) for _ in range(2))

    verdict = verify(Draft((0, 1, 2)), Rows(p, p, p, p), speculative, 0)

    assert tuple(plain.draw(p, i) for i in range(len(verdict.tokens))) == verdict.tokens
    assert plain.draw(p, 9) == speculative.draw(p, 9)
