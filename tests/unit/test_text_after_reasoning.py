"""A grammar that begins where the reasoning ends, however the tokens cut the marker."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from edgespec.core import Constraint, Mask, Tokens
from edgespec.text.after_reasoning import AfterReasoning
from tests.fakes import tokens_of
from tests.unit.fake_vocab import FakeVocab

MARKED = FakeVocab(pieces=(b"Hello",))
SPELLED = FakeVocab(
    pieces=(b"Hello", b"lo", b"</", b"th", b"in", b"ink", b"k>", b">\n\n", b">{"), user_defined=()
)


@dataclass(frozen=True)
class Waiting:
    """A grammar that nothing was said to."""

    def allowed(self, ids: Tokens) -> Mask:
        return np.ones(len(ids), np.bool_)

    def advanced(self, token: int) -> Constraint:
        raise AssertionError(token)


GRAMMAR = Waiting()


def begun(vocab: FakeVocab) -> AfterReasoning:
    ids = range(vocab.n_tokens)
    is_end = np.array([vocab.is_eog(token) for token in ids])
    first = np.array([vocab.piece(token, special=True)[0] for token in ids], np.int16)
    return AfterReasoning(vocab, is_end, first, GRAMMAR)


def after(vocab: FakeVocab, texts: Sequence[str]) -> Constraint:
    state: Constraint = begun(vocab)
    for text in texts:
        state = state.advanced(vocab.id(text))
    return state


@pytest.mark.parametrize(
    ("vocab", "texts"),
    [
        (MARKED, ["Hello", "</think>"]),
        (MARKED, ["[/THINK]"]),
        (SPELLED, ["Hello", "</", "th", "ink", ">"]),
        (SPELLED, ["</", "</", "th", "ink", ">\n\n"]),
        (SPELLED, ["</", "th", "in", "k>"]),
    ],
)
def test_grammar_begins_with_the_token_after_the_marker(vocab: FakeVocab, texts: list[str]) -> None:
    *before, last = texts

    assert after(vocab, before) is not GRAMMAR
    assert after(vocab, [*before, last]) is GRAMMAR


@pytest.mark.parametrize("texts", [[], ["Hello"], ["</", "th"], ["</", "th", "ink", "lo", ">"]])
def test_reasoning_may_say_anything_but_an_end(texts: list[str]) -> None:
    state = after(SPELLED, texts)
    ids = np.arange(SPELLED.n_tokens, dtype=np.int32)

    mask = state.allowed(ids)

    refused = {t for t in ids.tolist() if not mask[t]}
    assert refused == {t for t in ids.tolist() if SPELLED.is_eog(t)}


def test_token_that_begins_the_answer_behind_the_marker_is_refused() -> None:
    """The grammar would never hear what it holds of the answer."""
    state = after(SPELLED, ["</", "th", "ink"])
    ends = [SPELLED.id(text) for text in (">", ">\n\n", ">{", "{")]

    assert state.allowed(tokens_of(*ends)).tolist() == [True, True, False, True]


def test_refused_draft_leaves_no_trace() -> None:
    state = after(SPELLED, ["</", "th"])

    for text in ("ink", "Hello", "ink"):
        state.advanced(SPELLED.id(text))

    assert state.advanced(SPELLED.id("ink")).advanced(SPELLED.id(">")) is GRAMMAR
