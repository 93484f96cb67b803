"""The law of what is emitted under the controller: drafts steered token by token, arms switching.

A steered draft ends where its confidence says so, before the next token is drawn. Dropping a token
that was drawn, for what it is, changes the law: the negative control does that, and must show.
The seed is fixed, so the tests are deterministic.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np

from edgespec.api.drafting import AUTO, Drafting
from edgespec.control.costs import Measured
from edgespec.core import Dist, Draft, Drafter, Row, Sampler, Sampling, Steering, Tokens
from edgespec.costs import PassCosts
from edgespec.decode import Request, speculate
from edgespec.drafters import DrafterInputs
from edgespec.drafters.model import ModelDrafter
from edgespec.drafters.none import NoDrafter
from edgespec.drafters.suffix import SuffixDrafter
from edgespec.sampling import RequestSampler, shaped
from tests.exactness.chi_square import p_value
from tests.fakes import NumpyLM

N_VOCAB, N_RUNS, LIMIT = 4, 2_000, 1e-4
PROMPT = (0, 1, 2, 0, 1)
TARGET = NumpyLM(N_VOCAB, seed=1, scale=1.6)
CHEAP = Measured(PassCosts((1, 8), (1.0, 1.2)), draft_s=0.02, read_s=0.0001)

Text = tuple[int, ...]


class Near(NumpyLM):
    """A model that mostly means what the target means."""

    def row(self, tokens: Sequence[int] | Tokens) -> Row:
        return TARGET.row(tokens) + super().row(tokens)


DRAFT = Near(N_VOCAB, seed=2, scale=0.7)


@cache
def law() -> dict[Text, float]:
    """Of the three tokens after the prompt."""
    found: dict[Text, float] = {(): 1.0}
    for _ in range(3):
        longer = {}
        for text, share in found.items():
            p = _p(text)
            for token in p.ids.tolist():
                longer[(*text, token)] = share * p.prob(token)
        found = longer
    return found


@cache
def _p(text: Text) -> Dist:
    history: Tokens = np.array((*PROMPT, *text), np.int32)
    return shaped(TARGET.row(history), Sampling(1.0), history)


class Wary(ModelDrafter):
    """What must not be done: end the draft before a token that was drawn, for what it is."""

    def draft_while(self, context: Tokens, k: int, sampler: Sampler, steering: Steering) -> Draft:
        draft = super().draft_while(context, k, sampler, steering)
        n = next((i for i, token in enumerate(draft.tokens) if token == 2), len(draft))
        return Draft(draft.tokens[:n], draft.dists[:n])


def drafted_texts(model: type[ModelDrafter]) -> tuple[Counter[Text], int]:
    """Answers under the controller, and how many tokens were drafted for them."""
    inputs = DrafterInputs(N_VOCAB, lambda token: False, DRAFT, counts_resident=True)
    texts: Counter[Text] = Counter()
    n_drafted = 0
    for seed in range(N_RUNS):
        # New ones, since of an answer that ends within a draft only failures would be remembered.
        drafters: dict[str, Drafter] = {
            "none": NoDrafter(inputs),
            "suffix": SuffixDrafter(inputs),
            "model": model(inputs),
        }
        drafting = Drafting(drafters, CHEAP.live(is_live=False), AUTO, None)
        _, controller, _ = drafting.controller(None, None, 100)
        request = Request(
            prompt=np.array(PROMPT, np.int32),
            sampler=RequestSampler(Sampling(1.0, seed=seed), N_VOCAB),
            max_tokens=4,
            ends=lambda token, source: False,
            is_eog=lambda token: False,
            is_cancelled=lambda: False,
        )
        text: list[int] = []
        for step in speculate(TARGET, drafters, controller, request):
            text += step.tokens
            n_drafted += step.drafted if step.drafter == "model" else 0
        texts[tuple(text[:3])] += 1
    return texts, n_drafted


def test_steered_drafts_keep_the_law() -> None:
    texts, n_drafted = drafted_texts(ModelDrafter)

    assert n_drafted > N_RUNS  # by the model: it was not given up
    assert p_value(texts, law()) > LIMIT


def test_dropping_a_drawn_token_for_its_value_changes_the_law() -> None:
    texts, _ = drafted_texts(Wary)

    assert p_value(texts, law()) < LIMIT
