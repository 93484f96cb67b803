"""The turns of a chat as a tree: which branch is shown, and what stands beside it."""

from collections.abc import Iterable
from dataclasses import dataclass

from edgespec.chat.turns import Turn


@dataclass(frozen=True, slots=True)
class Removed:
    """A turn that was taken out, and what is needed to put it back."""

    turn: Turn
    index: int
    children: tuple[Turn, ...]
    shown: Turn | None
    """The child that was shown."""


class TurnTree:
    """Every turn, and the path of those that are shown."""

    def __init__(self, turns: Iterable[Turn] = (), head: Turn | None = None) -> None:
        """`turns`: parents before their children. `head`: the last turn to show."""
        self.turns = list(turns)
        self.path: list[Turn] = []
        self._shown: dict[Turn | None, Turn] = {}
        if head is not None:
            self._shown = {turn.parent: turn for turn in _with_ancestors(head)}
        self._walk()

    @property
    def head(self) -> Turn | None:
        """The last turn that is shown."""
        return self.path[-1] if self.path else None

    def add(self, turn: Turn) -> None:
        """Add a turn after its parent and show it."""
        self.turns.append(turn)
        self.show(turn)

    def siblings(self, turn: Turn) -> tuple[Turn, ...]:
        """The branches at a turn's place, itself among them, oldest first."""
        return tuple(other for other in self.turns if other.parent is turn.parent)

    def show(self, turn: Turn) -> None:
        """Show the branch with `turn`, and after it what was shown last there."""
        for ancestor in _with_ancestors(turn):
            self._shown[ancestor.parent] = ancestor
        self._walk()

    def remove(self, turn: Turn) -> Removed:
        """Take a turn out; those after it stay, behind its parent."""
        children = tuple(child for child in self.turns if child.parent is turn)
        heir = self._shown.pop(turn, None) or (children[-1] if children else None)
        removed = Removed(turn, self.turns.index(turn), children, heir)
        self.turns.remove(turn)
        for child in children:
            child.parent = turn.parent
        if self._shown.get(turn.parent) is turn:
            others = self.siblings(turn)
            self._shown.pop(turn.parent)
            if shown := heir or (others[-1] if others else None):
                self._shown[turn.parent] = shown
        self._walk()
        return removed

    def put_back(self, removed: Removed) -> None:
        """Undo `remove` as far as what was around it is still there, and show the turn."""
        turn = removed.turn
        while turn.parent is not None and turn.parent not in self.turns:
            turn.parent = turn.parent.parent
        self.turns.insert(removed.index, turn)
        for child in removed.children:
            if child in self.turns:
                child.parent = turn
        if removed.shown is not None and removed.shown in self.turns:
            self._shown[turn] = removed.shown
        self.show(turn)

    def _walk(self) -> None:
        newest = {turn.parent: turn for turn in self.turns}
        path: list[Turn] = []
        at: Turn | None = None
        while (at := self._shown.get(at) or newest.get(at)) is not None:
            path.append(at)
        self.path = path


def _with_ancestors(turn: Turn) -> list[Turn]:
    found = [turn]
    while found[-1].parent is not None:
        found.append(found[-1].parent)
    return found
