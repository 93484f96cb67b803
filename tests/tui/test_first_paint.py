"""What does not happen before the first frame, and that it is the whole chat."""

import gc
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from edgespec.tui.app import EdgespecApp
from edgespec.tui.start import hurried, settle
from textual._context import active_app
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.events import Key, Paste
from textual.widget import Widget

from edgespec.chat.controller import ChatController
from edgespec.chat.workers import OpenModel
from edgespec.errors import ModelNotFound
from tests.scripted import Script, ScriptedLM
from tests.tui.stage import Stage, played, staged

FRAME = {
    "edgespec",
    "edgespec.errors",
    "edgespec.paths",
    "edgespec.text",
    "edgespec.text.clean",
    "edgespec.tui",
    "edgespec.tui.actions",
    "edgespec.tui.app",
    "edgespec.tui.chrome",
    "edgespec.tui.completion",
    "edgespec.tui.glyphs",
    "edgespec.tui.guardian",
    "edgespec.tui.kept",
    "edgespec.tui.keys",
    "edgespec.tui.log",
    "edgespec.tui.pace",
    "edgespec.tui.prompt",
    "edgespec.tui.recent",
    "edgespec.tui.screen",
    "edgespec.tui.start",
    "edgespec.tui.terminal",
    "edgespec.tui.themes",
    "edgespec.tui.turn_actions",
}
"""All of ours that draws the first frame."""
LATER = {"numpy", "llama_cpp", "huggingface_hub", "psutil", "pygments", "markdown_it", "sqlite3"}
LATER |= {"tomllib", "zipfile", "hmac", "textual.widgets._data_table"}
_PAINT = """
import asyncio, json, sys
from edgespec.tui.app import EdgespecApp

def open_chat():  # with the first frame on the screen
    print(json.dumps(sorted(sys.modules)))
    app.exit()
    raise LookupError

app = EdgespecApp(open_chat=open_chat)

async def paint():
    async with app.run_test(size=(120, 34)) as pilot:
        await pilot.pause()

asyncio.run(paint())
"""


def test_first_paint_imports_nothing_that_is_needed_later() -> None:
    child = subprocess.run(
        [sys.executable, "-c", _PAINT], capture_output=True, text=True, check=True
    )

    imported = set(json.loads(child.stdout))

    assert {name for name in imported if name.startswith("edgespec")} <= FRAME
    assert not imported.intersection(LATER)


_HURRY = """
import sys
from edgespec.tui.start import hurried

with hurried():
    import edgespec.tui.app
has_tls = "_ssl" in sys.modules
import ssl
print(has_tls, type(ssl.create_default_context()).__name__)
"""


def test_hurried_start_leaves_tls_for_what_downloads() -> None:
    child = subprocess.run(
        [sys.executable, "-c", _HURRY], capture_output=True, text=True, check=True
    )

    assert child.stdout.split() == ["False", "SSLContext"]


class Late:
    """Opens a chat with the first frame on the screen, and notes what was there then."""

    def __init__(self, model: ScriptedLM) -> None:
        self.chat = ChatController()
        self.model = model
        self.app = EdgespecApp(open_chat=self)
        self.parts: dict[str | None, int] = {}
        """Widths by name."""
        self.focused: str | None = None
        self.sheets: set[str] = set()
        self.n_rules = 0

    def __call__(self) -> tuple[ChatController, OpenModel | None]:
        screen, stylesheet = self.app.screen, self.app.stylesheet
        self.parts = {part.id: part.size.width for part in screen.walk_children(Widget)}
        self.focused = screen.focused.id if screen.focused is not None else None
        self.sheets = {Path(path).name for path, _ in stylesheet.source}
        self.n_rules = len(stylesheet.rules)
        return self.chat, lambda tell: self.model


@asynccontextmanager
async def opened(late: Late, *, size: tuple[int, int] = (120, 34)) -> AsyncIterator[Stage]:
    """The chat once there is a model."""
    try:
        async with late.app.run_test(size=size, notifications=True) as pilot:
            stage = Stage(late.app, pilot, late.chat)
            await stage.until(lambda: late.chat.state == "READY")
            yield stage
    finally:
        late.chat.close()


