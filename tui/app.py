"""The TUI's application and its entry point: signals, colours, exit codes; the chat is a screen."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import App, SystemCommand
from textual.events import Event, InputEvent, Key, Paste
from textual.notifications import Notify
from textual.screen import Screen

from . import keys
from .actions import INTERRUPTED
from .glyphs import ASCII, UNICODE, wants_ascii
from .guardian import guarded_terminal
from .pace import SWITCH_S
from .recent import Recent
from .screen import ChatScreen
from .start import settle
from .terminal import learn_alt_enter, never_fail_to_encode, no_color, tolerant_driver
from .themes import add_themes, first_theme, remember

if TYPE_CHECKING:  # the chat's first paint waits for neither
    from edgespec.chat.controller import ChatController
    from edgespec.chat.workers import OpenModel

    from .shelf import Models

    OpenChat = Callable[[], tuple[ChatController, OpenModel | None]]
    """Makes a chat, and what loads its first model."""

logger = logging.getLogger(__name__)

_SIGNALS = {"SIGTERM": 143, "SIGHUP": 129}
"""Names, because Windows lacks some, and exit codes."""
_ASCII_CSS = Path(__file__).with_name("ascii.tcss")
_OWN_ENTRIES = {"Theme", "Screenshot"}
"""What the palette keeps of Textual's own."""


class EdgespecApp(App[int]):
    """One chat in one terminal. Leaves with an exit code."""

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "edgespec"

    def __init__(
        self,
        chat: "ChatController | None" = None,
        *,
        models: "Models | None" = None,
        open_model: "OpenModel | None" = None,
        open_chat: "OpenChat | None" = None,
        can_color: bool = True,
        is_ascii: bool = False,
    ) -> None:
        """`open_model` loads the first model, as soon as the first frame is shown.

        `open_chat` makes the chat then, where there is none yet: what is typed meanwhile waits.
        If it raises, the app leaves, and `refusal` says why.
        """
        assert (chat is None) != (open_chat is None), (chat, open_chat)
        with no_color(not can_color):
            # With ANSI colours Textual's filter removes them all, else it leaves greys.
            super().__init__(
                driver_class=tolerant_driver(),
                css_path=[self.CSS_PATH, _ASCII_CSS] if is_ascii else None,
                ansi_color=None if can_color else True,
            )
        self.chat = chat
        self.refusal: Exception | None = None
        self.recent_log = Recent()
        self._models = models
        self._open_model, self._open_chat = open_model, open_chat
        self.is_open = False
        """Whether there is a chat on the screen, which hears what is typed."""
        self._switch_s = sys.getswitchinterval()
        self._early: list[Event] = []
        """What was typed before."""
        self._is_ascii = is_ascii
        add_themes(self)
        self.theme = first_theme(os.environ, self.available_themes)
        if "TEXTUAL_THEME" in os.environ:
            self.refresh_css()  # it may name one of ours, which was not known yet

    def get_default_screen(self) -> Screen[None]:
        """The chat: an empty screen below it would be laid out and painted first."""
        screen = ChatScreen(ASCII if self._is_ascii else UNICODE)
        screen.set_class(self._is_ascii, "-ascii", update=False)
        # Known before the first layout: else the panel would come with a second one.
        screen.add_class(*keys.classes_at(*self.size), update=False)
        screen.when_shown = self._begin
        if self.chat is not None:
            self._hold(screen, self.chat)
        return screen

    def _hold(self, screen: ChatScreen, chat: "ChatController") -> None:
        from .shelf import Models

        screen.hold(chat, Models() if self._models is None else self._models)

    def on_mount(self) -> None:
        """Leave in order when the system asks; give way to the threads that decode."""
        sys.setswitchinterval(SWITCH_S)
        logging.getLogger("edgespec").addHandler(self.recent_log)
        self.theme_changed_signal.subscribe(self, lambda theme: remember(theme.name))
        self._listen("SIGINT", self._interrupt)
        for name, code in _SIGNALS.items():
            self._listen(name, partial(self.exit, code, code))

    async def _begin(self) -> None:
        # Only now: what is read and imported here would hold the first frame up.
        screen = self.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        if self._open_chat is not None:
            try:
                self.chat, self._open_model = self._open_chat()
            except Exception as error:  # for who opens it to tell
                self.refusal = error
                self.exit()
                return
            self._models = _choice(self.chat, self._open_model)
            self._hold(screen, self.chat)
            await screen.open()
        sheet = Path(__file__).with_name("dialog.tcss")
        self.stylesheet.add_source(sheet.read_text(encoding="utf-8"), (str(sheet), ""))
        settle()
        self.call_later(self._catch_up)
        if self.chat is not None and self._open_model is not None:
            screen.load_first(self._open_model)

    def refresh_css(self, animate: bool = True) -> None:
        """Read the stylesheets with other colours; before there is a screen they are unread."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    async def on_event(self, event: Event) -> None:
        """Keep what a person does until there is a chat that it can be done to."""
        if not self.is_open and isinstance(event, InputEvent | Paste):
            self._early.append(event)
        else:
            await super().on_event(event)

    def on_notify(self, event: Notify) -> None:
        """Show it in place of the one before; F8 has them all."""
        from .notices import make_room

        make_room(self, event.notification)
        self.recent_log.told(event.notification.message)

    async def _catch_up(self) -> None:
        self.is_open = True
        last = self._early[-1] if self._early else None
        if isinstance(last, Key) and last.key == "ctrl+j":
            # Until the terminal was ours it made Enter a line feed: the message was to be sent.
            self._early[-1] = Key("enter", "\r")
        for event in self._early:
            await self.on_event(event)
        self._early.clear()

    async def action_quit(self) -> None:
        """Ctrl+Q, on every screen: Textual's own binding is asked before the chat's."""
        await self.screen_stack[0].run_action("leave")

    async def _interrupt(self) -> None:
        if self.chat is None:
            self.exit(INTERRUPTED, INTERRUPTED)
        else:
            await self.screen_stack[0].run_action("interrupt")

    def on_unmount(self) -> None:
        """Hear the log no longer, and leave the interpreter as it was."""
        sys.setswitchinterval(self._switch_s)
        logging.getLogger("edgespec").removeHandler(self.recent_log)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What Ctrl+P lists."""
        from .palette import entries

        yield from entries(screen)
        yield from (
            entry for entry in super().get_system_commands(screen) if entry.title in _OWN_ENTRIES
        )

    def action_command_palette(self) -> None:
        """Everything by name."""
        from .palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(placeholder="Search for commands", id="--command-palette"))

    def search_themes(self) -> None:
        """The themes by name."""
        from textual.theme import ThemeProvider

        from .palette import Palette

        self.push_screen(Palette([ThemeProvider], placeholder="Search for themes"))

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print a traceback with every local variable, the chat's texts among them.
        logger.error("the chat's screen failed", exc_info=error)
        if self.is_headless:
            super()._handle_exception(error)
        else:
            what = f"{type(error).__name__}: {error}"
            self.exit(1, 1, message=Text(f"a fault of edgespec's own: {what}; the log has more"))

    def _listen(self, name: str, act: Callable[[], object]) -> None:
        loop, number = asyncio.get_running_loop(), getattr(signal, name, None)
        try:
            if number is not None:
                # As a callback of the app: a signal's own has no active app.
                loop.add_signal_handler(number, self.call_later, act)
        except (NotImplementedError, ValueError, RuntimeError):
            logger.debug("no handler for %s: Windows, or not the main thread", name)


