"""A cascade drafts what its draft model drafts, by fewer passes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from edgespec.api.levels import Level, Tiers
from edgespec.control.costs import Measured
from edgespec.core import Draft, Row, Sampling, Session, Tokens
from edgespec.costs import PassCosts
from edgespec.drafters import DrafterInputs
from edgespec.drafters.cascade import CascadeDrafter
from edgespec.drafters.contract import EOG, N_VOCAB, Alternating, StatelessDrafterContract
from edgespec.drafters.echo import Echo, Lookup
from edgespec.drafters.model import ModelDrafter
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import NumpyLM, tokens_of

FLAT = Measured(PassCosts((1, 8, 9, 16), (1.0, 1.1, 1.1, 1.2)), draft_s=0.05, read_s=0.0001)
PROMPT = [1, 2, 3, 4, 5]
SHAPINGS = {
    "greedy": Sampling(seed=1),
    "cool": Sampling(temperature=0.7, seed=1),
    "warm": Sampling(temperature=1.0, seed=1),
    "reproducible": Sampling(temperature=1.0, seed=1, reproducible=True),
}


class Near(NumpyLM):
    """A model that mostly means what `larger` means."""

    def __init__(self, larger: NumpyLM, seed: int) -> None:
        super().__init__(N_VOCAB, seed=seed, scale=0.5)
        self._larger = larger

    def row(self, tokens: Sequence[int] | Tokens) -> Row:
        return self._larger.row(tokens) + super().row(tokens)


def inputs(*sessions: NumpyLM) -> DrafterInputs:
    """The first drafts for the target, each other one for the one before it."""
    found = DrafterInputs(N_VOCAB, lambda token: token == EOG, sessions[0])
    levels = [Level(session, None, FLAT.live(is_live=False)) for session in sessions]
    return replace(found, under=Tiers(levels, found))


def tower(depth: int, *, scale: float = 3.0, order: int = 2) -> list[NumpyLM]:
    """Models that are ever further from the first."""
    models = [NumpyLM(N_VOCAB, scale=scale, order=order)]
    for seed in range(1, depth):
        models.append(Near(models[-1], seed))
    return models


def walk(drafter: ModelDrafter, shaping: Sampling, *, k: int = 6) -> tuple[list[Draft], float]:
    """The drafts along one answer, part of each being committed, and the random stream after it."""
    sampler = RequestSampler(shaping, N_VOCAB, None)
    rng = np.random.default_rng(4)
    context, drafts = [*PROMPT, *PROMPT], []
    for _ in range(25):
        drafts.append(drafter.draft(tokens_of(*context), k, sampler))
        kept = int(rng.integers(0, len(drafts[-1]) + 1))
        context += [*drafts[-1].tokens[:kept], int(rng.integers(0, EOG))]
    return drafts, next(sampler._draft)


def same(one: Draft, other: Draft) -> bool:
    return one.tokens == other.tokens and all(
        np.array_equal(a.ids, b.ids) and np.array_equal(a.probs, b.probs)
        for a, b in zip(one.dists, other.dists, strict=True)
    )


class TestUnderControl(StatelessDrafterContract):
    """The contract, with the controller that a loaded model has."""

    name = "cascade"

    def inputs(self, session: Session) -> DrafterInputs:
        found = super().inputs(session)
        levels = [Level(session, None, FLAT.live(is_live=False))]
        return replace(found, under=Tiers(levels, found))


@pytest.mark.parametrize("shaping", SHAPINGS.values(), ids=SHAPINGS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_drafts_and_random_stream_are_the_draft_models(depth: int, shaping: Sampling) -> None:
    alone = ModelDrafter(DrafterInputs(N_VOCAB, lambda token: token == EOG, tower(1)[0]))
    cascade = CascadeDrafter(inputs(*tower(depth)))

    expected, stream = walk(alone, shaping)
    drafts, its_stream = walk(cascade, shaping)

    assert [same(a, b) for a, b in zip(drafts, expected, strict=True)] == [True] * len(expected)
    assert its_stream == stream
    assert cascade.tally.passes < cascade.tally.tokens


@pytest.mark.parametrize("depth", [2, 3])
def test_models_under_a_draft_model_spare_its_passes(depth: int) -> None:
    first, *lower = tower(depth, order=3)
    alone = NumpyLM(N_VOCAB, scale=3.0, order=3)

    walk(CascadeDrafter(inputs(first, *lower)), SHAPINGS["greedy"])
    walk(
        ModelDrafter(DrafterInputs(N_VOCAB, lambda token: token == EOG, alone)), SHAPINGS["greedy"]
    )

    assert first.n_calls < 0.7 * alone.n_calls
    assert all(model.n_calls for model in lower)


def test_coupled_noise_makes_guesses_of_a_sampled_draft_come_true() -> None:
    """The noise of a position is known beforehand: both models make the same of it."""
    calls = {}
    for name in ("warm", "reproducible"):
        first, lower = tower(2, scale=1.5)
        walk(CascadeDrafter(inputs(first, lower)), SHAPINGS[name])
        calls[name] = first.n_calls

    assert calls["reproducible"] < calls["warm"]


class Wanting:
    """Steers by a count."""

    def __init__(self, n_tokens: int) -> None:
        self.n_asked = self.n_drawn = 0
        self._n_tokens = n_tokens

    def asks(self) -> bool:
        self.n_asked += 1
        return self.n_drawn < self._n_tokens

    def draws(self, confidence: float) -> bool:
        self.n_drawn += 1
        return self.n_drawn <= self._n_tokens

    def kept(self, n_drawn: int) -> int:
        return n_drawn


def copying(n: int) -> tuple[list[int], NumpyLM]:
    """A text that a model repeats."""
    lm = NumpyLM(N_VOCAB, scale=60.0, order=3)
    text = [*PROMPT, *lm.greedy(PROMPT, n)]
    return [*text, 0, *text[: len(PROMPT)]], lm


def test_row_that_is_there_is_looked_at_without_asking() -> None:
    """Only a pass has to be worth its time."""
    context, lm = copying(12)
    steering = Wanting(5)
    sampler = RequestSampler(Sampling(), N_VOCAB)

    draft = CascadeDrafter(inputs(lm)).draft_while(tokens_of(*context), 8, sampler, steering)

    assert len(draft) == 5
    assert steering.n_asked < 5


def test_pass_is_never_longer_than_the_draft_may_become() -> None:
    context, lm = copying(12)
    sampler = RequestSampler(Sampling(), N_VOCAB)

    cascade = CascadeDrafter(inputs(lm))
    draft = cascade.draft(tokens_of(*context), 4, sampler)

    assert len(draft) == 4
    assert cascade.tally.rows <= 4


def test_session_of_one_row_makes_a_pass_for_each_token() -> None:
    """A recurrent draft model, whose state could not be taken back."""
    context, lm = copying(12)
    lm.max_logits = 1
    cascade = CascadeDrafter(inputs(lm))

    draft = cascade.draft(tokens_of(*context), 4, RequestSampler(Sampling(), N_VOCAB))

    assert (len(draft), cascade.tally.passes, cascade.tally.rows) == (4, 4, 4)


def test_context_that_is_almost_full_is_drafted_to_its_end() -> None:
    context, _ = copying(12)
    sampler = RequestSampler(Sampling(), N_VOCAB)

    def small() -> NumpyLM:
        return NumpyLM(N_VOCAB, scale=60.0, order=3, n_ctx=len(context) + 2)

    draft = CascadeDrafter(inputs(small())).draft(tokens_of(*context), 8, sampler)

    alone = ModelDrafter(DrafterInputs(N_VOCAB, lambda token: token == EOG, small()))
    assert draft.tokens == alone.draft(tokens_of(*context), 8, sampler).tokens


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("at", range(1, 12))
def test_failed_pass_ends_one_draft_and_leaves_the_next_right(level: int, at: int) -> None:
    """Of the draft model or of one under it: a cache that lost half a pass is not believed."""
    models = tower(2)
    models[level].faults = frozenset({at})
    cascade = CascadeDrafter(inputs(*models))
    alone = ModelDrafter(DrafterInputs(N_VOCAB, lambda token: token == EOG, tower(1)[0]))

    drafts, _ = walk(cascade, SHAPINGS["greedy"])
    sampler = RequestSampler(Sampling(), N_VOCAB)
    context = tokens_of(*PROMPT, *PROMPT, 0)
    after = cascade.draft(context, 6, sampler)

    assert not cascade.note
    assert len(drafts) == 25
    assert after.tokens == alone.draft(context, 6, sampler).tokens


def test_draft_under_a_grammar_is_the_draft_models() -> None:
    shaping = Sampling(temperature=1.0, seed=3)
    made = []
    for drafter in (
        ModelDrafter(DrafterInputs(N_VOCAB, lambda token: token == EOG, tower(1)[0])),
        CascadeDrafter(inputs(*tower(2))),
    ):
        sampler = RequestSampler(shaping, N_VOCAB, Alternating())
        made.append(drafter.draft(tokens_of(*PROMPT, *PROMPT), 8, sampler))

    assert same(*made)
    assert [token % 2 for token in made[0].tokens] == [i % 2 for i in range(len(made[0]))]


def test_echo_goes_on_from_a_draft_without_learning_it() -> None:
    echo = Echo(lambda token: False)
    context = tokens_of(1, 2, 3, 4, 5, 0, 1)
    sampler = RequestSampler(Sampling(), N_VOCAB)

    echo.begin(context)
    echo.drew(2, is_useful=True)
    on_trial = echo.draft(context, 3, sampler)
    echo.begin(context)

    assert on_trial.tokens == (3, 4, 5)
    assert echo.draft(context, 3, sampler).tokens == (2, 3, 4)


def test_echo_on_trial_finds_what_was_said_before_the_trial() -> None:
    """Under two models, the end of a context is a draft itself."""
    echo = Echo(lambda token: False, n_on_trial=3)

    echo.begin(tokens_of(1, 2, 3, 4, 5, 0, 1, 2))
    before = echo.draft(tokens_of(1), 2, RequestSampler(Sampling(), N_VOCAB))
    echo.begin(tokens_of(1, 2, 3, 4, 5, 0, 3))
    after = echo.draft(tokens_of(1), 2, RequestSampler(Sampling(), N_VOCAB))

    assert before.tokens == (3, 4)
    assert after.tokens[:1] == (4,)


def test_echo_hears_whether_its_guess_was_of_use() -> None:
    echo, heard = Echo(lambda token: False), []
    echo.begin(tokens_of(1, 2, 3, 4, 1))

    echo.drew(2, is_useful=True)
    echo.drew(3, is_useful=False)
    echo.drew(7, is_useful=True)
    list(echo.outlook(tokens_of(1), lambda bucket, is_hit: heard.append(is_hit)))

    assert heard == [True, False, False]


def test_text_that_is_looked_up_stands_at_its_longest_ending_that_occurs() -> None:
    """Against a search through all of the text."""
    rng = np.random.default_rng(0)
    for _ in range(400):
        text = rng.integers(0, rng.integers(1, 5), rng.integers(1, 30)).tolist()
        tail = rng.integers(0, 4, rng.integers(0, 6)).tolist()
        lookup = Lookup()
        lookup.extend(text)
        place = lookup.place
        for token in tail:
            place = lookup.after(place, token)

        found = next(lookup.from_place(place), None)

        length, followers = longest_ending([*text, *tail], text)
        assert (found[1] if found else 0) == length, (text, tail)
        assert found is None or found[0] in followers, (text, tail)


def longest_ending(whole: list[int], text: list[int]) -> tuple[int, set[int]]:
    """Of `whole`, that `text` holds with something behind it; and what is behind it there."""
    for n in range(len(whole), 0, -1):
        ends = [end for end in range(n, len(text)) if text[end - n : end] == whole[-n:]]
        if ends:
            return n, {text[end] for end in ends}
    return 0, set()
