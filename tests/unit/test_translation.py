"""A draft model's view of another vocabulary: what it reads, and what it can say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.core import Constraint, Draft, Mask, Sampling, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.model import ModelDrafter
from edgespec.drafters.translation import SameVocab, SharedVocab
from edgespec.models.intersection import Shared
from edgespec.sampling import RequestSampler
from tests.fakes import NumpyLM, tokens_of
from tests.unit.fake_vocab import PIECES, FakeVocab

TARGET_PIECES = [piece for piece in PIECES if len(piece) > 1]
TARGET = FakeVocab(pieces=TARGET_PIECES)
DRAFT = FakeVocab(pieces=(b"Hello wor", b" world", b"ST", b"OP", b"\n\n\n"))
SPACED = FakeVocab(adds_space=True, add_bos=True, pieces=TARGET_PIECES)
LONG = "Hello world, STOP there\n\n" * 20


def shared_of(target: FakeVocab, draft: FakeVocab) -> Shared:
    known: dict[bytes, int] = {}
    for token in range(draft.n_tokens):
        known.setdefault(draft.piece(token, special=True), token)
    pairs = {
        token: known[piece]
        for token in range(target.n_tokens)
        if (piece := target.piece(token, special=True)) in known
    }
    return Shared(np.array(list(pairs), np.int32), np.array(list(pairs.values()), np.int32))


def between(draft: FakeVocab = DRAFT) -> SharedVocab:
    return SharedVocab(TARGET, draft, shared_of(TARGET, draft), TARGET.n_tokens)


def target_tokens(text: str) -> Tokens:
    return tokens_of(*TARGET.tokenize(text, parse_special=True))


@pytest.mark.parametrize("text", ["Hello", "a", "日本 🦙!", "<|im_start|>user\nHello", LONG])
def test_context_is_the_same_text(text: str) -> None:
    read = between().context(target_tokens(text))

    assert DRAFT.spelled(read.tolist()) == text


def test_short_context_is_cut_as_the_draft_models_own_tokenizer_does() -> None:
    read = between().context(target_tokens("Hello world STOP"))

    assert read.tolist() == DRAFT.tokenize("Hello world STOP", parse_special=True)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_context_is_read_the_same_whatever_was_read_before(data: st.DataObject) -> None:
    some = st.sampled_from(["Hello", " world", "\n\n", "日", "🦙!", "x", "STOP", "<|im_end|>"])
    text = "".join(data.draw(st.lists(some, min_size=1, max_size=120)))
    tokens, used = target_tokens(text), between()
    for _ in range(data.draw(st.integers(1, 4))):
        cut = tokens[: data.draw(st.integers(1, len(tokens)))]
        changed = data.draw(st.integers(0, len(cut)))
        used.context(np.concatenate((cut[:changed], target_tokens("zz"))))
        used.context(cut)

    assert used.context(tokens).tolist() == between().context(tokens).tolist()


def test_only_the_end_is_tokenised_anew() -> None:
    class Counting(FakeVocab):
        n_chars = 0

        def tokenize(
            self, text: str, *, parse_special: bool, add_special: bool = False
        ) -> list[int]:
            self.n_chars += len(text)
            return super().tokenize(text, parse_special=parse_special, add_special=add_special)

    counting, tokens = Counting(pieces=TARGET_PIECES), target_tokens(LONG)
    view = between(counting)
    view.context(tokens[:-1])
    before = counting.n_chars

    view.context(tokens)

    assert before >= len(LONG) - 4
    assert counting.n_chars - before < 64 * 8  # at most so many tokens, each of a few letters


def test_array_that_the_caller_reuses_is_not_taken_for_the_old_context() -> None:
    view, array = between(), target_tokens("Hello world")
    view.context(array)

    array[:] = array[::-1].copy()

    assert view.context(array).tolist() == between().context(array).tolist()


def test_begun_character_is_not_read_and_nothing_is_drafted_after_it() -> None:
    view, begun = between(), target_tokens("Hello日")[:-1]

    assert not view.is_whole(begun)
    assert view.is_whole(target_tokens("Hello日"))
    assert DRAFT.spelled(view.context(begun).tolist()) == "Hello"


def test_text_that_is_no_utf_8_is_read_on() -> None:
    broken = tokens_of(TARGET.id(b"\xff"), *target_tokens("Hello").tolist())

    view = between()

    assert view.is_whole(broken)
    assert DRAFT.spelled(view.context(broken).tolist()).endswith("Hello")


def test_begin_of_text_is_the_draft_models_own() -> None:
    begun = tokens_of(TARGET.bos, *target_tokens("Hello").tolist())

    assert between(SPACED).context(begun).tolist()[0] == SPACED.bos
    assert between(SPACED).context(begun).tolist().count(SPACED.bos) == 1
    assert DRAFT.bos not in between().context(begun).tolist()


def test_no_space_is_put_into_a_continued_text() -> None:
    text = "Hello world" * 30

    read = between(SPACED).context(target_tokens(text))

    assert SPACED.spelled(read.tolist()) == f"<s> {text}"


def test_row_has_the_shared_tokens_logits_and_no_others() -> None:
    view, shared = between(), shared_of(TARGET, DRAFT)
    row = np.arange(DRAFT.n_tokens, dtype=np.float32)

    translated = view.row(row)

    assert len(translated) == TARGET.n_tokens
    assert translated[shared.target_ids].tolist() == shared.draft_ids.tolist()
    assert np.isneginf(translated).sum() == TARGET.n_tokens - shared.size


def test_token_is_the_one_of_equal_meaning() -> None:
    view = between()

    assert view.token(TARGET.id("STOP")) is None
    assert view.token(TARGET.id("<|im_end|>")) == DRAFT.id("<|im_end|>")
    assert view.token(TARGET.id(b"H")) == DRAFT.id(b"H")


def test_same_vocabulary_is_only_cut_and_padded() -> None:
    view = SameVocab(4, 6)

    assert view.context(tokens_of(1, 5)).tolist() == [1, 3]
    assert view.row(np.zeros(4, np.float32)).tolist() == [0, 0, 0, 0, -np.inf, -np.inf]
    assert [view.token(token) for token in (3, 4)] == [3, None]


class Only:
    """A grammar that allows one token, again and again."""

    def __init__(self, token: int) -> None:
        self.token = token

    def allowed(self, ids: Tokens) -> Mask:
        allowed: Mask = ids == self.token
        return allowed

    def advanced(self, token: int) -> "Only":
        return self


def draft_of(text: str, params: Sampling, grammar: Constraint | None = None, k: int = 6) -> Draft:
    lm = NumpyLM(DRAFT.n_tokens)
    inputs = DrafterInputs(TARGET.n_tokens, TARGET.is_eog, lm, translation=between())
    sampler = RequestSampler(params, TARGET.n_tokens, grammar)
    return ModelDrafter(inputs).draft(target_tokens(text), k, sampler)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_draft_is_of_shared_tokens(temperature: float) -> None:
    drafts = [draft_of("Hello", Sampling(temperature, seed=seed)) for seed in range(10)]

    known = set(shared_of(TARGET, DRAFT).target_ids.tolist())
    assert all(set(draft.tokens) <= known for draft in drafts)
    assert all(set(q.ids.tolist()) <= known for draft in drafts for q in draft.dists)
    assert max(map(len, drafts)) == 6


def test_draft_is_what_the_draft_model_says_of_its_own_tokens() -> None:
    """Greedy, by hand: the likeliest shared token after the text and what was drafted."""
    lm, shared = NumpyLM(DRAFT.n_tokens), shared_of(TARGET, DRAFT)
    read, expected = DRAFT.tokenize("Hello", parse_special=True), []
    for _ in range(6):
        best = int(lm.row(read)[shared.draft_ids].argmax())
        expected.append(int(shared.target_ids[best]))
        read.append(int(shared.draft_ids[best]))

    assert draft_of("Hello", Sampling()).tokens == tuple(expected)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_nothing_is_drafted_where_the_grammar_wants_what_is_not_shared(temperature: float) -> None:
    draft = draft_of("Hello", Sampling(temperature), Only(TARGET.id("STOP")))

    assert draft == Draft()


def test_nothing_is_drafted_within_a_character() -> None:
    begun = target_tokens("Hello日")[:-1]
    lm = NumpyLM(DRAFT.n_tokens)
    inputs = DrafterInputs(TARGET.n_tokens, TARGET.is_eog, lm, translation=between())

    draft = ModelDrafter(inputs).draft(begun, 4, RequestSampler(Sampling(), TARGET.n_tokens))

    assert draft == Draft()
    assert lm.n_decoded == 0
