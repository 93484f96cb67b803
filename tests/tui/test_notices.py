"""What is told for a moment: never a pile of it, and nothing of it is lost."""

import logging

from edgespec.tui.recent import Recent
from textual.widgets._toast import Toast, ToastHolder

from tests.scripted import ScriptedLM
from tests.tui.stage import Stage, played, staged


def toasts(stage: Stage) -> list[str]:
    return [str(toast.render()) for toast in stage.app.screen.query(Toast)]


def test_newest_notice_takes_the_place_of_the_one_before() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await stage.pilot.press("f5", "f5", "f5", "f9", "ctrl+c")
            await stage.until_shown("Ctrl+C again quits")
            await stage.until(lambda: len(toasts(stage)) == 1)

            assert toasts(stage) == ["Ctrl+C again quits"]
            assert len(stage.app.screen.query(ToastHolder)) == 1

    played(scenario)


def test_error_stays_beside_the_notices_after_it() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            for words in ("one", "two"):
                stage.app.notify(f"error {words}", severity="error")
            for words in ("one", "two", "two"):
                stage.app.notify(f"notice {words}")
            await stage.until(lambda: toasts(stage) == ["error two", "notice two"])

    played(scenario)


def test_notice_on_a_dialog_does_not_come_back_with_the_chat() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            stage.app.notify("before")
            await stage.until_shown("before")
            await stage.pilot.press("f1")
            stage.app.notify("after")
            await stage.until(lambda: toasts(stage) == ["after"])
            await stage.pilot.press("escape")
            await stage.until(lambda: toasts(stage) == ["after"])

    played(scenario)


def test_log_screen_has_every_notice() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await stage.pilot.press("f9", "ctrl+c")
            await stage.until_shown("Ctrl+C again quits")
            await stage.pilot.press("f8")
            await stage.until_shown("s saves it")

            first, second = (row for row in stage.rows() if " notice  " in row)
            assert "no answer yet" in first
            assert "Ctrl+C again quits" in second

    played(scenario)


def test_file_and_report_get_no_notice_that_may_quote_the_conversation() -> None:
    recent = Recent()
    recent.emit(logging.makeLogRecord({"msg": "a fault", "name": "edgespec", "levelname": "ERROR"}))

    recent.told('removed "a secret\x1b"; /undo brings it back')

    assert [line[9:] for line in recent.logged] == ["ERROR   edgespec: a fault"]
    assert recent.lines[-1][9:] == 'notice  removed "a secret"; /undo brings it back'
