"""A draft model that is sure of what comes next, and a drafter on it."""

from collections.abc import Sequence

from edgespec.core import Draft, Sampling
from edgespec.drafters import DrafterInputs
from edgespec.drafters.model import ModelDrafter
from edgespec.sampling.sampler import RequestSampler
from tests.fakes import NumpyLM, tokens_of

N_VOCAB = 8


GREEDY = Sampling()


SAMPLER = RequestSampler(GREEDY, N_VOCAB)


PROMPT = [1, 2, 3, 4, 5]


def sure_lm(*, n_ctx: int = 1024, faults: Sequence[int] = ()) -> NumpyLM:
    """A model that is always sure of its next token."""
    return NumpyLM(N_VOCAB, scale=60.0, n_ctx=n_ctx, faults=faults)


def model_drafter(lm: NumpyLM, eog: int = -1, n_vocab: int = N_VOCAB) -> ModelDrafter:
    return ModelDrafter(DrafterInputs(n_vocab, lambda token: token == eog, lm))


def draft_of(
    drafter: ModelDrafter, context: list[int], k: int = 4, params: Sampling = GREEDY
) -> Draft:
    """Of one request when greedy, of a request of its own otherwise."""
    sampler = SAMPLER if params is GREEDY else RequestSampler(params, N_VOCAB)
    return drafter.draft(tokens_of(*context), k, sampler)
