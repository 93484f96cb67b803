"""A chat on a screen without a terminal: start it, wait for it, read it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgespec.tui.app import EdgespecApp
from edgespec.tui.prompt import Prompt
from edgespec.tui.turn import TurnView
from textual.pilot import Pilot

from edgespec.chat.controller import ChatController
from tests.scripted import ScriptedLM

GOLDEN = Path(__file__).with_name("golden")
PATIENCE_S = 30.0


@dataclass
class Stage:
    """The running app."""

    app: EdgespecApp
    pilot: Pilot[int]
    chat: ChatController

    @property
    def prompt(self) -> Prompt:
        return self.app.screen_stack[0].query_one(Prompt)

    @property
    def views(self) -> list[TurnView]:
        return list(self.app.screen_stack[0].query(TurnView))

    def rows(self) -> list[str]:
        """What the terminal would show."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    def text(self) -> str:
        return "\n".join(self.rows())

    def dialog(self) -> str:
        """The rows of the box, without what shines through around it."""
        rows = self.rows()
        first = next(i for i, row in enumerate(rows) if row.startswith("╭"))
        last = next(i for i, row in enumerate(rows) if row.startswith("╰"))
        return "\n".join(rows[first : last + 1])

    async def until(self, is_reached: Callable[[], bool]) -> None:
        """Wait for the app to get there; fails with what it shows instead."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while not is_reached():
            assert asyncio.get_running_loop().time() < deadline, self.text()
            await self.pilot.pause(0.01)

    async def until_shown(self, words: str) -> None:
        await self.until(lambda: words in self.text())

    async def say(self, text: str) -> None:
        """Write a message and press Enter; returns when the screen has heard of it."""
        self.prompt.put(text)
        await self.pilot.press("enter")
        for _ in ("prompt", "column", "screen"):  # one by one they pass it on
            await self.pilot.pause()

    async def until_ended(self) -> None:
        """Wait until the last turn is drawn for good."""
        await self.until(
            lambda: (
                self.app.screen_stack[0].feed.is_drawn
                and not self.chat.is_busy
                and self.prompt.border_subtitle in ("READY", "ERROR")
            )
        )
        await self.pilot.pause()


@asynccontextmanager
async def staged(
    model: ScriptedLM | None = None,
    *,
    size: tuple[int, int] = (80, 24),
    chat: ChatController | None = None,
    **app: Any,
) -> AsyncIterator[Stage]:
    """A chat with `model`; without one nothing is loaded yet."""
    chat = chat or ChatController()
    if model is not None:
        chat.attach(model)
    running = EdgespecApp(chat, **app)
    try:
        async with running.run_test(size=size, notifications=True) as pilot:
            stage = Stage(running, pilot, chat)
            await stage.until(lambda: running.is_open)
            yield stage
    finally:
        chat.close()


def played(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run one test's coroutine."""
    asyncio.run(test())


def assert_golden(name: str, text: str) -> None:
    """`text` is what the golden file holds; GOLDEN=write renews the file."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")
