"""The loop over fakes: the text is plain decoding's, limits are exact, the counts add up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from edgespec.control import Fixed
from edgespec.core import Branch, Draft, Drafter, Logits, Mask, Sampler, Sampling, Tokens
from edgespec.decode import Request, prefill, speculate
from edgespec.drafters import DRAFTERS, DrafterInputs, create
from edgespec.errors import DecodeFailed, Interrupted
from edgespec.events import FinishReason, Source, Step
from edgespec.sampling import RequestSampler
from tests.fakes import (
    FixedDrafter,
    ListRetriever,
    NumpyLM,
    OracleDrafter,
    RandomDrafter,
    SampledDrafter,
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


def plain(n: int, **options: object) -> list[int]:
    return run(max_tokens=n, **options).tokens  # type: ignore[arg-type]


@pytest.mark.parametrize("k", LENGTHS)
@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("name", DRAFTERS)
def test_greedy_text_is_the_models_argmax(name: str, seed: int, k: int) -> None:
    done = run(create(name, inputs(seed=seed)), k=k)

    assert done.tokens == NumpyLM(N_VOCAB).greedy(PROMPT, 40)


@pytest.mark.parametrize("k", LENGTHS)
@pytest.mark.parametrize("kind", FAKES)
def test_seeded_text_is_plain_decodings_under_deterministic_drafts(kind: str, k: int) -> None:
    warm = Sampling(0.8, repeat_penalty=1.2, frequency_penalty=0.2, seed=42)
    expected = plain(40, sampling=warm)

    done = run(fake(kind, expected), k=k, sampling=warm)

    assert done.tokens == expected
    assert len(set(expected)) > 4


@pytest.mark.parametrize("name", DRAFTERS)
def test_reproducible_text_is_the_same_under_every_drafter(name: str) -> None:
    warm = Sampling(0.9, seed=3, reproducible=True)

    done = run(create(name, inputs(seed=5)), k=3, sampling=warm)

    assert done.tokens == plain(40, sampling=warm)


@pytest.mark.parametrize("k", LENGTHS)
def test_length_is_exact_for_every_limit(k: int) -> None:
    expected = plain(40)

    for n in range(41):
        done = run(OracleDrafter((*PROMPT, *expected, 1, 1)), k=k, max_tokens=n)

        assert (done.tokens, done.reason) == (expected[:n], "length")


@pytest.mark.parametrize("k", LENGTHS)
def test_right_drafts_take_as_few_passes_as_possible(k: int) -> None:
    expected = plain(40)

    done = run(OracleDrafter((*PROMPT, *expected)), k=k)

    assert len(done.steps) == -(-40 // (k + 1))


def test_wrong_drafts_take_a_pass_per_token() -> None:
    expected = plain(40)

    done = run(fake("wrong", expected))

    assert len(done.steps) == 40
    assert sum(step.accepted for step in done.steps) == 0


@pytest.mark.parametrize("k", LENGTHS)
def test_nothing_follows_an_end_inside_a_draft(k: int) -> None:
    text = plain(40)
    eog = text[11]
    first = text.index(eog)

    done = run(OracleDrafter((*PROMPT, *text)), k=k, eog=eog)

    assert done.tokens == text[: first + 1]
    assert done.reason == "stop"
    assert [token for token, _ in done.heard] == done.tokens


@pytest.mark.parametrize("n", [5, 6, 7])
def test_stop_wins_over_length_within_the_budget(n: int) -> None:
    text = plain(40)
    eog = text[5]
    first = text.index(eog)

    done = run(OracleDrafter((*PROMPT, *text)), k=15, eog=eog, max_tokens=n)

    inside = first < n
    assert done.reason == ("stop" if inside else "length")
    assert done.tokens == text[: first + 1 if inside else n]


@pytest.mark.parametrize("k", LENGTHS)
def test_context_is_filled_to_its_last_token(k: int) -> None:
    lm = NumpyLM(N_VOCAB, n_ctx=30)
    text = plain(40)

    done = run(OracleDrafter((*PROMPT, *text)), k=k, lm=lm, max_tokens=None)

    assert done.tokens == text[: 30 - len(PROMPT)]
    assert done.reason == "context_full"


def test_limit_that_ends_with_the_context_is_a_length() -> None:
    done = run(lm=NumpyLM(N_VOCAB, n_ctx=30), max_tokens=25)

    assert done.reason == "length"


def test_draft_is_no_longer_than_the_rows_of_a_pass() -> None:
    lm = NumpyLM(N_VOCAB, max_logits=4)
    text = plain(40)

    done = run(OracleDrafter((*PROMPT, *text)), k=15, lm=lm)

    assert max(step.drafted for step in done.steps) == 3
    assert done.tokens == text


def test_cancelled_loop_keeps_its_steps() -> None:
    done = run(cancelled=lambda run: len(run.heard) >= 3)

    assert done.tokens == plain(3)
    assert done.reason == "cancelled"


def test_cancelled_prefill_reads_no_further() -> None:
    lm = NumpyLM(N_VOCAB)

    done = run(lm=lm, cancelled=lambda run: lm.n_calls >= 1, prompt=range(8))

    assert lm.n_decoded == 2
    assert (done.tokens, done.reason) == ([], "cancelled")


def test_prefill_reads_all_but_the_last_token_in_chunks() -> None:
    lm = NumpyLM(N_VOCAB)
    request = Request(
        tokens_of(*range(8)),
        RequestSampler(Sampling(), N_VOCAB),
        None,
        lambda token, source: False,
        lambda token: False,
        lambda: False,
    )

    told = list(prefill(lm, request, 3))
    again = list(prefill(lm, request, 3))

    assert (told, again) == ([3, 6, 7], [])
    assert lm.n_decoded == 7


@pytest.mark.parametrize("kind", FAKES)
@pytest.mark.parametrize("eog", [-1, 2])
def test_counts_of_steps_add_up(kind: str, eog: int) -> None:
    text = plain(40)

    done = run(fake(kind, text), k=5, eog=eog, max_tokens=37)

    for step in done.steps:
        rejected = step.drafted - step.accepted - step.discarded
        assert rejected >= 0
        assert len(step.tokens) <= step.accepted + 1
        assert step.rows == step.drafted + 1
        assert len(step.sources) == len(step.tokens)
    whole = [step for step in done.steps if len(step.tokens) == step.accepted + 1]
    assert len(done.steps) - len(whole) <= 1  # only the last may be cut
    assert len(done.heard) == sum(step.accepted for step in done.steps) + len(whole)
    assert [source for step in done.steps for source in step.sources] == [
        source for _, source in done.heard
    ]


def test_tokens_accepted_behind_an_end_are_discarded() -> None:
    text = plain(40)
    eog = text[2]
    first = text.index(eog)

    done = run(OracleDrafter((*PROMPT, *text)), k=7, eog=eog)

    last = done.steps[-1]
    assert (last.drafted, last.accepted, last.discarded) == (7, first + 1, 6 - first)


def test_nothing_is_decoded_twice() -> None:
    lm = NumpyLM(N_VOCAB)
    text = plain(40)

    done = run(OracleDrafter((*PROMPT, *text)), k=3, lm=lm)

    assert lm.n_decoded == len(PROMPT) - 1 + sum(step.drafted + 1 for step in done.steps)
    assert sum(step.rows for step in done.steps) == 40


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


@pytest.mark.parametrize("k", LENGTHS)
def test_draft_is_cut_before_the_first_token_that_the_grammar_forbids(k: int) -> None:
    banned = Banned(2)

    done = run(FixedDrafter((1, 2, 3, 4)), k=k, constraint=banned)

    assert done.tokens == run(constraint=banned).tokens
    assert 2 not in done.tokens
    assert {step.draft for step in done.steps} <= {(), (1,)}


def test_sampled_draft_is_never_cut_by_the_grammar() -> None:
    """Dropping a drawn token would change the law: the target refuses it instead."""
    banned = Banned(2)
    lm = NumpyLM(N_VOCAB)
    unmasked = RequestSampler(Sampling(1.0), N_VOCAB)
    drafter = SampledDrafter(lambda tokens: unmasked.dist(lm.row(tokens), tokens))

    done = run(drafter, sampling=Sampling(1.0, seed=1), constraint=banned, k=3)

    assert {step.drafted for step in done.steps[:-2]} == {3}
    assert any(2 in step.draft for step in done.steps)
    assert 2 not in done.tokens


class Learner:
    """Drafts a branch beside its draft, and keeps what it learned."""

    name = "learner"

    def __init__(self) -> None:
        self.contexts: list[list[int]] = []
        self.rows: list[np.ndarray] = []

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return Draft((1,), branches=(Branch(len(context), (6, 7)),))

    def learn(self, context: Tokens, logits: Logits) -> None:
        self.contexts.append(context.tolist())
        self.rows += [row.copy() for row in logits.branch(0)]


def test_learner_sees_the_committed_text_and_living_rows() -> None:
    learner = Learner()

    done = run(learner, k=1, max_tokens=6)

    assert done.tokens == plain(6)
    assert learner.contexts[-1] == [*PROMPT, *done.tokens]
    assert len(learner.rows) == 2 * len(done.steps)
    assert all(np.isfinite(row).all() for row in learner.rows)


def test_fault_of_the_target_ends_the_loop_and_leaves_the_session_usable() -> None:
    lm = NumpyLM(N_VOCAB, faults=(4,))
    with pytest.raises(DecodeFailed):
        run(lm=lm)

    again = run(lm=lm)

    assert again.tokens == plain(40)


class Interrupting(NumpyLM):
    """Gives up its sixth pass."""

    def forward(self, tokens: Tokens, **options: object) -> Logits:  # type: ignore[override]
        if self.n_calls == 5:
            self.n_calls += 1
            raise Interrupted
        return super().forward(tokens, **options)  # type: ignore[arg-type]


def test_interrupt_passes_through_with_its_steps_told() -> None:
    steps: list[int] = []

    def count(token: int) -> bool:
        steps.append(token)
        return False

    with pytest.raises(Interrupted):
        run(lm=Interrupting(N_VOCAB), ends=count)

    assert steps == plain(3)


def test_grammar_hears_every_token_but_the_end() -> None:
    text = plain(40)
    eog = text[6]
    seen: list[int] = []

    class Hearing(Banned):
        def advanced(self, token: int) -> "Banned":
            seen.append(token)
            return self

    done = run(eog=eog, constraint=Hearing(-1))

    assert done.tokens[-1] == eog
    assert seen == done.tokens[:-1]
