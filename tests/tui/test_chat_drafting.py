"""Drafting as the chat's screen shows and switches it."""

from dataclasses import replace

from tests.scripted import DESCRIPTION, Script, ScriptedLM
from tests.tui.stage import played, staged


def test_f5_forces_the_draft_then_switches_it_off() -> None:
    model = ScriptedLM(["An answer."])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.pilot.press("f5")
            await stage.until_shown("draft ON model (forced)")
            await stage.pilot.press("f5")
            await stage.until_shown("draft OFF (you)")
            await stage.say("plain please")
            await stage.until_ended()

            assert "no drafts" not in stage.text()
            assert "accept" not in stage.text()

    played(scenario)

    assert model.requests[0].options.drafter == "none"


def test_f5_forces_drafts_in_the_answer_under_way() -> None:
    model = ScriptedLM([Script("one two three four five six seven eight", hold_at=4)])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("go")
            await stage.until_shown("one")
            await stage.pilot.press("f5")
            await stage.until_shown("draft ON model (forced)")
            model.release()
            await stage.until_ended()

    played(scenario)

    assert model.streams[0].modes == ["auto", "on"]


def test_note_about_the_draft_leaves_the_last_round_its_place() -> None:
    noted = replace(DESCRIPTION, drafter_note="the draft model is left out: it costs too much")

    async def scenario() -> None:
        async with staged(ScriptedLM(["An answer."], description=noted)) as stage:
            await stage.say("go")
            await stage.until_ended()
            strip = next(row for row in stage.rows() if row.startswith(" draft "))

            assert "left out" not in strip
            assert "✓" in strip or "✗" in strip

    played(scenario)


def test_side_panel_keeps_the_note_about_the_draft() -> None:
    noted = replace(DESCRIPTION, drafter_note="the draft model is left out")

    async def scenario() -> None:
        async with staged(ScriptedLM(description=noted), size=(120, 34)) as stage:
            await stage.pilot.press("ctrl+n")
            await stage.until_shown("note: the draft model is left out")

    played(scenario)


def test_drafter_that_is_not_in_force_says_why() -> None:
    lonely = replace(DESCRIPTION, draft=None, drafter="none", drafter_note="vocabularies differ")

    async def scenario() -> None:
        async with staged(ScriptedLM(description=lonely)) as stage:
            await stage.until_shown("draft NONE (vocabularies differ)")

    played(scenario)
