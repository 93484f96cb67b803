"""A controller that a person can overrule in the middle of an answer."""

from edgespec.core import Choice, Controller, Tokens
from edgespec.events import DraftMode, Step


class Pausable:
    """Chooses as `controller` does, until a person wants no drafts, or one at every step."""

    def __init__(self, controller: Controller, plain: Controller, forced: Controller) -> None:
        self._of: dict[DraftMode, Controller] = {"auto": controller, "off": plain, "on": forced}
        self._chose = controller
        self.mode: DraftMode = "auto"
        """Read before every step; set by any thread."""

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The choice of whoever has the say now."""
        self._chose = self._of[self.mode]
        return self._chose.choose(context, budget)

    def observe(self, step: Step) -> None:
        """Let the one learn that chose the step."""
        self._chose.observe(step)
