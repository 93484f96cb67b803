"""A pasted text is text: no key of it is pressed, no control character reaches the terminal."""

import pytest
from edgespec.tui.terminal import PasteParser
from textual.events import Key, Paste
from textual.widgets import Input

from tests.scripted import ScriptedLM
from tests.tui.stage import played, staged

HOSTILE = "a\x1b]52;c;cHduZWQ=\x07\rb\x1b[31mred\x1b[<0;1;1Mc\x1b\x11\x1b\x1b\x07d"
SHOWN = "a]52;c;cHduZWQ=\x07\rb[31mred[<0;1;1Mc\x11\x07d"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_escape_sequences_in_a_paste_press_no_key(size: int) -> None:
    sent = f"x\x1b[200~{HOSTILE}\x1b[201~y\x1b[200~z\x1b[201~"
    parser = PasteParser()

    events = [
        event
        for at in range(0, len(sent), size)
        for event in parser.feed(sent[at : at + size])
        if isinstance(event, Key | Paste)
    ]

    told = [event.text if isinstance(event, Paste) else event.key for event in events]
    assert told == ["x", SHOWN, "y", "z"]


def test_keys_are_read_as_before() -> None:
    parser = PasteParser()

    keys = [e.key for e in parser.feed("\x1b[A\x1bOQ\r\x11") if isinstance(e, Key)]

    assert keys == ["up", "f2", "enter", "ctrl+q"]


@pytest.mark.parametrize(
    "raw", ["a\x1b]52;c;cHduZWQ=\x07b", "a\x9b2Jb", "a\u202etxt.exe", "a\x07\x00b\x0e", "a\u2066b"]
)
def test_prompt_shows_no_control_character_and_keeps_the_text(raw: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            stage.prompt.put(raw)
            await stage.pilot.pause(0.05)

            shown = stage.text()
            forbidden = [c for c in shown if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)]
            assert not forbidden
            assert not set(shown) & set("\u202e\u2066")
            assert stage.prompt.text == raw

    played(scenario)


def test_system_prompt_shows_no_control_character() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            stage.chat.chats.set_system("be \x1b]0;x\x07brief")
            await stage.pilot.press("f4")
            await stage.until_shown("top_k")

            assert "\x1b" not in stage.text()
            assert "brief" in stage.text()

    played(scenario)


@pytest.mark.parametrize("key", ["f3", "f4"])
def test_field_of_a_dialog_shows_no_control_character_and_keeps_the_text(key: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await stage.pilot.press(key)
            await stage.until(lambda: bool(stage.app.screen.query(Input)))
            field = stage.app.screen.query(Input).first()
            field.value = "a\x9b2Jb\u202ec"
            await stage.until_shown("a\ufffd2Jb\ufffdc")

            assert not set(stage.text()) & set("\x9b\u202e")
            assert field.value == "a\x9b2Jb\u202ec"

    played(scenario)
