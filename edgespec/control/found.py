"""The best choice of a step so far: arms replace it where they promise more."""

from dataclasses import dataclass

from edgespec.control.marginal import Marginal
from edgespec.explanation import Reason

PLAIN = "none"


@dataclass(slots=True)
class Found:
    """A drafter and a length, or plain decoding. Times are in plain steps."""

    drafter: str = PLAIN
    k: int = 0
    gain: float = 0.0
    """Tokens beyond a plain step's, less what its time is worth."""
    tokens: float = 1.0
    cost: float = 1.0
    reason: Reason = "plain"
    bucket: str = ""
    steering: Marginal | None = None
    n_read: int = 0
    is_tree: bool = False
    """k counts the nodes of all ways."""
