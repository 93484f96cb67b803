"""A controller that a person can bring to rest in the middle of an answer."""

from edgespec.core import Choice, Controller, Tokens
from edgespec.events import Step


class Pausable:
    """Chooses as `controller` does; while it rests, as `plain` does."""

    def __init__(self, controller: Controller, plain: Controller) -> None:
        self._controller, self._plain = controller, plain
        self._chose = controller
        self.is_resting = False
        """Read before every step; set by any thread."""

    def choose(self, context: Tokens, budget: int) -> Choice:
        """The choice of whoever has the say now."""
        self._chose = self._plain if self.is_resting else self._controller
        return self._chose.choose(context, budget)

    def observe(self, step: Step) -> None:
        """Let the one learn that chose the step."""
        self._chose.observe(step)
