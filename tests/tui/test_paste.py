"""What is pasted: also where the terminal does not mark it, or something else has the focus."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from edgespec.tui.terminal import PasteParser
from textual.events import Key, Paste

from tests.scripted import DESCRIPTION, Script, ScriptedLM
from tests.tui.stage import played, staged

LINES = "def f(x):\r\n\treturn x\r\n"
AT_ONCE_S = 0.05


class Typist:
    """What the driver's input thread does, at times that the test says."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.parser = PasteParser(clock=lambda: self.now_s)

    def wait(self, seconds: float) -> None:
        """The driver looks ten times a second."""
        for _ in range(round(10 * seconds)):
            self.now_s += 0.1
            list(self.parser.tick())

    def read(self, *pieces: str, after_s: float = AT_ONCE_S) -> list[str]:
        """The keys and pastes of what is read, piece by piece."""
        told = []
        for piece in pieces:
            self.now_s += after_s
            told += [
                f"paste:{event.text}" if isinstance(event, Paste) else event.key
                for event in [*self.parser.feed(piece), *self.parser.tick()]
                if isinstance(event, Key | Paste)
            ]
        return told


@pytest.fixture
def typist() -> Typist:
    started = Typist()
    started.wait(1.0)
    return started


def test_lines_that_come_at_once_are_one_text(typist: Typist) -> None:
    assert typist.read(LINES) == [f"paste:{LINES}"]


def test_long_paste_is_text_to_its_end(typist: Typist) -> None:
    assert typist.read("one\rtwo\rthr", "ee\rfour", "\tfive\r") == [
        "paste:one\rtwo\rthr",
        "paste:ee\rfour",
        "paste:\tfive\r",
    ]


@pytest.mark.parametrize(
    ("pieces", "keys"),
    [
        (["hello\r"], [*"hello", "enter"]),
        (["h", "i", "\r", "y", "o"], ["h", "i", "enter", "y", "o"]),
        (["ok\rgo"], ["o", "k", "enter", "g", "o"]),
        (["\x1b[A\r/regen\r"], ["up", "enter", "slash", *"regen", "enter"]),
        (["first\r\x11 last"], [*"first", "enter", "ctrl+q", "space", *"last"]),
    ],
)
def test_keys_are_keys_however_fast(
    typist: Typist, pieces: Sequence[str], keys: Sequence[str]
) -> None:
    assert typist.read(*pieces) == keys


def test_enter_behind_a_paste_sends_it(typist: Typist) -> None:
    assert typist.read(LINES, "\r") == [f"paste:{LINES}", "enter"]


def test_lines_that_were_typed_while_nobody_looked_are_keys(typist: Typist) -> None:
    told = typist.read("hello\rand more\r", after_s=3.0)

    assert told.count("enter") == 2


def test_lines_that_were_typed_ahead_are_keys() -> None:
    assert "enter" in Typist().read("hello\rand more")


def test_lines_that_come_after_an_arrow_key_are_one_text(typist: Typist) -> None:
    typist.read("\x1b[A")
    typist.wait(1.0)

    assert typist.read(LINES) == [f"paste:{LINES}"]


def test_lines_behind_half_a_key_complete_it(typist: Typist) -> None:
    assert typist.read("\x1b[", "A long line\rand more", after_s=0.01)[:2] == ["up", "space"]


def test_unmarked_paste_during_an_answer_is_in_the_prompt_with_its_lines() -> None:
    async def scenario() -> None:
        model = ScriptedLM([Script("one two three four five six", hold_at=4)])
        async with staged(model) as stage:
            await stage.say("go")
            await stage.until(model.is_holding.is_set)
            typist = Typist()
            typist.wait(1.0)
            typist.now_s += AT_ONCE_S
            for event in typist.parser.feed("if x:\r\n\ty = 1\r\rdone"):
                stage.app.post_message(event)
            await stage.until(lambda: bool(stage.prompt.text))
            model.gate.set()

            assert stage.prompt.text == "if x:\n\ty = 1\n\ndone"
            assert len(stage.chat.turns) == 1

    played(scenario)


def test_paste_over_a_turn_goes_to_the_prompt() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["An answer."])) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.press("tab")
            stage.app.post_message(Paste("delete\nme"))
            await stage.until(lambda: stage.prompt.text == "delete\nme")

            assert stage.app.focused is stage.prompt

    played(scenario)


def test_paste_while_the_full_context_is_asked_about_goes_to_the_prompt() -> None:
    small = replace(DESCRIPTION, n_ctx=60)

    async def scenario() -> None:
        async with staged(ScriptedLM(["word " * 30], description=small)) as stage:
            await stage.say("first " * 10)
            await stage.until_ended()
            await stage.say("second " * 10)
            await stage.until_shown("Context full")
            stage.app.post_message(Paste("two\nlines"))
            await stage.until(lambda: stage.prompt.text == "two\nlines")

    played(scenario)