def run_chat(
    chat: "ChatController | None" = None,
    *,
    open_model: "OpenModel | None" = None,
    open_chat: "OpenChat | None" = None,
    can_color: bool = True,
    is_ascii: bool | None = None,
    at_end: "Callable[[ChatController], None]" = lambda chat: None,
) -> int:
    """Show a chat until it is left, free what it holds, and return the exit code.

    A chat without a model for which nothing is being loaded begins with the choice of one.
    `open_chat` makes the chat with the first frame on the screen; what it raises is raised here,
    with the terminal as it was. `is_ascii` None: as the terminal's encoding says. `at_end` is
    called with the chat when it is closed.
    """
    never_fail_to_encode()
    learn_alt_enter()
    app = EdgespecApp(
        chat,
        models=_choice(chat, open_model) if chat is not None else None,
        open_model=open_model,
        open_chat=open_chat,
        can_color=can_color,
        is_ascii=wants_ascii() if is_ascii is None else is_ascii,
    )
    try:
        with guarded_terminal():
            code = app.run()
    finally:
        if app.chat is not None:
            app.chat.close()
    if app.refusal is not None:
        raise app.refusal
    if app.chat is not None:
        at_end(app.chat)
        if app.chat.load_error is not None and not code:
            return app.chat.load_error.exit_code
    return app.return_code or code or 0


def _choice(chat: "ChatController", open_model: "OpenModel | None") -> "Models":
    from .shelf import Models

    return Models(must_choose=open_model is None and chat.state == "BOOT")
