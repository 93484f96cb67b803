"""What a controller knows of times: of the target's passes and of a draft model's work."""

from dataclasses import dataclass

from edgespec.costs import DraftCosts, LiveCosts, PassCosts

LONGEST = 63
"""Most draft tokens per step: passes of 64 rows are where a processor's matrix kernels change
once more, to the better."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds, as measured or assumed."""

    target: PassCosts
    draft_s: float | None = None
    """A draft model's pass for one token; None: there is no draft model."""
    read_s: float | None = None
    """A token of context that it reads."""
    is_doubtful: bool = False
    """Measured in a moment that may have been a bad one: to be confirmed soon."""

    def live(self, *, is_live: bool = True) -> "Costs":
        """The same, to be corrected by what is seen, unless it shall stay as it is."""
        draft = None
        if self.draft_s is not None and self.read_s is not None:
            draft = DraftCosts(self.draft_s, self.read_s)
        return Costs(LiveCosts(self.target, LONGEST + 1), draft, is_live, self.is_doubtful)


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of one loaded pair, shared by its answers."""

    target: LiveCosts
    draft: DraftCosts | None
    is_live: bool = True
    """Follow what is seen. False: the same choices in every run."""
    is_doubtful: bool = False
    """See `Measured`."""
