"""Lines that are kept: what is drawn again while an answer grows, and when all of it is."""

import time
from collections import Counter

import pytest
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tests.scripted import Script, ScriptedLM
from tests.tui.stage import Stage, played, staged

LONG = "word " * 40


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many lines Textual makes, by the part they belong to."""
    counts: Counter[str] = Counter()
    real = Widget.render_lines

    def counted(self: Widget, crop: Region) -> list[Strip]:
        counts[self.id or type(self).__name__] += crop.height
        return real(self, crop)

    monkeypatch.setattr(Widget, "render_lines", counted)
    return counts


async def held(stage: Stage, model: ScriptedLM) -> None:
    """An answer that goes on, drawn as far as it is there."""
    await stage.say("go")
    await stage.until(model.is_holding.is_set)
    view = stage.views[0]
    await stage.until(lambda: len(view.document.source) == len(view.turn.text))
    await stage.pilot.pause(0.3)


def growing() -> ScriptedLM:
    return ScriptedLM([Script(LONG * 12, hold_at=200)])


def test_growing_answer_makes_no_line_of_what_lies_behind_it(made: Counter[str]) -> None:
    model = growing()

    async def scenario() -> None:
        async with staged(model, size=(120, 34)) as stage:
            await held(stage, model)
            made.clear()

            stage.views[0].turn.text += LONG
            stage.views[0].sync()
            await stage.pilot.pause(0.1)

            assert 0 < made["TurnView"] <= 6
            assert not any(made[part] for part in ("ChatScreen", "all", "body", "log"))
            model.release()

    played(scenario)


def test_bars_that_say_the_same_are_not_drawn_again(made: Counter[str]) -> None:
    model = growing()

    async def scenario() -> None:
        async with staged(model, size=(120, 34)) as stage:
            await held(stage, model)
            screen = stage.app.screen
            now_s = time.monotonic()
            screen.feed.pulse.clock = lambda: now_s  # else the curve of the last minute goes on
            screen.refresh_chrome()
            await stage.pilot.pause(0.1)
            made.clear()

            screen.refresh_chrome()
            await stage.pilot.pause(0.1)

            assert not made["header"] + made["strip"] + made["panel"]
            model.release()

    played(scenario)


def test_other_theme_draws_every_part_again(made: Counter[str]) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["Hello."]), size=(120, 34)) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.pause(0.1)
            made.clear()

            stage.app.theme = "textual-light"
            await stage.pilot.pause(0.2)

            parts = ("ChatScreen", "all", "body", "log", "header", "panel", "strip", "TurnView")
            assert all(made[part] for part in parts), made

    played(scenario)
