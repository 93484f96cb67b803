"""What takes part in a benchmark: an engine with its arms, what it is asked, what it gives.

Knows no other program and no llama.cpp.
"""

from dataclasses import dataclass
from typing import Protocol

from edgespec.bench.suite import BenchPrompt
from edgespec.core import Sampling
from edgespec.drafters import names
from edgespec.errors import EdgespecError
from edgespec.events import Stats, Step

PLAIN = "none"
"""The arm that every ratio is to."""
OURS = "edgespec"
AUTO = "auto"


def is_ours(arm: str) -> bool:
    """Whether an arm is a drafter of edgespec's, with or without a length: "suffix", "suffix:7"."""
    return arm.partition(":")[0] in (*names(), AUTO)


class EngineFailed(EdgespecError):
    """An engine broke off; the others go on without it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One answer that is wanted."""

    prompt: BenchPrompt
    sampling: Sampling
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A prompt of which nothing was resident."""

    n_tokens: int
    """0 where the engine does not count."""
    ttft_s: float
    """Time to the first token; not a number where something may have been resident after all."""


@dataclass(frozen=True, slots=True)
class Run:
    """One measured answer. The prompt was resident, the draft model's cache empty."""

    arm: str
    tokens: tuple[int, ...]
    """Empty where the engine does not tell them."""
    n_tokens: int
    wall_s: float
    """From the first step's beginning to the last event, with all that a reader waits for."""
    arrivals: tuple[tuple[float, int], ...] = ()
    """(seconds since the first step began, tokens that arrived then)."""
    native_s: float | None = None
    """Of `wall_s`, spent inside llama.cpp's passes; None where that is not known."""
    stats: Stats | None = None
    energy_j: float | None = None
    """Of the whole processor; None where the machine does not report it."""
    steps: tuple[Step, ...] = ()
    """What happened, step by step; kept in memory only."""

    @property
    def tokens_per_s(self) -> float:
        """Speed of decoding as a reader sees it."""
        return self.n_tokens / self.wall_s


class Engine(Protocol):
    """One process with one loaded target."""

    name: str
    arms: tuple[str, ...]
    """Its ways to decode; names are unique over all engines."""
    plain: str | None
    """Its arm without drafts; None when it has none."""
    remembers: bool
    """Earlier answers feed its drafts: only its first answer to a prompt says something."""

    def wake(self) -> None:
        """Be ready to answer."""
        ...

    def rest(self) -> None:
        """Use no processor until `wake`."""
        ...

    def read(self, prompt: BenchPrompt) -> Reading:
        """Read a prompt of which nothing is resident; it is resident afterwards."""
        ...

    def answer(self, arm: str, ask: Ask) -> Run:
        """Answer once, the prompt being resident. Raises: `EngineFailed`."""
        ...
