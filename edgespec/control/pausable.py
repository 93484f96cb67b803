"""A controller that a person can overrule in the middle of an answer."""

from collections.abc import Callable

from edgespec.core import Choice, Controller, Tokens
from edgespec.events import DraftMode, Step


class Pausable:
    """Chooses as one controller does, until a person wants no drafts, or one at every step."""

    def __init__(
        self,
        make_usual: Callable[[], Controller],
        plain: Controller,
        forced: Controller,
        mode: DraftMode = "auto",
    ) -> None:
        """`make_usual` is called when it is to choose first: an answer may begin without drafts
        and never want any."""
        self._make_usual, self._usual = make_usual, None if mode != "auto" else make_usual()
        self._plain, self._forced = plain, forced
        self._chose: Controller = plain
        self.mode: DraftMode = mode
        """Read before every step; set by any thread."""

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The choice of whoever has the say now."""
        match self.mode:
            case "off":
                self._chose = self._plain
            case "on":
                self._chose = self._forced
            case "auto":
                self._usual = self._chose = self._usual or self._make_usual()
        return self._chose.choose(context, budget)

    def observe(self, step: Step) -> None:
        """Let the one learn that chose the step."""
        self._chose.observe(step)
