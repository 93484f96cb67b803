"""What engines in a child process share: one arm, named as the engine; woken, stopped, ended.

Knows nothing of how a child is asked.
"""

from collections.abc import Callable

from edgespec.bench.energy import Energy, unmeasured
from edgespec.bench.peers.process import PeerProcess
from edgespec.bench.peers.types import Build
from edgespec.bench.suite import BenchPrompt


class ChildEngine:
    """All of `types.Peer` but its answers."""

    def __init__(
        self,
        name: str,
        process: PeerProcess,
        build: Build,
        tokens_of: Callable[[BenchPrompt], list[int]],
        energy_j: Energy = unmeasured,
        *,
        remembers: bool = False,
    ) -> None:
        """Take ownership of `process`, which is ready."""
        self.name = name
        self.arms: tuple[str, ...] = (name,)
        self.plain: str | None = f"{name.partition(':')[0]}:plain"
        self.build = build
        self.remembers = remembers
        self._process = process
        self._tokens_of = tokens_of
        self._energy_j = energy_j

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
