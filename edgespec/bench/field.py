"""Who takes part in a benchmark, one engine awake at a time; who fails is out, the others go on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from edgespec.bench.engine import OURS, Engine, EngineFailed


class Field:
    """The engines that still run, and why others do not."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._all = tuple(engines)
        self._engines = list(engines)
        self.failures: dict[str, str] = {}
        """By engine."""

    @property
    def engines(self) -> tuple[Engine, ...]:
        """Those that did not fail."""
        return tuple(self._engines)

    @property
    def all_arms(self) -> dict[str, Engine]:
        """Those of engines that have failed too: what they had answered by then counts."""
        return {arm: engine for engine in self._all for arm in engine.arms}

    @property
    def arms(self) -> dict[str, Engine]:
        """Every arm that can run, and whose it is."""
        return {arm: engine for engine in self._engines for arm in engine.arms}

    @contextmanager
    def awake(self, engine: Engine) -> Iterator[None]:
        """The one engine that may use the machine; it is left out from now on if it fails."""
        try:
            engine.wake()
            yield
            engine.rest()
        except EngineFailed as failure:
            if engine.name == OURS:
                raise
            self.failures[engine.name] = failure.message
            self._engines.remove(engine)
            with suppress(EngineFailed):  # it may be dead, or still be busy with what it was asked
                engine.rest()
