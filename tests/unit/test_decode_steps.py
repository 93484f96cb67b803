"""The loop's steps over fakes: counts add up, nothing is lost when it is cut short."""

from collections.abc import Sequence

import numpy as np
import pytest

from edgespec.core import Branch, Draft, Logits, Sampler, Sampling, Tokens
from edgespec.decode import Request, prefill
from edgespec.errors import DecodeFailed, Interrupted
from edgespec.sampling import RequestSampler
from tests.fakes import (
    FakeLogits,
    FixedDrafter,
    NumpyLM,
    OracleDrafter,
    SampledDrafter,
    tokens_of,
)
from tests.unit.decode_loop import FAKES, LENGTHS, N_VOCAB, PROMPT, Banned, fake, plain, run


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


class RightBranch:
    """Knows the whole text, and drafts it as a branch beside a wrong trunk."""

    name = "branch"

    def __init__(self, text: Sequence[int]) -> None:
        self._text = tuple(text)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        n = len(context)
        soon = self._text[n : n + 3]
        wrong = (self._text[n] + 1) % N_VOCAB
        return Draft((wrong,), branches=(Branch(n, soon),) if k > 3 else ())


def test_logprobs_along_a_branch_are_those_of_its_own_rows() -> None:
    done = run(RightBranch((*PROMPT, *plain(40))), max_tokens=20, n_logprobs=0)

    told = [one for step in done.steps for one in step.logprobs]
    expected = [one for step in run(max_tokens=20, n_logprobs=0).steps for one in step.logprobs]
    assert done.tokens == plain(20)
    assert max(step.accepted for step in done.steps) == 3
    assert told == expected


def test_learner_hears_nothing_of_a_draft_that_the_grammar_cut() -> None:
    """The rows would be those of other branches than it proposed."""
    learner = Learner()

    done = run(learner, k=1, max_tokens=6, constraint=Banned(7))

    assert done.tokens == run(max_tokens=6, constraint=Banned(7)).tokens
    assert {step.rows for step in done.steps} == {3}
    assert learner.contexts == []


def test_fault_of_the_target_ends_the_loop_and_leaves_the_session_usable() -> None:
    lm = NumpyLM(N_VOCAB, faults=(4,))
    with pytest.raises(DecodeFailed):
        run(lm=lm)

    again = run(lm=lm)

    assert again.tokens == plain(40)


class Interrupting(NumpyLM):
    """Gives up its sixth pass."""

    def forward(
        self, tokens: Tokens, *, n_logits: int, branches: Sequence[Branch] = ()
    ) -> FakeLogits:
        if self.n_calls == 5:
            self.n_calls += 1
            raise Interrupted
        return super().forward(tokens, n_logits=n_logits, branches=branches)


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


class Vandal:
    """Writes over the rows that it is shown."""

    name = "vandal"

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return Draft()

    def learn(self, context: Tokens, logits: Logits) -> None:
        assert isinstance(logits, FakeLogits)
        logits.poison()


def test_drafter_that_spoils_the_rows_changes_nothing_that_is_told() -> None:
    spoiled = run(Vandal(), n_logprobs=1)
    whole = run(n_logprobs=1)

    assert spoiled.tokens == whole.tokens
    assert [step.logprobs for step in spoiled.steps] == [step.logprobs for step in whole.steps]