PARTS = "too-small all header body log panel strip commands prompt keys textual-toastrack"


def test_first_frame_is_the_chat_at_its_full_size() -> None:
    late = Late(ScriptedLM())

    async def test() -> None:
        async with opened(late):
            pass

    played(test)

    assert late.parts.keys() == set(PARTS.split())
    assert late.focused == "prompt"
    assert (late.parts["header"], late.parts["panel"], late.parts["prompt"]) == (120, 34, 116)


def test_first_frame_knows_the_rules_of_the_chat_alone() -> None:
    late = Late(ScriptedLM())

    async def test() -> None:
        async with opened(late) as stage:
            assert stage.chat.state == "READY"
            assert "dialog.tcss" in {Path(path).name for path, _ in late.app.stylesheet.source}

    played(test)

    assert "app.tcss" in late.sheets
    assert "dialog.tcss" not in late.sheets
    assert late.n_rules < 90


class Typing(EdgespecApp):  # type: ignore[misc]
    """Somebody types before the first frame is drawn, and goes on."""

    def on_mount(self) -> None:
        self.post_message(Key("h", "h"))


def test_what_is_typed_before_there_is_a_chat_is_sent_in_order() -> None:
    late = Late(ScriptedLM([Script("Hello.")]))

    def open_chat() -> tuple[ChatController, OpenModel | None]:
        for key in (Key("e", "e"), Paste("llo"), Key("enter", "\r"), Key("x", "x")):
            late.app.post_message(key)
        return late()

    late.app = Typing(open_chat=open_chat)

    async def test() -> None:
        async with opened(late) as stage:
            await stage.until(lambda: bool(late.chat.turns and late.chat.turns[0].text))
            await stage.until(lambda: stage.prompt.text == "x")

    played(test)

    assert [turn.prompt for turn in late.chat.turns] == ["hello"]


def test_message_typed_before_the_terminal_was_ours_is_sent() -> None:
    late = Late(ScriptedLM([Script("Hello.")]))

    def open_chat() -> tuple[ChatController, OpenModel | None]:
        for character in "ello\nyou\n":  # what a terminal makes of Enter until then
            key = "ctrl+j" if character == "\n" else character
            late.app.post_message(Key(key, character))
        return late()

    late.app = Typing(open_chat=open_chat)

    async def test() -> None:
        async with opened(late):
            pass

    played(test)

    assert [turn.prompt for turn in late.chat.turns] == ["hello\nyou"]


def test_app_leaves_and_tells_why_when_no_chat_can_be_opened() -> None:
    def refuse() -> tuple[ChatController, OpenModel | None]:
        raise ModelNotFound("there is no such model")

    async def test() -> None:
        app = EdgespecApp(open_chat=refuse)
        async with app.run_test() as pilot:
            await pilot.pause()
        assert isinstance(app.refusal, ModelNotFound)
        assert app.chat is None

    played(test)


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


def test_parts_get_their_styles_once_before_the_first_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n_styled: Counter[str | None] = Counter()
    real = Stylesheet.apply

    def counted(self: Stylesheet, node: DOMNode, **how: Any) -> None:
        n_styled[node.id] += 1
        real(self, node, **how)

    monkeypatch.setattr(Stylesheet, "apply", counted)
    late = Late(ScriptedLM())
    seen: Counter[str | None] = Counter()

    def open_chat() -> tuple[ChatController, OpenModel | None]:
        seen.update(n_styled)
        return late()

    async def test() -> None:
        late.app = EdgespecApp(open_chat=open_chat)
        async with opened(late):
            pass

    played(test)

    assert {seen[part] for part in ("all", "header", "body", "log", "panel", "strip", "keys")} == {
        1
    }
    assert seen["prompt"] == 2  # and once when it took the focus


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
