from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.events import Delta, Source, TokenText
from edgespec.text.answer import AnswerText
from edgespec.text.memory import AnswerMemory
from tests.unit.fake_vocab import RULE, FakeVocab

VOCAB = FakeVocab()
SOURCES: tuple[Source, ...] = ("plain", "accepted", "recovered", "bonus")


def _run(answer: AnswerText, tokens: list[int]) -> list[Delta]:
    deltas = [
        delta for i, token in enumerate(tokens) for delta in answer.feed(token, SOURCES[i % 4])
    ]
    return deltas + answer.finish()


def _texts(deltas: list[Delta]) -> list[str]:
    return [delta.text for delta in deltas]


def test_answer_gives_whole_characters_with_the_token_that_completes_them() -> None:
    llama = "🦙".encode()
    tokens = VOCAB.ids("Hello", llama[:2], llama[2:3], llama[3:])

    deltas = _run(AnswerText(VOCAB), tokens)

    assert deltas == [
        Delta("text", "Hello", (TokenText(tokens[0], "Hello", "plain"),)),
        Delta(
            "text",
            "🦙",
            (
                TokenText(tokens[1], "", "accepted"),
                TokenText(tokens[2], "", "recovered"),
                TokenText(tokens[3], "🦙", "bonus"),
            ),
        ),
    ]


def test_answer_keeps_its_leading_space_and_long_pieces() -> None:
    answer = AnswerText(VOCAB)

    _run(answer, VOCAB.ids(" wor", "ld", RULE))

    assert answer.text == f" world{RULE}"


def test_answer_ends_before_a_stop_string_inside_a_block() -> None:
    answer = AnswerText(VOCAB, ["STOP"])

    deltas = _run(answer, VOCAB.ids("Hello", "S", "T", "OP"[:1], "P", " wor", "STOP", "ld"))

    assert _texts(deltas) == ["Hello"]
    assert (answer.is_stopped, answer.text) == (True, "Hello")


@pytest.mark.parametrize(
    ("stop", "pieces", "text", "n_kept"),
    [
        ("STOP", ["Hello", "STOP", "lo"], "Hello", 1),
        ("lo wo", ["Hello", " wor", "ld"], "Hel", 0),
        ("lo wo", ["Hel", "lo", " wor", "ld"], "Hel", 1),
        ("日", ["Hello", "日".encode()[:2], "日".encode()[2:]], "Hello", 1),
        ("wo", ["Hello", " wor"], "Hello ", 1),
        ("xx", ["Hello", " wor"], "Hello wor", 2),
    ],
)
def test_answer_counts_the_tokens_that_lie_wholly_before_a_stop_string(
    stop: str, pieces: list[str | bytes], text: str, n_kept: int
) -> None:
    answer = AnswerText(VOCAB, [stop])
    tokens = VOCAB.ids(*pieces)

    _run(answer, tokens)

    assert (answer.text, answer.tokens_kept) == (text, n_kept)
    assert answer.answer_tokens == tuple(tokens[:n_kept])


def test_answer_gives_held_text_at_the_end() -> None:
    answer = AnswerText(VOCAB, ["STOP"])

    deltas = _run(answer, VOCAB.ids("Hello", "S", "T"))

    assert _texts(deltas) == ["Hello", "ST"]
    assert [token.text for token in deltas[1].tokens] == ["", "ST"]
    assert answer.tokens_kept == 3


def test_answer_shows_a_cut_off_character_only_at_the_end() -> None:
    deltas = _run(AnswerText(VOCAB), VOCAB.ids("Hello", "日".encode()[:2]))

    assert _texts(deltas) == ["Hello", "\ufffd"]


def test_answer_hides_the_end_of_generation() -> None:
    answer = AnswerText(VOCAB)

    deltas = _run(answer, VOCAB.ids("Hello", "<|im_end|>"))

    assert _texts(deltas) == ["Hello"]
    assert answer.tokens_kept == 1


def test_answer_splits_reasoning_and_strips_the_lines_between() -> None:
    answer = AnswerText(VOCAB)
    tokens = VOCAB.ids("<think>", "\n", *"hm", "\n", "</think>", "\n\n", "Hel", "lo")

    deltas = _run(answer, tokens)

    assert [(delta.kind, delta.text) for delta in deltas] == [
        ("reasoning", "h"),
        ("reasoning", "m"),
        ("text", "Hel"),
        ("text", "lo"),
    ]
    assert (answer.reasoning, answer.text) == ("hm", "Hello")


