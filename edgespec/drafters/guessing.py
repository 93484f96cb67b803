"""A request's sampler as those see it who guess what a draft model will draw."""

from edgespec.core import Constraint, Dist, Row, Rule, Sampler, Tokens


class Guessing:
    """A `core.Sampler` for guesses: nothing that a request draws depends on whether one is made."""

    def __init__(self, sampler: Sampler) -> None:
        self.constraint: Constraint | None = None
        """The grammar's state where the draft has come to."""
        self._sampler = sampler

    @property
    def rule(self) -> Rule:
        """Guesses are matched."""
        return "match"

    def dist(self, row: Row, history: Tokens, constraint: Constraint | None = None) -> Dist:
        """See `core.Sampler`."""
        return self._sampler.dist(row, history, constraint)

    def draw_draft(self, dist: Dist, position: int) -> int:
        """The likeliest token; where noise belongs to positions, what it makes of `dist`, which
        is what it will most likely make of the draft model's own."""
        if self._sampler.rule == "match":
            return self._sampler.draw_draft(dist, position)
        return int(dist.ids[dist.probs.argmax()])

    def draw(self, dist: Dist, position: int) -> int:
        """Nobody asks."""
        raise AssertionError("a guess draws nothing of the target's")

    def uniform(self) -> float:
        """Nobody asks."""
        raise AssertionError("a guess is matched")

    def commit(self, token: int) -> None:
        """Nobody commits."""
        raise AssertionError("a guess commits nothing")
