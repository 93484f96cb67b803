"""Loops over fakes, run to their end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from edgespec.control import Fixed
from edgespec.core import Drafter, Mask, Sampling, Tokens
from edgespec.decode import Request, prefill, speculate
from edgespec.drafters import DrafterInputs, create
from edgespec.events import FinishReason, Source, Step
from edgespec.sampling import RequestSampler
from tests.fakes import (
    FixedDrafter,
    ListRetriever,
    NumpyLM,
    OracleDrafter,
    RandomDrafter,
    WrongDrafter,
    tokens_of,
)

N_VOCAB = 8
PROMPT = (3, 1, 4, 1, 5)
LENGTHS = (1, 2, 3, 7, 15)
FAKES = ("oracle", "wrong", "random", "fixed")


@dataclass
class Run:
    """A finished loop."""

    steps: list[Step] = field(default_factory=list)
    reason: FinishReason | None = None
    heard: list[tuple[int, Source]] = field(default_factory=list)

    @property
    def tokens(self) -> list[int]:
        return [token for step in self.steps for token in step.tokens]


def run(
    drafter: Drafter | None = None,
    *,
    k: int = 4,
    lm: NumpyLM | None = None,
    max_tokens: int | None = 40,
    sampling: Sampling = Sampling(),
    eog: int = -1,
    ends: Callable[[int], bool] = lambda token: False,
    cancelled: Callable[[Run], bool] = lambda run: False,
    constraint: "Banned | None" = None,
    prompt: Sequence[int] = PROMPT,
    n_logprobs: int | None = None,
) -> Run:
    """Prefill and loop with one drafter; none is plain decoding."""
    lm = lm or NumpyLM(N_VOCAB)
    drafters: Mapping[str, Drafter] = {"it": drafter or create("none", inputs())}
    done = Run()

    def hear(token: int, source: Source) -> bool:
        done.heard.append((token, source))
        return token == eog or ends(token)

    request = Request(
        prompt=tokens_of(*prompt),
        sampler=RequestSampler(sampling, lm.n_vocab, constraint),
        max_tokens=max_tokens,
        ends=hear,
        is_eog=lambda token: token == eog,
        is_cancelled=lambda: cancelled(done),
        n_logprobs=n_logprobs,
    )
    for _ in prefill(lm, request, 2):
        pass
    loop = speculate(lm, drafters, Fixed("it", k if drafter else 0), request)
    while True:
        try:
            done.steps.append(next(loop))
        except StopIteration as end:
            done.reason = end.value
            return done


def inputs(*, is_eog: Callable[[int], bool] = lambda token: False, seed: int = 0) -> DrafterInputs:
    """A draft model that agrees with the target (seed 0), or one that mostly does not."""
    texts = ListRetriever(NumpyLM(N_VOCAB).greedy(PROMPT, 40), [1, 2, 3, 1, 2, 4])
    session = NumpyLM(N_VOCAB, seed=seed)
    return DrafterInputs(N_VOCAB, is_eog, session, retriever=texts, max_branches=16)


def fake(kind: str, text: Sequence[int]) -> Drafter:
    whole = (*PROMPT, *text)
    made: dict[str, Drafter] = {
        "oracle": OracleDrafter(whole),
        "wrong": WrongDrafter(whole, N_VOCAB),
        "random": RandomDrafter(N_VOCAB),
        "fixed": FixedDrafter((1, 2, 3, 4)),
    }
    return made[kind]


def plain(n: int, sampling: Sampling = Sampling()) -> list[int]:
    return run(max_tokens=n, sampling=sampling).tokens


@dataclass(frozen=True)
class Banned:
    """A grammar that forbids one token; counts what was committed to it."""

    token: int
    n: int = 0

    def allowed(self, ids: Tokens) -> Mask:
        mask: Mask = ids != self.token
        return mask

    def advanced(self, token: int) -> "Banned":
        assert token != self.token, "a forbidden token was committed"
        return replace(self, n=self.n + 1)
