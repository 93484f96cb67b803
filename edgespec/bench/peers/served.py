"""What servers share that were running before and go on afterwards: mlx-lm, Ollama, LM Studio.

They have their own model files, templates and counts: what is not the same is told beside the
ratio.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter

from edgespec.bench.energy import Energy, spent_j, unmeasured
from edgespec.bench.engine import Ask, EngineFailed, Reading, Run
from edgespec.bench.peers.types import Build, PeerInputs
from edgespec.bench.suite import BenchPrompt
from edgespec.core import Sampling
from edgespec.events import Stats

AS_SERVED = "served"
"""Whatever it was set to by its user."""
WITH_DRAFT = "draft"
"""With a draft model that is named."""
_MOST_READ_BEFORE = 0.05
"""Of a prompt that counts as not read: most templates begin with the same words."""
_LOADING = BenchPrompt("loading", "chat", "en", "short", 1, 1, (("user", "Hello."),))


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer as it arrives; counts are those of the whole answer, where told."""

    has_text: bool = False
    n_tokens: int | None = None
    n_drafted: int | None = None
    n_accepted: int = 0
    version: str = ""
    """Of the program, where it is told only there."""
    read_before: float = 0.0
    """Of the prompt, the share that was resident already, where told."""


Pieces = Callable[[Ask], Iterator[Piece]]


class ServedEngine:
    """Implements `types.Peer`: a server that is not ours to stop."""

    peak_bytes: int | None = None
    remembers = False

    def __init__(
        self,
        name: str,
        way: str,
        pieces: Pieces,
        build: Build,
        energy_j: Energy = unmeasured,
        *,
        is_one_of_two: bool = False,
    ) -> None:
        """`pieces` asks, and hears the answer. `is_one_of_two`: the server is asked in another way
        too, and holds the models of one way at a time."""
        self.name = f"{name}:{way}"
        self.arms: tuple[str, ...] = (self.name,)
        # As served it may draft as well, so that nothing is known to be plain.
        self.plain: str | None = f"{name}:{AS_SERVED}" if way == WITH_DRAFT else None
        self.build = build
        self._pieces = pieces
        self._energy_j = energy_j
        self._is_one_of_two = is_one_of_two
        self._has_read: set[str] = set()
        self._has_drawn = False
        self._read_before = 0.0

    def wake(self) -> None:
        """It is always ready."""

    def rest(self) -> None:
        """Nothing is asked of it; whether it then uses the processor is its own affair."""

    def close(self) -> None:
        """It was running before, and goes on."""

    def read(self, prompt: BenchPrompt) -> Reading:
        """Ask for one token. What it has read before it may have kept: that time says nothing."""
        if self._is_one_of_two:
            self._run(Ask(_LOADING, Sampling(), 1))
        took_s = self._run(Ask(prompt, Sampling(), 1)).wall_s
        is_cold = prompt.name not in self._has_read and self._read_before <= _MOST_READ_BEFORE
        self._has_read.add(prompt.name)
        return Reading(0, took_s if is_cold else math.nan)

    def answer(self, arm: str, ask: Ask) -> Run:
        """Answer once, with this way's models loaded and `ask.prompt` read before."""
        is_first_draw = ask.sampling.temperature > 0 and not self._has_drawn
        if self._is_one_of_two or is_first_draw:
            # MLX compiles what sampling takes when it is asked to sample first, for seconds.
            self._run(replace(ask, max_tokens=1))
        self._has_drawn |= is_first_draw
        return self._run(ask)

    def _run(self, ask: Ask) -> Run:
        arrivals: list[tuple[float, int]] = []
        n_told: int | None = None
        drafts: Piece | None = None
        self._read_before = 0.0
        energy_j, began_s = self._energy_j(), perf_counter()
        for piece in self._pieces(ask):
            if piece.has_text:
                arrivals.append((perf_counter() - began_s, 1))
            n_told = piece.n_tokens or n_told
            self._read_before = max(self._read_before, piece.read_before)
            if piece.version:
                self.build = replace(self.build, version=piece.version)
            drafts = piece if piece.n_drafted is not None else drafts
        wall_s, after_j = perf_counter() - began_s, self._energy_j()
        n_tokens = n_told or len(arrivals)
        if not n_tokens:
            raise EngineFailed(f"{self.name} answered {ask.prompt.name} with nothing")
        return Run(
            self.name,
            (),
            n_tokens,
            wall_s,
            tuple(arrivals),
            stats=_stats(n_tokens, drafts) if drafts else None,
            energy_j=spent_j(energy_j, after_j),
        )


def _stats(n_tokens: int, drafts: Piece) -> Stats:
    return Stats(
        generated_tokens=n_tokens,
        passes=n_tokens - drafts.n_accepted,  # each gives one token of the target's own
        drafted=drafts.n_drafted or 0,
        accepted=drafts.n_accepted,
    )


def model_among(name: str, model: str | None, listed: list[str]) -> str:
    """The model under the name by which it is served. Raises: `EngineFailed`."""
    if model is None:
        # Any other model would say nothing about this one.
        raise EngineFailed(
            f"{name} lists {', '.join(listed) or 'no model'}; which of them is the same?",
            hint=f"--peer {name}=MODEL",
        )
    found = next((each for each in (model, f"{model}:latest") if each in listed), None)
    if found is None:
        others = f"but {', '.join(listed)}" if listed else "nor any other"
        raise EngineFailed(f"{name} lists no model {model!r}, {others}")
    return found


def own_model(model: str, weights: str, inputs: PeerInputs) -> str:
    """What a server runs instead of edgespec's file, and how it differs, as far as it tells."""
    if not weights:
        return f"its own {model}, weights not told"
    other = f" where edgespec has {inputs.quant}" if weights != inputs.quant else ""
    return f"its own {model}, {weights}{other}"
