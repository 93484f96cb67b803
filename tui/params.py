"""System prompt and settings, as they will be for the next answer."""

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Label, Static, TextArea

from edgespec.chat.controller import ChatController
from edgespec.chat.settings import SETTINGS, changed, listing
from edgespec.errors import EdgespecError
from edgespec.text.clean import clean

from .dialog import Dialog, Masked, words
from .keys import bindings
from .prompt import Written


class Row(Horizontal):
    """A setting's name and value."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(classes="setting")
        self._label, self._value = name, value

    def compose(self) -> ComposeResult:
        """Name, field."""
        yield Label(self._label, markup=False)
        field = Input(
            self._value,
            highlighter=Masked(),
            id=self._label,
            compact=True,
            select_on_focus=False,
        )
        field.cursor_blink = False
        yield field

    def on_descendant_focus(self) -> None:
        """The keys go to this field: its name says so."""
        self.query_one(Label).add_class("-focused")

    def on_descendant_blur(self) -> None:
        """They go elsewhere."""
        self.query_one(Label).remove_class("-focused")


class ParamsScreen(Dialog[str]):
    """Checks every value before it takes any of them."""

    TITLE = "Parameters"
    HINT = "Ctrl+S applies to the next answer, Esc does not"
    BINDINGS: ClassVar[list[BindingType]] = bindings("params")

    def __init__(self, chat: ChatController) -> None:
        super().__init__()
        self._chat = chat
        rows = (line.split(None, 1) for line in listing(chat.options).splitlines())
        self._before = {row[0]: row[1] if len(row) > 1 else "" for row in rows}

    def parts(self) -> Iterable[Widget]:
        """System prompt, then a row for each setting."""
        yield words("System prompt (empty: none)", classes="lead")
        system = Written(self._chat.conversation.system or "", id="system")
        system.cursor_blink = False
        yield system
        rows = (Row(name, self._before.get(name, "")) for name in SETTINGS)
        yield VerticalScroll(*rows, id="settings", can_focus=False)
        yield words("", id="said")

    def on_input_submitted(self) -> None:
        """Enter in a field."""
        self.action_apply()

    def action_apply(self) -> None:
        """Take the values, if all of them have a meaning."""
        options, said = self._chat.options, []
        for field in self.query(Input):
            if field.id is None or field.value.strip() == self._before.get(field.id):
                continue
            try:
                options, words_ = changed(options, field.id, field.value.strip())
            except EdgespecError as error:
                self.query_one("#said", Static).update(Content(clean(error.message)))
                field.focus()
                return
            said.append(words_.partition(",")[0])
        system = self.query_one("#system", TextArea).text.strip() or None
        self._chat.options = options
        if system != self._chat.conversation.system:
            self._chat.chats.set_system(system)
            said.append("system prompt changed" if system else "no system prompt")
        self.dismiss("; ".join(said) + ", from the next answer on" if said else "")
