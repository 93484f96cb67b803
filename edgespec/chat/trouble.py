"""A load or an answer failed: what failed, and the ways on that a person may take.

Every way but trying again loads the model so that it needs less of the machine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from edgespec.api.types import LanguageModel
from edgespec.chat.shelf import LighterKind, ModelChange, Shelf
from edgespec.chat.turns import LoadProgress, State, Turn
from edgespec.chat.workers import OpenModel
from edgespec.errors import DoesNotFit, EdgespecError, EngineError, IncompatibleDraft, UsageError

WayKind = Literal["retry"] | LighterKind


@dataclass(frozen=True, slots=True)
class Way:
    """One way on."""

    kind: WayKind
    told: str
    """What it does: one sentence."""
    change: ModelChange | None = None
    """None: nothing is loaded otherwise."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed, and what may help."""

    error: EdgespecError
    turn: Turn | None
    """None: no answer failed, but a load."""
    ways: tuple[Way, ...]
    is_undone: bool = False
    """Whether a change failed and the model before it is loaded again."""

    @property
    def title(self) -> str:
        """In a few words."""
        if self.is_undone:
            return "The change failed: the model before is back"
        return "The model could not be loaded" if self.turn is None else "The answer failed"


class Owner(Protocol):
    """Whose load or answer it is."""

    state: State
    model: LanguageModel | None
    shelf: Shelf | None
    load_error: EdgespecError | None
    failed: Turn | None
    opener: OpenModel | None

    def load(self, open_model: OpenModel) -> None:
        """Load."""
        ...

    def switch(self, change: ModelChange) -> None:
        """Load otherwise."""
        ...

    def regenerate(self, turn: Turn | None = None) -> Turn | None:
        """Answer again."""
        ...


class Trouble:
    """The way from a failure back to an answer."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._undone: Failure | None = None

    def watched(self, opener: OpenModel, change: ModelChange) -> OpenModel:
        """`opener`, whose failure is remembered with the ways on when the one before is back."""
        self._undone = None

        def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
            try:
                return opener(tell)
            except EdgespecError as error:
                # Now: going back makes the model before the one that was tried last.
                ways = self._ways(error, Way("retry", "load it again", change))
                self._undone = Failure(error, None, ways, is_undone=True)
                raise

        return open_model

    def load_again(self) -> bool:
        """Begin a load again that failed or was given up. False: there is none."""
        owner = self._owner
        if owner.model is not None or owner.state == "LOADING" or owner.opener is None:
            return False
        owner.load(owner.opener)
        return True

    def forget(self) -> None:
        """The chat went on: a change that failed is no matter any more."""
        self._undone = None

    @property
    def error(self) -> EdgespecError | None:
        """What failed last; None while nothing is wrong."""
        owner, turn = self._owner, self._owner.failed
        if owner.state == "READY" and self._undone is not None:
            return self._undone.error
        if owner.state != "ERROR":
            return None
        return owner.load_error or (turn.error if turn is not None else None)

    @property
    def failure(self) -> Failure | None:
        """The same with the ways on, for which the machine is looked at."""
        error, owner = self.error, self._owner
        if error is None:
            return None
        if owner.state == "READY":
            return self._undone
        turn = None if owner.load_error is not None else owner.failed
        again = "load it again" if turn is None else "answer it again"
        return Failure(error, turn, self._ways(error, Way("retry", again)))

    def _ways(self, error: EdgespecError, again: Way) -> tuple[Way, ...]:
        shelf, ways = self._owner.shelf, [again]
        is_of_the_machine = isinstance(error, DoesNotFit | EngineError)
        if shelf is None or not (
            is_of_the_machine
            or type(error) is EdgespecError
            or isinstance(error, IncompatibleDraft)
        ):
            return tuple(ways)
        for kind, change in shelf.lighter().items():
            if kind == "no_draft" or not isinstance(error, IncompatibleDraft):
                ways.append(Way(kind, _told(kind, change), change))
        return tuple(ways)

    def take(self, kind: WayKind) -> None:
        """Go on that way; a failed answer is given again once the model is there.

        Raises: `UsageError` for what is no way now; what `switch` raises.
        """
        failure = self.failure
        way = next((w for w in failure.ways if w.kind == kind), None) if failure else None
        if failure is None or way is None:
            raise UsageError("nothing has failed that this would mend")
        if way.change is not None:
            self._owner.switch(way.change)
        elif failure.turn is None and self._owner.opener is not None:
            self._owner.load(self._owner.opener)
        if failure.turn is not None:
            self._owner.regenerate(failure.turn)


def _told(kind: LighterKind, change: ModelChange) -> str:
    if kind == "smaller":
        return f"load it with a context of {change.n_ctx:,} tokens"
    if kind == "cpu":
        return "load it on the CPU alone, without a draft model"
    return "load it without the draft model"
