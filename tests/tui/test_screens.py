"""The screens over the chat: chats, parameters, log, why, the full context."""

import logging
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from edgespec.tui import log
from textual.widgets import DataTable, Input, TextArea

from edgespec.chat.controller import ChatController
from edgespec.events import TokenText
from edgespec.explanation import Arm, Bound, Decision, Explanation, PassCost
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from tests.scripted import DESCRIPTION, ScriptedLM
from tests.tui.stage import played, staged


def saved_chat(folder: Path, *prompts: str) -> ChatController:
    path = folder / "history.db"
    return ChatController(journal=Keeper(path), library=Library(path))


def test_chats_are_found_by_a_word_and_continued(tmp_path: Path) -> None:
    async def scenario() -> None:
        chat = saved_chat(tmp_path)
        chat.attach(ScriptedLM(["Zebras have stripes.", "Cats purr."]))
        async with staged(chat=chat) as stage:
            await stage.say("Tell me about zebras")
            await stage.until_ended()
            await stage.pilot.press("ctrl+n")
            await stage.say("Tell me about cats")
            await stage.until_ended()
            await stage.pilot.press("f3")
            await stage.until(lambda: bool(stage.app.screen.query("#words")))
            stage.app.screen.query_one("#words", Input).value = "stripes"
            await stage.until_shown("the answer: Zebras have stripes.")
            await stage.pilot.press("enter")
            await stage.until_shown("you ▸ Tell me about zebras")

            assert "Zebras have stripes." in stage.text()
            assert "Cats purr." not in stage.text()

    played(scenario)


def test_found_turn_is_where_the_chat_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "TURNS_AT_ONCE", 2)

    async def scenario() -> None:
        chat = saved_chat(tmp_path)
        chat.attach(ScriptedLM(["Zebras have stripes.", "Cats purr.\n\n" * 30]))
        async with staged(chat=chat) as stage:
            for message in ("Tell me about zebras", *["And cats?"] * 4):
                await stage.say(message)
                await stage.until_ended()
            await stage.pilot.press("ctrl+n", "f3")
            await stage.until(lambda: bool(stage.app.screen.query("#words")))
            stage.app.screen.query_one("#words", Input).value = "stripes"
            await stage.until_shown("the answer: Zebras have stripes.")
            await stage.pilot.press("enter")
            await stage.until(lambda: len(stage.views) >= 5)
            await stage.until_shown("you ▸ Tell me about zebras")

            assert stage.app.focused is stage.views[0]

    played(scenario)


def test_chat_that_is_deleted_comes_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        chat = saved_chat(tmp_path)
        chat.attach(ScriptedLM(["An answer."]))
        async with staged(chat=chat) as stage:
            await stage.say("keep me")
            await stage.until_ended()
            await stage.pilot.press("ctrl+n", "f3")
            await stage.until_shown("1 turn")
            await stage.pilot.press("ctrl+d")
            await stage.until_shown("no chat is saved yet")
            await stage.pilot.press("ctrl+u")
            await stage.until_shown("1 turn")

    played(scenario)


def test_found_word_is_in_sight_and_nothing_scrolls_sideways(tmp_path: Path) -> None:
    async def scenario() -> None:
        chat = saved_chat(tmp_path)
        chat.attach(ScriptedLM(["word " * 12 + "zebra " + "word " * 30]))
        async with staged(chat=chat, size=(60, 18)) as stage:
            await stage.say("a question whose first words fill more than its column")
            await stage.until_ended()
            await stage.pilot.press("f3")
            await stage.until(lambda: bool(stage.app.screen.query("#words")))
            stage.app.screen.query_one("#words", Input).value = "zebra"
            await stage.until_shown("the answer:")

            table = stage.app.screen.query_one("#found", DataTable)
            found = [row for row in stage.rows() if row.startswith("│") and "a question" in row]
            assert "zebra" in found[0]
            assert table.virtual_size.width <= table.size.width

    played(scenario)


def test_history_that_cannot_be_read_is_not_said_to_be_empty(tmp_path: Path) -> None:
    saved_chat(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "history.db")) as connection:
        connection.execute("ALTER TABLE turn RENAME COLUMN text TO said")
        connection.execute("PRAGMA user_version = 99")

    async def scenario() -> None:
        chat = ChatController(library=Library(tmp_path / "history.db"))
        async with staged(ScriptedLM(), chat=chat) as stage:
            await stage.pilot.press("f3")
            await stage.until_shown("was written by a newer edgespec")

            assert "no chat is saved yet" not in stage.text()

    played(scenario)


def test_chosen_chat_is_exported_once_and_never_over_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def scenario() -> None:
        chat = saved_chat(tmp_path)
        chat.attach(ScriptedLM(["An answer."]))
        async with staged(chat=chat, size=(120, 34)) as stage:
            await stage.say("keep me")
            await stage.until_ended()
            await stage.pilot.press("ctrl+n", "f3")
            await stage.until_shown("1 turn")
            await stage.pilot.press("ctrl+e")
            await stage.until_shown("written:")
            await stage.pilot.press("ctrl+e")
            await stage.until_shown("is there already")

    played(scenario)

    (path,) = tmp_path.glob("edgespec-*.md")
    assert "keep me\n\n## Answer\n\nAn answer." in path.read_text(encoding="utf-8")


