"""What engines in a child process share: one arm, named as the engine; woken, stopped, ended.

Knows nothing of how a child is asked.
"""

from collections.abc import Callable
from dataclasses import dataclass

from edgespec.bench.energy import Energy, unmeasured
from edgespec.bench.peers.process import PeerProcess
from edgespec.bench.peers.types import Build, PeerInputs
from edgespec.bench.suite import BenchPrompt


@dataclass(frozen=True, slots=True)
class Child:
    """A peer that is ready to be asked, and what is known of it."""

    name: str
    process: PeerProcess
    build: Build
    tokens_of: Callable[[BenchPrompt], list[int]]
    """A prompt as edgespec's target reads it."""
    energy_j: Energy = unmeasured
    remembers: bool = False

    @staticmethod
    def of(
        inputs: PeerInputs,
        name: str,
        process: PeerProcess,
        build: Build,
        *,
        remembers: bool = False,
    ) -> "Child":
        """One that gets what every peer gets."""
        return Child(name, process, build, inputs.tokens_of, inputs.energy_j, remembers)


class ChildEngine:
    """All of `types.Peer` but its answers."""

    def __init__(self, child: Child) -> None:
        """Take ownership of the child's process."""
        self.name = child.name
        self.arms: tuple[str, ...] = (child.name,)
        self.plain: str | None = f"{child.name.partition(':')[0]}:plain"
        self.build = child.build
        self.remembers = child.remembers
        self._process = child.process
        self._tokens_of = child.tokens_of
        self._energy_j = child.energy_j

    @property
    def peak_bytes(self) -> int | None:
        """Most resident memory of the child."""
        return self._process.peak_bytes

    def wake(self) -> None:
        """Let the child run."""
        self._process.wake()

    def rest(self) -> None:
        """Stop the child."""
        self._process.sleep()

    def close(self) -> None:
        """End the child; idempotent."""
        self._process.close()
