"""What does not happen before the first frame."""

import gc
import json
import subprocess
import sys
from typing import ClassVar

from edgespec.tui.start import hurried, settle
from textual._context import active_app

from edgespec.chat.controller import ChatController
from edgespec.chat.workers import OpenModel
from tests.scripted import ScriptedLM
from tests.tui.stage import played, staged

LATER = (
    "numpy",
    "llama_cpp",
    "huggingface_hub",
    "psutil",
    "pygments",
    "markdown_it",
    "zipfile",
    "edgespec.api.model",
    "edgespec.chat.commands",
    "edgespec.explanation",
    "edgespec.plan.types",
    "edgespec.store.hub",
    "edgespec.tui.help",
    "edgespec.tui.models",
    "edgespec.tui.turn",
)
_PAINT = """
import asyncio, json, sys
from edgespec.cli import chat, pick, shelf
from edgespec.history import keeper
from edgespec.tui.app import EdgespecApp
from edgespec.chat.controller import ChatController

seen = []

class Chat(ChatController):
    def load(self, open_model):  # with the first frame on the screen
        seen.extend(sorted(sys.modules))

async def paint():
    app = EdgespecApp(Chat(), open_model=print)
    async with app.run_test(size=(120, 34)) as pilot:
        while not seen:
            await pilot.pause(0.01)

asyncio.run(paint())
print(json.dumps(seen))
"""


def test_first_paint_imports_nothing_that_is_needed_later() -> None:
    child = subprocess.run(
        [sys.executable, "-c", _PAINT], capture_output=True, text=True, check=True
    )

    imported = set(json.loads(child.stdout))

    assert not imported.intersection(LATER)
    assert "edgespec.tui.screen" in imported


class Watched(ChatController):
    """Notes how wide the prompt is when loading begins."""

    widths: ClassVar[list[int]] = []

    def load(self, open_model: OpenModel) -> None:
        self.widths.append(active_app.get().screen.query_one("#prompt").size.width)
        super().load(open_model)


def test_first_model_is_loaded_once_the_prompt_is_shown() -> None:
    async def test() -> None:
        chat = Watched()
        async with staged(chat=chat, open_model=lambda tell: ScriptedLM()) as stage:
            await stage.until(lambda: chat.state == "READY")

    played(test)

    assert Watched.widths == [76]


def test_chat_is_the_only_screen_that_is_laid_out() -> None:
    async def test() -> None:
        async with staged(ScriptedLM()) as stage:
            assert stage.app.screen_stack == [stage.app.screen]

    played(test)


def test_hurried_start_collects_nothing_until_it_settles() -> None:
    with hurried():
        before = gc.isenabled()
        settle()
        after, kept = gc.isenabled(), gc.get_freeze_count()

    assert (before, after) == (False, True)
    assert kept > 0
    assert gc.get_freeze_count() == 0


def test_settling_changes_nothing_where_nobody_hurried() -> None:
    settle()

    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
