import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.engine import binding
from edgespec.engine import token_bytes as token_bytes_module
from edgespec.engine.grammar import Grammars, GrammarState
from edgespec.engine.model import Model
from edgespec.engine.token_bytes import NO_TEXT, token_bytes
from edgespec.engine.vocab import LlamaVocab
from edgespec.errors import UsageError
from tests.engine.grammar_walk import (
    ALL,
    ENDS,
    accepts,
    after,
    allowed_bytes,
    allows_end,
    mask_of,
    native_vocab,
    tokens_of,
)
from tests.tinygguf import (
    BOS,
    BYTE,
    EOS,
    FIRST_BYTE,
    IM_START,
    NORMAL,
    VOCAB,
    TinyVocab,
    write_llama,
)

JSON = r"""
root   ::= object
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)* ws)? "}"
array  ::= "[" ws (value ("," ws value)* ws)? "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" ["\\bfnrt])* "\""
number ::= "-"? [0-9]+ ("." [0-9]+)?
ws     ::= " "?
"""
GRAMMARS = (
    JSON,
    'root ::= [^é"]+ "é"',
    "root ::= [à-ü]{1,3} ([あ-ん] | .)* [^\\U0001F600-\\U0001F64F]",
    'root ::= ("the " | "th" "in"? | "and" [a-z]*){2,4} "."',
)


@pytest.fixture(scope="module")
def vocab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with native_vocab(tmp_path_factory.mktemp("vocabulary")) as vocab:
        yield vocab


@pytest.fixture(scope="module")
def grammars(vocab: Any) -> Grammars:
    return Grammars(vocab)


def walk(state: GrammarState, choices: list[int]) -> list[int]:
    """Allowed tokens, each chosen by a number among those that do not end."""
    tokens = []
    for choice in choices:
        allowed = [t for t in np.flatnonzero(mask_of(state)) if t not in ENDS]
        if not allowed:
            break
        tokens.append(int(allowed[choice % len(allowed)]))
        state = state.advanced(tokens[-1])
    return tokens


def replayed(grammars: Grammars, gbnf: str, tokens: list[int]) -> GrammarState:
    state = grammars.start(gbnf)
    for token in tokens:
        state = state.advanced(token)
    return state


choices = st.lists(st.integers(0, 10_000), max_size=12)


@settings(max_examples=40, deadline=None)
@given(gbnf=st.sampled_from(GRAMMARS), choices=choices)
def test_every_question_about_the_vocabulary_gets_the_same_answer(
    grammars: Grammars, gbnf: str, choices: list[int]
) -> None:
    state = replayed(grammars, gbnf, walk(grammars.start(gbnf), choices))

    at_once = state.allowed(ALL)

    one_by_one = [state.allowed(ALL[i : i + 1])[0] for i in range(len(ALL))]
    assert at_once.tolist() == one_by_one


@settings(max_examples=40, deadline=None)
@given(gbnf=st.sampled_from(GRAMMARS), choices=choices, refused=choices)
def test_state_after_a_refused_draft_equals_replay(
    grammars: Grammars, gbnf: str, choices: list[int], refused: list[int]
) -> None:
    tokens = walk(grammars.start(gbnf), choices)
    state = replayed(grammars, gbnf, tokens)

    walk(state, refused)

    replay = replayed(grammars, gbnf, tokens)
    assert mask_of(state).tolist() == mask_of(replay).tolist()


@settings(max_examples=40, deadline=None)
@given(gbnf=st.sampled_from(GRAMMARS), choices=choices)
def test_every_prefix_of_allowed_tokens_stays_allowed_byte_by_byte(
    vocab: Any, grammars: Grammars, gbnf: str, choices: list[int]
) -> None:
    tokens = walk(grammars.start(gbnf), choices)
    text = b"".join(LlamaVocab(vocab).piece(token) for token in tokens)

    whole_chars = text.decode("utf-8", "ignore")

    assert after(grammars.start(gbnf), whole_chars) is not None


def test_literal_allows_one_way_on(grammars: Grammars) -> None:
    state = after(grammars.start('root ::= "true"'), "tr")

    assert state is not None
    assert allowed_bytes(state) == b"u"


def test_longer_tokens_are_allowed_when_their_whole_text_is(grammars: Grammars) -> None:
    state = grammars.start('root ::= "the"')

    mask = mask_of(state)

    allowed = {VOCAB.texts[i] for i in np.flatnonzero(mask)}
    assert allowed == {"t", "th", "the", "<0x74>"}


def test_half_a_character_is_followed_by_its_other_half_only(grammars: Grammars) -> None:
    state = grammars.start('root ::= "é"').advanced(FIRST_BYTE + 0xC3)

    assert allowed_bytes(state) == b"\xa9"


def test_finished_grammar_allows_only_ends_of_generation(grammars: Grammars) -> None:
    state = after(grammars.start('root ::= "ab"'), "ab")

    assert state is not None
    assert set(np.flatnonzero(mask_of(state))) == ENDS


