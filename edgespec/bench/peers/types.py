"""What peers are made of, and what is told about them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from edgespec.bench.energy import Energy, unmeasured
from edgespec.bench.engine import Engine
from edgespec.bench.suite import BenchPrompt


@dataclass(frozen=True, slots=True)
class PeerInputs:
    """What every peer gets: the same files, context, threads and prompts as edgespec."""

    target: Path
    draft: Path | None
    n_ctx: int
    n_threads: int
    n_slots: int
    """Most conversations at once."""
    tokens_of: Callable[[BenchPrompt], list[int]]
    """A prompt as edgespec's target reads it, so that both continue the same tokens."""
    energy_j: Energy = unmeasured
    quant: str = ""
    """How the target's weights are stored."""


@dataclass(frozen=True, slots=True)
class Build:
    """What a peer says of itself: where it differs, a ratio compares builds too."""

    version: str
    features: tuple[str, ...] = ()
    """Instruction sets and options that its llama.cpp was built with."""
    n_threads: int | None = None
    """None: not known."""
    note: str = ""
    """What else is not the same as in edgespec's run."""
    is_served: bool = False
    """It has an engine and a model file of its own: `note` names them."""


REMEMBERS = "drafts from its earlier answers: only the first one to each prompt counts"
"""A note for engines that would quote themselves."""


class Peer(Engine, Protocol):
    """An engine that is another program."""

    @property
    def build(self) -> Build:
        """What it is."""
        ...

    @property
    def peak_bytes(self) -> int | None:
        """Most resident memory of its process; None where that is not to be seen."""
        ...

    def close(self) -> None:
        """End it; idempotent."""
        ...
