from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.chat.controller import ChatController
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from edgespec.text.clean import clean
from tests.scripted import DESCRIPTION, ScriptedLM
from tests.tui.rendered import words
from tests.tui.stage import Stage, played, staged

MARKUP = "[/] [red] [bold [link=x] [x](y) [/INST] ![i](http://e.org/i.png) <http://a.b>"


GENERICS = "Vec<u8>, List<String> and <div>x</div> &lt; &#x202E; <think>"


LATEX = r"\(x_1\) and \[y\] and C:\temp\new"


async def shown_answer(stage: Stage) -> str:
    await stage.say("go")
    await stage.until_ended()
    return words(stage.text())


@pytest.mark.parametrize("hostile", [MARKUP, GENERICS, LATEX])
def test_hostile_text_is_shown_as_it_was_written(hostile: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([hostile])) as stage:
            assert words(hostile) in await shown_answer(stage)

    played(scenario)


@pytest.mark.parametrize(
    "hostile",
    [
        "a\x1b]0;pwn\x07b\x1b[31mred",
        "\x1b]52;c;cHduZWQ=\x07",
        "one\u2028two\u2029three\x0bfour\x0cfive\rsix\r\nseven",
        "admin\u202etxt.exe",
        "👩‍👩‍👧‍👦 e\u0301 שלום",
        "tab\there",
    ],
)
def test_control_characters_never_reach_the_terminal(hostile: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([hostile])) as stage:
            text = await shown_answer(stage)

            assert words(clean(hostile)) in text
            assert not [c for c in text if ord(c) < 32 or 0x7F <= ord(c) < 0xA0]

    played(scenario)


def test_hostile_message_of_a_person_is_shown_as_it_was_written() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await stage.say("[/foo] [bold <b>")
            await stage.until_shown("you ▸ [/foo] [bold <b>")

    played(scenario)


def test_line_breaks_are_the_sources_own() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["first line\nsecond line"])) as stage:
            await stage.say("poem")
            await stage.until_ended()

            assert " first line\n second line\n" in stage.text()

    played(scenario)


def test_markup_in_names_and_notes_is_text() -> None:
    hostile = replace(
        DESCRIPTION, target="[red]x[/] [/foo]", drafter_note="[bold no [/] way\x1b[2J"
    )

    async def scenario() -> None:
        async with staged(ScriptedLM(description=hostile), size=(100, 24)) as stage:
            await stage.until_shown("[red]x[/] [/foo]")
            await stage.say("/draft")
            await stage.until_shown("[bold no [/] way[2J")

    played(scenario)


def test_markup_in_titles_of_saved_chats_is_text(tmp_path: Path) -> None:
    chat = ChatController(
        journal=Keeper(tmp_path / "history.db"), library=Library(tmp_path / "history.db")
    )
    chat.attach(ScriptedLM(["[/] [red] answer"]))

    async def scenario() -> None:
        async with staged(chat=chat, size=(100, 24)) as stage:
            await stage.say("[/INST] [bold")
            await stage.until_ended()
            await stage.pilot.press("f3")
            await stage.until_shown("1 turn")

            await stage.until_shown("[/] [red] answer")  # the preview

            assert "[/INST] [bold" in stage.text()

    played(scenario)
