"""The branches of the chat that is shown: looking at another one, deleting a turn, undoing that."""

from typing import Protocol

from edgespec.chat.chats import Chats
from edgespec.chat.conversation import Conversation
from edgespec.chat.tree import Removed
from edgespec.chat.turns import Turn


class Owner(Protocol):
    """Who shows the conversation."""

    conversation: Conversation
    chats: Chats


class Branches:
    """Turns with the same parent: regenerated answers and edited messages."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._removed: list[tuple[Conversation, Removed, Turn | None, str]] = []
        """What was taken out of which chat, and where the model's view of it began."""

    def siblings(self, turn: Turn) -> tuple[Turn, ...]:
        """The branches at a turn's place, itself among them, oldest first."""
        return self._owner.conversation.tree.siblings(turn)

    def forks(self) -> list[Turn]:
        """The turns that are shown and have others beside them."""
        tree = self._owner.conversation.tree
        return [turn for turn in tree.path if len(tree.siblings(turn)) > 1]

    def show(self, turn: Turn) -> None:
        """Show the branch with `turn`, and after it what was shown last there."""
        self._owner.conversation.tree.show(turn)
        self._owner.chats.keep()

    def step(self, turn: Turn, by: int) -> Turn:
        """Show the next (1) or the previous (-1) branch at a turn's place, round the end."""
        siblings = self.siblings(turn)
        other = siblings[(siblings.index(turn) + by) % len(siblings)]
        self.show(other)
        return other

    def remove(self, turn: Turn) -> None:
        """Delete a turn that is not under way; those after it stay. `undo` brings it back."""
        assert turn.status not in ("queued", "running"), turn.status
        conversation = self._owner.conversation
        start, summary = conversation.window_start, conversation.summary
        removed = conversation.take_out(turn)
        self._removed.append((conversation, removed, start, summary))
        self._owner.chats.forget(turn, *removed.children)

    def undo(self) -> Turn | None:
        """Bring back the turn that was removed last from this chat; None: there is none."""
        if not self._removed or self._removed[-1][0] is not self._owner.conversation:
            return None
        conversation, removed, start, summary = self._removed.pop()
        tree = conversation.tree
        tree.put_back(removed)
        if start is removed.turn:
            conversation.window_start, conversation.summary = start, summary
        children = [child for child in removed.children if child.parent is removed.turn]
        self._owner.chats.keep(removed.turn, *children)
        return removed.turn
