"""What becomes of a message that found the context full. Nothing happens without a choice."""

from typing import Protocol

from edgespec.chat.conversation import Conversation
from edgespec.chat.shelf import ModelChange
from edgespec.chat.turns import ChoiceKind, ContextFull, Notice, Turn
from edgespec.errors import UsageError


class Chooser(Protocol):
    """What carrying a choice out needs of the controller."""

    conversation: Conversation
    full: ContextFull | None

    def start(self, turn: Turn, *, is_tight: bool = False, n_to_summarise: int = 0) -> None:
        """Answer a turn that waits."""
        ...

    def switch(self, change: ModelChange) -> None:
        """Load the model otherwise."""
        ...

    def give_back(self, turn: Turn) -> None:
        """Return the message to the prompt."""
        ...

    def withdraw(self) -> str:
        """Take the message back."""
        ...

    def clear(self) -> None:
        """Begin a new chat."""
        ...

    def send(self, text: str) -> Turn:
        """Send a message."""
        ...

    def tell(self, notice: Notice) -> None:
        """Tell the person."""
        ...


def choose(chat: Chooser, turn: Turn | None, kind: ChoiceKind) -> Turn | None:
    """Carry a choice out. Returns: the turn that goes on.

    Raises: `UsageError` for what is no choice now.
    """
    full = chat.full
    if full is None or turn is None:
        raise UsageError("the context is not full: there is nothing to choose")
    choice = next((choice for choice in full.choices if choice.kind == kind), None)
    if choice is None:
        kinds = ", ".join(choice.kind for choice in full.choices)
        raise UsageError(f"'{kind}' is no way out here; there are {kinds}")
    match kind:
        case "drop":
            # What stands for still older turns stays: nobody chose to lose it.
            chat.conversation.leave_out(choice.turns, turn, chat.conversation.summary)
            chat.start(turn)
            chat.tell(left_out(choice.turns))
        case "summarise":
            chat.start(turn, n_to_summarise=len(choice.turns))
        case "larger":
            chat.switch(ModelChange(n_ctx=choice.n_ctx))
        case "anyway":
            chat.start(turn, is_tight=True)
        case "new":
            text = chat.withdraw()
            chat.clear()
            return chat.send(text)
        case "cancel":
            chat.give_back(turn)
            return None
    return turn


def left_out(turns: tuple[Turn, ...], how: str = "left out of") -> Notice:
    """Says which turns the model does not see any more."""
    which = f"the {len(turns)} oldest turns are" if len(turns) > 1 else "the oldest turn is"
    return Notice(f"{which} {how} what the model sees from here on")
