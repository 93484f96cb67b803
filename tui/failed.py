"""A load or an answer failed: what happened, the ways on, the log's end, a report to copy."""

import platform
from collections.abc import Awaitable, Callable, Iterable, Sequence
from importlib.metadata import version
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.events import Key, Paste
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from edgespec.api.types import Description
from edgespec.chat.trouble import Failure, WayKind
from edgespec.text.clean import clean

from .dialog import Dialog, words
from .keys import bindings
from .lines import error_words

TAIL_LINES = 12
REPORT_LINES = 100


class FailedScreen(Dialog[str]):
    """One line for each way on. Ends with a `WayKind`, with "model", or with None."""

    HINT = "Enter chooses, F8 log, Ctrl+E copies a report, Esc"
    BINDINGS: ClassVar[list[BindingType]] = bindings("failed")

    def __init__(
        self,
        failure: Failure,
        log: Sequence[str],
        description: Description | None,
        copy: Callable[[str], Awaitable[None]],
        type_on: Callable[[str], object],
    ) -> None:
        """`log`: the lines of this process. `copy`: copies a text and says how. `type_on`: puts
        what is typed here into the prompt."""
        super().__init__()
        self._failure, self._log, self._description = failure, log, description
        self._copy, self._type_on = copy, type_on
        self._is_left = False

    def parts(self) -> Iterable[Widget]:
        """The sentence and its hint, the ways, the log behind a key."""
        yield words(error_words(self._failure.error), id="what")
        ways: list[tuple[str, str]] = [(way.kind, way.told) for way in self._failure.ways]
        ways.append(("model", "choose another model"))
        yield OptionList(*(Option(Content(told), id=kind) for kind, told in ways))
        yield words("", id="tail")

    def on_mount(self) -> None:
        """The way that is tried first is chosen."""
        super().on_mount()
        self.query_one(".dialog").border_title = self._failure.title
        self.query_one("#tail").display = False
        ways = self.query_one(OptionList)
        ways.highlighted = 0
        ways.focus()

    def on_key(self, event: Key) -> None:
        """Who is typing when it fails types on: no letter is lost, and none chooses anything."""
        if event.character is None or not event.is_printable:
            return
        event.stop()
        self._go_on_typing(event.character)

    def on_paste(self, event: Paste) -> None:
        """What is pasted is not lost either."""
        event.stop()
        self._go_on_typing(event.text)

    def _go_on_typing(self, text: str) -> None:
        self._type_on(text)
        if not self._is_left:
            self._is_left = True
            self.dismiss(None)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """That way."""
        self.dismiss(event.option_id)

    def action_details(self) -> None:
        """Show or hide the end of the log."""
        tail = self.query_one("#tail", Static)
        tail.update(Content("\n".join(self._log[-TAIL_LINES:]) or "nothing was logged"))
        tail.display = not tail.display

    async def action_report(self) -> None:
        """Copy what somebody who helps needs to know; no word of the conversation."""
        await self._copy(report(self._failure, self._log, self._description))


def report(failure: Failure, log: Sequence[str], about: Description | None) -> str:
    """Versions, what is loaded, the error, the end of the log."""
    error = failure.error
    loaded = "no model is loaded"
    if about is not None:
        draft = f" + {about.draft} {about.draft_quant}" if about.draft else ""
        loaded = (
            f"{about.target} {about.target_quant}{draft}, {about.n_ctx} tokens, {about.backend}"
        )
    lines = [
        f"edgespec {version('edgespec')}, Python {platform.python_version()}",
        platform.platform(),
        loaded,
        f"{failure.title}: {type(error).__name__}: {error.message}",
        *([f"hint: {error.hint}"] if error.hint else []),
        "",
        *log[-REPORT_LINES:],
    ]
    return clean("\n".join(lines)) + "\n"


def is_way(kind: str | None, failure: Failure) -> WayKind | None:
    """The way of that name, if it is one."""
    return next((way.kind for way in failure.ways if way.kind == kind), None)