def test_system_prompt_of_the_parameters_is_saved_with_the_chat(tmp_path: Path) -> None:
    async def scenario() -> None:
        chat = saved_chat(tmp_path)
        chat.attach(ScriptedLM(["One."]))
        async with staged(chat=chat, size=(80, 30)) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.press("f4")
            await stage.until(lambda: bool(stage.app.screen.query("#system")))
            stage.app.screen.query_one("#system", TextArea).text = "Be brief."
            await stage.pilot.press("ctrl+s")
            await stage.until_shown("system prompt changed")

    played(scenario)

    assert Library(tmp_path / "history.db").last().chat.system == "Be brief."


def test_parameters_hold_for_the_next_answer() -> None:
    model = ScriptedLM(["One.", "Two."])

    async def scenario() -> None:
        async with staged(model, size=(80, 30)) as stage:
            await stage.pilot.press("f4")
            await stage.until(lambda: bool(stage.app.screen.query("#temperature")))
            stage.app.screen.query_one("#temperature", Input).value = "0.7"
            stage.app.screen.query_one("#system", TextArea).text = "Be brief."
            await stage.pilot.press("ctrl+s")
            await stage.until_shown("temperature = 0.7")
            await stage.say("go")
            await stage.until_ended()

    played(scenario)

    assert model.requests[0].options.sampling.temperature == 0.7
    assert model.requests[0].messages[0] == {"role": "system", "content": "Be brief."}


def test_parameter_without_a_meaning_is_refused_and_nothing_changes() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), size=(80, 30)) as stage:
            await stage.pilot.press("f4")
            await stage.until(lambda: bool(stage.app.screen.query("#top_p")))
            stage.app.screen.query_one("#top_p", Input).value = "7"
            await stage.pilot.press("ctrl+s")
            await stage.until_shown("top_p is 7.0, but must be above 0 and at most 1")
            await stage.pilot.press("escape")

            assert stage.chat.options.sampling.top_p == 1.0

    played(scenario)


def test_log_shows_records_as_plain_text() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            logging.getLogger("edgespec.engine").warning("a [red]strange[/] thing\x1b[2J")
            await stage.pilot.press("f8")

            await stage.until_shown("a [red]strange[/] thing[2J")

    played(scenario)


def explanation() -> Explanation:
    decision = Decision(
        context=10, drafter="suffix", k=7, reason="gain", bucket="match 6-8", expected_tokens=5.5,
        expected_s=0.1, expected_plain_s=0.04, rate=20.0, drafted=7, accepted=6, tokens=7,
        took_s=0.11, ledger_s=-0.4,
    )  # fmt: skip
    arm = Arm("suffix", 3, 21, 15, 18, 0.3, ())
    return Explanation(
        drafter="auto", draft_len=None, arms=(arm,), decisions=(decision,),
        costs=(PassCost(8, 0.1, 0.11),), draft_token_s=None, draft_read_s=None, steps=5, tokens=20,
        took_s=0.5, plain_s=1.0, bound=Bound(0.02, 0.1, -0.4), reasons={"gain": 3, "plain": 2},
    )  # fmt: skip


def test_why_page_accounts_for_the_last_answer() -> None:
    async def scenario() -> None:
        async with staged(
            ScriptedLM(["one two three four five."], explanation=explanation()), size=(100, 60)
        ) as stage:
            await stage.say("go\nslowly")
            await stage.until_ended()
            await stage.pilot.press("f9")
            await stage.until_shown("What it bought")
            text = stage.text()

            assert "20 tokens in 5 steps, reckoned at 0.50 s" in text
            assert "plainly about 1.00 s: 2.00×" in text
            assert "tok/s by the clock" in text
            assert "go slowly" in text
            assert "3 x this draft promised more tokens for its time" in text
            assert "suffix      7    6" in text
            assert "8 rows    100.0 ms at load, 110.0 now" in text
            assert "accepted   ▓" in text

    played(scenario)


def test_full_context_asks_and_does_what_was_chosen() -> None:
    small = replace(DESCRIPTION, n_ctx=60)
    model = ScriptedLM(["word " * 30, "Short."], description=small)

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("first " * 10)
            await stage.until_ended()
            await stage.say("second " * 10)
            await stage.until_shown("Context full")
            assert "leave out" in stage.text()

            await stage.pilot.press(*"next", "enter")
            await stage.until_shown("Short.")
            assert stage.prompt.text == "next"
            await stage.until_ended()

            assert "[the model does not see this any more]" in stage.text()

    played(scenario)


def test_full_context_gives_the_message_back_on_escape() -> None:
    small = replace(DESCRIPTION, n_ctx=60)

    async def scenario() -> None:
        async with staged(ScriptedLM(["word " * 30], description=small)) as stage:
            await stage.say("first " * 10)
            await stage.until_ended()
            await stage.say("my second message " * 5)
            await stage.until_shown("Context full")
            await stage.pilot.press("escape")
            await stage.until(lambda: stage.prompt.text.startswith("my second message"))

    played(scenario)


def test_token_words_name_step_place_and_source() -> None:
    from edgespec.tui.provenance import about

    tokens = [
        TokenText(1, "a", "accepted"),
        TokenText(2, "b", "accepted", p_draft=0.854),
        TokenText(3, "c", "recovered"),
        TokenText(4, "d", "plain"),
    ]

    assert about(tokens, 0) == "step 1: draft token 1, accepted (id 1)"
    assert about(tokens, 1) == "step 1: draft token 2, accepted; the draft gave it 85% (id 2)"
    assert "after 2 accepted; the next was refused" in about(tokens, 2)
    assert about(tokens, 3).startswith("step 2: the target's own; nothing was drafted")