def test_answer_reads_reasoning_markers_that_are_control_tokens() -> None:
    answer = AnswerText(VOCAB)

    _run(answer, VOCAB.ids("[THINK]", *"hm", "[/THINK]", "Hello"))

    assert (answer.reasoning, answer.text) == ("hm", "Hello")


def test_answer_reads_channels_that_are_control_tokens() -> None:
    answer = AnswerText(VOCAB)
    final = ["<|end|>", "<|start|>", *"assistant", "<|channel|>", *"final", "<|message|>"]

    _run(answer, VOCAB.ids("<|channel|>", *"analysis", "<|message|>", *"hm", *final, "Hello"))

    assert (answer.reasoning, answer.text) == ("hm", "Hello")


def test_answer_hides_a_control_token_of_a_marker_once_it_has_begun() -> None:
    answer = AnswerText(VOCAB)

    _run(answer, VOCAB.ids("Hello", "<|channel|>", "lo"))

    assert answer.text == "Hellolo"


def test_answer_starts_in_reasoning_when_the_prompt_opened_it() -> None:
    answer = AnswerText(VOCAB, opens_reasoning=True)

    _run(answer, VOCAB.ids(*"hm", "</think>", "Hello"))

    assert (answer.reasoning, answer.text) == ("hm", "Hello")


def test_stop_string_in_the_reasoning_does_not_end_the_answer() -> None:
    answer = AnswerText(VOCAB, ["STOP", "\n\n"])

    _run(answer, VOCAB.ids("<think>", "STOP", "\n\n", "x", "</think>", "\n\n", "Hello", "STOP"))

    assert (answer.reasoning, answer.text) == ("STOP\n\nx", "Hello")


def test_raw_answer_keeps_tags_as_text() -> None:
    answer = AnswerText(VOCAB, is_raw=True)

    _run(answer, VOCAB.ids("<think>", *"hm", "</think>", "\n\n"))

    assert (answer.reasoning, answer.text) == ("", "<think>hm</think>\n\n")


def test_answer_tokens_after_reasoning_can_be_remembered() -> None:
    answer = AnswerText(VOCAB, ["STOP"])
    memory = AnswerMemory(VOCAB)
    own = VOCAB.ids("Hel", "lo")

    _run(answer, [*VOCAB.ids("<think>", *"hm", "</think>", "\n\n"), *own, VOCAB.id("STOP")])
    memory.remember(answer.text, answer.answer_tokens)

    found = memory.find("Hello")
    assert found
    assert found.tokens.tolist() == own


def test_answer_tokens_hold_a_silent_token_before_the_text() -> None:
    answer = AnswerText(VOCAB)
    tokens = VOCAB.ids("<|start_header_id|>", "Hello")

    _run(answer, tokens)

    assert (answer.text, answer.answer_tokens) == ("Hello", tuple(tokens))


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *VOCAB.ids(
                    "<think>",
                    "</think>",
                    "\n\n",
                    "Hel",
                    "lo",
                    "S",
                    "STOP",
                    " ",
                    "日".encode()[:2],
                    "日".encode()[2:],
                    "[THINK]",
                    "[/THINK]",
                )
            ]
        )
    ),
    st.sampled_from([(), ("STOP",), ("Sl", "lo S", "日")]),
    st.booleans(),
)
def test_deltas_joined_are_the_answer_and_its_tokens(
    tokens: list[int], stops: tuple[str, ...], opens_reasoning: bool
) -> None:
    answer = AnswerText(VOCAB, stops, opens_reasoning=opens_reasoning)

    deltas = _run(answer, tokens)

    for delta in deltas:
        assert delta.text == "".join(token.text for token in delta.tokens) != ""
    assert "".join(d.text for d in deltas if d.kind == "text") == answer.text
    assert "".join(d.text for d in deltas if d.kind == "reasoning") == answer.reasoning
    assert not any(stop in answer.text for stop in stops)
    ids = [id for id, _ in groupby(token.id for delta in deltas for token in delta.tokens)]
    assert ids == [id for id, _ in groupby(tokens)][: len(ids)]
