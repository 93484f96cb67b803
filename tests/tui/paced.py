"""A model that answers at a set speed, cheaply: its own cost must not blur the screen's.

Every event is made before the answer begins; afterwards the stream only sleeps and yields.
"""

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from edgespec.api.types import Options, Prompt
from edgespec.events import (
    Delta,
    Done,
    DraftMode,
    Event,
    FinishReason,
    Reply,
    Round,
    Stats,
    Step,
    TokenText,
    sources,
)
from edgespec.explanation import Explanation
from tests.scripted import ACCEPTED, DESCRIPTION, DRAFT_LEN, WRONG_PIECE, folded, pieces_of

LONG = replace(DESCRIPTION, n_ctx=1_000_000)


@dataclass(frozen=True, slots=True)
class Burst:
    """The events of one step, and when it ends, in seconds after the answer's beginning."""

    at_s: float
    events: tuple[Event, ...]


class PacedStream:
    """One answer; told to stop, it ends at the next step."""

    def __init__(self, bursts: Sequence[Burst], stats: Stats) -> None:
        self._bursts, self._final = bursts, stats
        self._cancelled = threading.Event()
        self.stats = Stats()
        self.late_s = 0.0
        """How far behind its pace the last step was."""

    def __enter__(self) -> "PacedStream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        began_s = time.monotonic()
        for burst in self._bursts:
            self._wait(burst, began_s)
            if self._cancelled.is_set():
                break
            yield from burst.events
        self.late_s = time.monotonic() - began_s - (self._bursts[-1].at_s if self._bursts else 0)
        reason: FinishReason = "cancelled" if self._cancelled.is_set() else "stop"
        self.stats = replace(self._final, finish_reason=reason)
        yield Done(self.stats)

    def _wait(self, burst: Burst, began_s: float) -> None:
        """Until `burst` ends."""
        wait_s = burst.at_s - (time.monotonic() - began_s)
        if wait_s > 0:
            time.sleep(wait_s)

    def draft(self, mode: DraftMode) -> None:
        """Its events were made before."""

    def cancel(self) -> None:
        self._cancelled.set()

    def close(self) -> None:
        self.cancel()


class WorkingStream(PacedStream):
    """One answer whose steps are work, as much as one core does in their time when left alone.

    Each is a single call without the interpreter's lock, as a pass of llama.cpp is.
    """

    def __init__(self, bursts: Sequence[Burst], stats: Stats) -> None:
        super().__init__(bursts, stats)
        self._n_done = 0
        self._material = bytes(round(_hashed_per_s() * max(burst.at_s for burst in bursts)))

    def _wait(self, burst: Burst, began_s: float) -> None:
        end = round(len(self._material) * burst.at_s / self._bursts[-1].at_s)
        hashlib.sha256(memoryview(self._material)[self._n_done : end])
        self._n_done = end


@cache
def _hashed_per_s() -> float:
    """Bytes that one core hashes in a second, at its best of some tries."""
    material = bytes(1 << 22)
    took_s = []
    for _ in range(20):
        began_s = time.perf_counter()
        hashlib.sha256(material)
        took_s.append(time.perf_counter() - began_s)
    return len(material) / min(took_s)


@dataclass
class PacedLM:
    """Answers each message with `text` at `tokens_per_s`; 0: as fast as it is read."""

    text: str
    tokens_per_s: float = 300.0
    kind: type[PacedStream] = PacedStream
    description = LONG
    streams: list[PacedStream] = field(default_factory=list)

    def chat(
        self, prompt: Prompt, options: Options | None = None, *, wait: bool = True
    ) -> PacedStream:
        bursts, stats = bursts_of(self.text, self.tokens_per_s)
        self.streams = [self.kind(bursts, stats)]  # the last one: events take memory too
        return self.streams[-1]

    def complete(self, prompt: Prompt, options: Options | None = None) -> Reply:
        return Reply(self.text, "", Stats())

    def count(self, prompt: Prompt, options: Options | None = None) -> int:
        return 10

    def explain(self) -> Explanation | None:
        return None

    def close(self) -> None:
        for stream in self.streams:
            stream.cancel()


def bursts_of(text: str, tokens_per_s: float) -> tuple[list[Burst], Stats]:
    """The steps of `text`, three, one, four, two accepted in turn, and the last statistics."""
    pieces, bursts = pieces_of(text), []
    stats = Stats(prompt_tokens=10, plain_tokens_per_s=20.4)
    at, n_steps = 0, 0
    while at < len(pieces):
        accepted = min(ACCEPTED[n_steps % len(ACCEPTED)], len(pieces) - at - 1)
        committed = pieces[at : at + accepted + 1]
        at, n_steps = at + accepted + 1, n_steps + 1
        drafted = (*committed[:accepted], *[WRONG_PIECE] * (DRAFT_LEN - accepted))
        step = Step(
            drafter="model",
            draft=tuple(range(DRAFT_LEN)),
            tokens=tuple(range(accepted + 1)),
            accepted=accepted,
            discarded=0,
            rows=1 + DRAFT_LEN,
            draft_s=0.014,
            target_s=0.067,
            verify_s=0.0005,
            step_s=0.082,
            context=at,
        )
        stats = folded(stats, step)
        named = zip(step.tokens, committed, sources(DRAFT_LEN, accepted), strict=True)
        tokens = tuple(TokenText(*token) for token in named)
        end_s = at / tokens_per_s if tokens_per_s else 0.0
        events = (Delta("text", "".join(committed), tokens), Round(step, stats, drafted))
        bursts.append(Burst(end_s, events))
    return bursts, stats
