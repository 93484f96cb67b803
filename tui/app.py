"""The TUI's application and its entry point: terminal, signals, colours; the chat is a screen."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import ClassVar

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.app import App
from textual.keys import Keys

from edgespec.api.types import Options
from edgespec.chat import ChatController, OpenModel

from .glyphs import ASCII, UNICODE, wants_ascii
from .screen import ChatScreen

logger = logging.getLogger(__name__)

_SIGNALS = {"SIGTERM": 143, "SIGHUP": 129}


class EdgespecApp(App[int]):
    """One chat in one terminal. Leaves with an exit code."""

    CSS_PATH: ClassVar = Path(__file__).with_name("app.tcss")
    TITLE = "edgespec"

    def __init__(
        self, chat: ChatController, *, can_color: bool = True, is_ascii: bool = False
    ) -> None:
        # Textual takes the variable's mere presence; with ANSI colours its filter removes them all.
        with _no_color(not can_color):
            super().__init__(ansi_color=None if can_color else True)
        self.chat = chat
        self._is_ascii = is_ascii

    def on_mount(self) -> None:
        """Open the chat, and leave in order when the system asks."""
        screen = ChatScreen(self.chat, ASCII if self._is_ascii else UNICODE)
        screen.set_class(self._is_ascii, "-ascii")
        self.push_screen(screen)
        self._listen_for_signals()

    def _listen_for_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for name, code in _SIGNALS.items():
            if (number := getattr(signal, name, None)) is None:
                continue
            try:
                loop.add_signal_handler(number, self.exit, code, code)
            except (NotImplementedError, ValueError, RuntimeError):
                logger.debug("no handler for %s: Windows, or not the main thread", name)


@contextmanager
def _no_color(is_wanted: bool) -> Iterator[None]:
    before = os.environ.pop("NO_COLOR", None)
    if is_wanted:
        os.environ["NO_COLOR"] = "1"
    try:
        yield
    finally:
        os.environ.pop("NO_COLOR", None)
        if before is not None:
            os.environ["NO_COLOR"] = before


def run_chat(
    open_model: OpenModel,
    *,
    options: Options,
    system: str | None = None,
    can_color: bool = True,
    is_ascii: bool | None = None,
) -> int:
    """Open the chat and return its exit code; frees the model.

    `open_model` runs in a thread of its own, with a function to tell its progress to. `is_ascii`
    None: as the terminal's encoding says.
    """
    chat = ChatController(options, system=system)
    _never_fail_to_encode()
    _learn_alt_enter()
    app = EdgespecApp(
        chat, can_color=can_color, is_ascii=wants_ascii() if is_ascii is None else is_ascii
    )
    chat.load(open_model)
    try:
        code = app.run()
    finally:
        chat.close()
    if chat.load_error is not None and not code:
        return chat.load_error.exit_code
    return app.return_code or code or 0


def _never_fail_to_encode() -> None:
    """Textual writes to stderr; a sign its encoding lacks must not end the writer thread."""
    if isinstance(sys.__stderr__, TextIOWrapper):
        sys.__stderr__.reconfigure(errors="replace")


def _learn_alt_enter() -> None:
    """Read ESC CR, which terminals without the kitty protocol send, as a line break.

    Textual's parser (textual/_xterm_parser.py) drops the modifier of it, and Enter would send.
    """
    if isinstance(ANSI_SEQUENCES_KEYS, dict):
        ANSI_SEQUENCES_KEYS.setdefault("\x1b\r", (Keys.ControlJ,))
