from typing import Any

import pytest

from edgespec.errors import UsageError
from edgespec.text.turns import Turn, alternated, folded, led, turns_of

SYSTEM = Turn("system", "Be brief.")
HI = Turn("user", "Hi")
HELLO = Turn("assistant", "Hello")


def test_turns_of_a_string_are_one_user_turn() -> None:
    assert turns_of("Hi") == (HI,)


@pytest.mark.parametrize("prompt", ["", "  \n", []])
def test_turns_refuse_an_empty_prompt_by_name(prompt: str) -> None:
    with pytest.raises(UsageError, match="the prompt is empty"):
        turns_of(prompt)


def test_turns_refuse_an_empty_last_message() -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "user", "content": " "}]

    with pytest.raises(UsageError, match="message 2, the last, is empty"):
        turns_of(chat)


def test_turns_refuse_an_unknown_role() -> None:
    with pytest.raises(UsageError, match="message 1 has the role 'tool'"):
        turns_of([{"role": "tool", "content": "x"}])


def test_turns_refuse_content_that_is_no_text() -> None:
    with pytest.raises(UsageError, match="message 1 has content of type list, not text"):
        turns_of([{"role": "user", "content": ["x"]}])


@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [
        ([3], "message 1 is of type int, not a dict"),
        (["Hi"], "message 1 is of type str, not a dict"),
        (None, "the prompt is of type NoneType, not text or messages"),
        (b"Hi", "the prompt is of type bytes, not text or messages"),
        ({"role": "user"}, "the prompt is of type dict, not text or messages"),
    ],
)
def test_turns_refuse_what_are_no_messages(prompt: Any, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as caught:
        turns_of(prompt)

    assert "content" in caught.value.hint


def test_turns_replace_a_lone_surrogate_but_keep_a_pair() -> None:
    assert turns_of("\ud83e\udd99 \ud83e") == (Turn("user", "🦙 \ufffd"),)


def test_folded_puts_the_system_text_before_the_first_user_text() -> None:
    assert folded([SYSTEM, HI, HELLO]) == (Turn("user", "Be brief.\n\nHi"), HELLO)


def test_folded_keeps_a_late_system_text_for_the_next_user_turn() -> None:
    assert folded([HI, SYSTEM, HELLO, HI]) == (HI, HELLO, Turn("user", "Be brief.\n\nHi"))


def test_folded_makes_a_user_turn_when_none_follows() -> None:
    assert folded([HI, SYSTEM]) == (HI, Turn("user", "Be brief."))


def test_led_keeps_one_system_turn_at_the_beginning() -> None:
    polite = Turn("system", "Be polite.")

    assert led([SYSTEM, polite, HI, HELLO, polite, HI]) == (
        Turn("system", "Be brief.\n\nBe polite."),
        HI,
        HELLO,
        Turn("user", "Be polite.\n\nHi"),
    )


def test_alternated_merges_neighbours_of_one_role() -> None:
    turns = [HI, Turn("user", "there"), HELLO, Turn("assistant", "you", "hm")]

    assert alternated(turns) == (
        Turn("user", "Hi\n\nthere"),
        Turn("assistant", "Hello\n\nyou", "hm"),
    )