def test_unfinished_grammar_allows_no_end_of_generation(grammars: Grammars) -> None:
    state = after(grammars.start('root ::= "ab"'), "a")

    assert state is not None
    assert not mask_of(state)[list(ENDS)].any()


def test_end_of_generation_leaves_the_state(grammars: Grammars) -> None:
    state = after(grammars.start('root ::= "ab" "c"?'), "ab")
    assert state is not None

    ended = state.advanced(EOS)

    assert mask_of(ended).tolist() == mask_of(state).tolist()


def test_control_tokens_are_never_part_of_a_text(grammars: Grammars) -> None:
    state = grammars.start("root ::= .*")

    mask = mask_of(state)

    assert not mask[[BOS, IM_START]].any()
    assert mask[tokens_of("<|im_start|>")].all()


def test_advancing_by_a_token_that_is_not_allowed_is_our_fault(grammars: Grammars) -> None:
    state = grammars.start('root ::= "a"')

    with pytest.raises(AssertionError, match="token 101 is not allowed"):
        state.advanced(FIRST_BYTE + ord("b"))


def test_advancing_never_changes_the_old_state(grammars: Grammars) -> None:
    state = grammars.start(JSON)
    before = mask_of(state).tolist()

    after(state, '{"a": [1')

    assert mask_of(state).tolist() == before


def test_same_token_leads_to_the_same_state(grammars: Grammars) -> None:
    state = grammars.start(JSON)

    assert state.advanced(FIRST_BYTE + ord("{")) is state.advanced(FIRST_BYTE + ord("{"))


def test_two_requests_in_a_row_start_alike(grammars: Grammars) -> None:
    first = after(grammars.start(JSON), '{"a": 1}')
    second = after(grammars.start(JSON), '{"a": 1}')

    assert first is not None
    assert second is not None
    assert allows_end(first)
    assert allows_end(second)


@pytest.mark.parametrize("gbnf", ["", "root ::= (", 'root ::= root "a" | "b"', "root ::= x"])
def test_bad_grammar_is_an_error_and_the_next_one_works(
    grammars: Grammars, gbnf: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError):
        grammars.start(gbnf)

    assert accepts(grammars, 'root ::= "a"+', "aaa")
    assert capfd.readouterr() == ("", "")


def test_states_are_freed_once_nobody_holds_them(
    grammars: Grammars, monkeypatch: pytest.MonkeyPatch
) -> None:
    native: Any = binding.lib()
    freed: list[Any] = []
    free = native.llama_sampler_free

    def counting(sampler: Any) -> None:
        freed.append(sampler)
        free(sampler)

    monkeypatch.setattr(native, "llama_sampler_free", counting)
    state = grammars.start('root ::= "a"*')
    alive: weakref.WeakSet[GrammarState] = weakref.WeakSet([state])

    for _ in range(300):
        state = state.advanced(FIRST_BYTE + ord("a"))
        alive.add(state)
    gc.collect()

    assert len(alive) < 100
    assert len(freed) > 200


def test_token_bytes_are_those_of_every_token(vocab: Any) -> None:
    found = token_bytes(vocab)

    pieces = [LlamaVocab(vocab).piece(int(token)) for token in ALL]
    assert found.first.tolist() == [piece[0] if piece else NO_TEXT for piece in pieces]
    assert all(pieces[found.single[byte]] == bytes([byte]) for byte in range(256))


def test_token_bytes_need_no_separator(vocab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = token_bytes(vocab)
    monkeypatch.setattr(token_bytes_module, "_SEPARATORS", ())

    slow = token_bytes(vocab)

    assert slow.first.tolist() == quick.first.tolist()


def test_token_bytes_are_found_without_byte_tokens(tmp_path: Path) -> None:
    """No token is a space or a dot; one is a separator."""
    texts = [f"byte{i}" if kind == BYTE else text for i, (text, kind) in enumerate(ENTRIES)]
    texts[FIRST_BYTE] = "\x01"
    texts = [{".": "..", "▁": "▁▁"}.get(text, text) for text in texts]
    types = tuple(NORMAL if kind == BYTE else kind for _, kind in ENTRIES)
    path = write_llama(tmp_path / "m.gguf", vocab=TinyVocab(tuple(texts), types))
    model = Model(path)

    found = token_bytes(model.vocab.handle)

    pieces = [model.vocab.piece(token) for token in range(len(VOCAB))]
    model.close()
    assert found.single[[ord(" "), ord("."), 1]].tolist() == [-1, -1, FIRST_BYTE]
    assert found.first.tolist() == [piece[0] if piece else NO_TEXT for piece in pieces]


ENTRIES = tuple(zip(VOCAB.texts, VOCAB.types, strict=True))


def test_ends_of_generation_are_the_vocabularys(grammars: Grammars) -> None:
    assert set(np.flatnonzero(grammars.is_end)) == ENDS


def test_grammar_file_of_a_person_works(grammars: Grammars, tmp_path: Path) -> None:
    path = tmp_path / "list.gbnf"
    path.write_text('# a list\nroot ::= item+\nitem ::= "- " [^\\n]+ "\\n"\n')

    assert accepts(grammars, path.read_text(), "- a\n- b c\n")
