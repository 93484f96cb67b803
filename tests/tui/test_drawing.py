"""How often and how much is drawn while an answer grows, at every size."""

import time
from typing import Any

import pytest
from edgespec.tui import colours
from edgespec.tui.document import Document
from edgespec.tui.pace import MIN_INTERVAL_S
from edgespec.tui.turn import TurnView
from textual.content import Content
from textual.strip import Strip

from tests.scripted import Script, ScriptedLM
from tests.tui.stage import played, staged


def test_long_line_without_spaces_is_whole() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["x" * 10_000]), size=(200, 80)) as stage:
            await stage.say("go")
            await stage.until(lambda: stage.text().count("x") >= 10_000)

    played(scenario)


@pytest.fixture
def highlights(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lines of each text that Pygments was given."""
    seen: list[int] = []
    real = colours.highlight

    def counted(code: str, **how: Any) -> Content:
        seen.append(code.count("\n") + 1)
        drawn: Content = real(code, **how)
        return drawn

    monkeypatch.setattr(colours, "highlight", counted)
    return seen


def test_growing_fence_is_highlighted_once_when_it_is_complete(highlights: list[int]) -> None:
    code = "".join(f"value_{i} = {i}\n" for i in range(150))
    model = ScriptedLM([Script(f"```python\n{code}```\n\ndone", pace_s=0.001)])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("code")
            await stage.until_ended()
            await stage.until(lambda: bool(highlights) and not stage.views[0]._is_colouring)

            assert stage.views[0].document.source == model.complete("again").text

    played(scenario)

    assert highlights == [150]


def test_drawing_lays_the_screen_out_once_and_renders_new_lines_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    real = TurnView._strip

    def counted(self: TurnView, y: int, *how: Any) -> Strip:
        made.append(y)
        drawn: Strip = real(self, y, *how)
        return drawn

    monkeypatch.setattr(TurnView, "_strip", counted)
    n_layouts = 0

    def laid_out(screen: object) -> None:
        nonlocal n_layouts
        n_layouts += 1

    async def scenario() -> None:
        model = ScriptedLM([Script("```python\n" + "x = 1\n" * 500, hold_at=700)])
        async with staged(model) as stage:
            await stage.say("code")
            await stage.until(model.is_holding.is_set)
            view = stage.views[0]
            await stage.until(lambda: len(view.document.source) == len(view.turn.text))
            await stage.pilot.pause(0.3)
            stage.app.screen.screen_layout_refresh_signal.subscribe(view, laid_out)
            made.clear()

            view.turn.text += "y = 2\n" * 3
            view.sync()
            await stage.pilot.pause(0.1)

            assert "y = 2" in stage.text()
            model.release()

    played(scenario)

    assert n_layouts == 1
    assert len(set(made)) <= 3 + 4


def test_many_pieces_are_drawn_in_few_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    n_feeds = 0
    real = Document.feed

    def counted(self: Document, raw: str) -> None:
        nonlocal n_feeds
        n_feeds += 1
        real(self, raw)

    monkeypatch.setattr(Document, "feed", counted)
    model = ScriptedLM(["word " * 4000])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("long")
            await stage.until_ended()

    began_s = time.monotonic()
    played(scenario)
    took_s = time.monotonic() - began_s

    assert model.streams[0].stats.passes > 1000
    assert n_feeds <= took_s / MIN_INTERVAL_S + 1


def test_resizing_while_streaming_loses_nothing() -> None:
    text = "漢字 and emoji 👩‍👩‍👧‍👦 " * 40
    model = ScriptedLM([Script(text, pace_s=0.002)])

    async def scenario() -> None:
        async with staged(model, size=(120, 34)) as stage:
            await stage.say("go")
            for size in ((60, 18), (1, 1), (20, 5), (300, 80), (80, 24)):
                await stage.pilot.resize_terminal(*size)
                await stage.pilot.pause(0.02)
            await stage.until_ended()

            assert stage.chat.turns[0].text == text
            assert stage.views[0].document.source == text
            assert all(Content(row).cell_length <= 80 for row in stage.rows())

    played(scenario)


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (39, 24), (80, 9)])
def test_answer_goes_on_in_a_terminal_that_is_too_small(size: tuple[int, int]) -> None:
    model = ScriptedLM([Script("one two three four five six", hold_at=4)])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("count")
            await stage.until_shown("one two three four")
            await stage.pilot.resize_terminal(*size)
            model.release()
            await stage.until_ended()
            small = stage.text()
            await stage.pilot.resize_terminal(80, 24)
            await stage.until_shown("one two three four five six")
            await stage.pilot.press("h", "i")

            assert "READY" not in small
            assert stage.prompt.text == "hi"

    played(scenario)
