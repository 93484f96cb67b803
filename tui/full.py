"""The context is full: the ways on, one of which a person takes."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Key, Paste
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from edgespec.chat.turns import ChoiceKind, ContextFull
from edgespec.text.clean import clean

from .dialog import Dialog, words


class FullScreen(Dialog[ChoiceKind]):
    """One line for each way on; Esc takes the message back."""

    TITLE = "Context full"
    HINT = "Enter chooses, Esc takes the message back"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Cancel", show=False)]

    def __init__(self, full: ContextFull, type_on: Callable[[str], object]) -> None:
        """`type_on`: puts what is typed here into the prompt."""
        super().__init__()
        self._full, self._type_on = full, type_on

    def parts(self) -> Iterable[Widget]:
        """The sentence with the numbers, and the choices."""
        yield words(self._full.sentence, classes="lead")
        yield OptionList(
            *(Option(Content(clean(choice.told)), id=choice.kind) for choice in self._full.choices)
        )

    def on_key(self, event: Key) -> None:
        """Who is typing when the context is full loses no letter."""
        if event.character is not None and event.is_printable:
            event.stop()
            self._type_on(event.character)

    def on_paste(self, event: Paste) -> None:
        """Nor what is pasted."""
        event.stop()
        self._type_on(event.text)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """That way."""
        kind = next(c.kind for c in self._full.choices if c.kind == event.option_id)
        self.dismiss(kind)

    def action_close(self) -> None:
        """Take the message back."""
        self.dismiss("cancel")
