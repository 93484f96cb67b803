"""What the tests of the API ask for, and how they read events."""

import math
from collections.abc import Iterable

from edgespec.api.types import Options
from edgespec.core import Sampling
from edgespec.events import Delta, Done, Event, PromptProgress, Round, Stats
from tests.tinygguf import FIRST_BYTE

EVERY_DRAFTER = ("none", "suffix", "model", "cascade", "suffix+model")

READABLE = tuple((FIRST_BYTE + byte, -math.inf) for byte in range(256))
"""A logit bias that leaves a tiny model no half characters to say."""


def options(max_tokens: int | None = 24, *, temperature: float = 0.0, **more: object) -> Options:
    """Options of a short, readable answer."""
    seed = more.pop("seed", 7)
    shaping = Sampling(temperature, logit_bias=READABLE, seed=seed)  # type: ignore[arg-type]
    return Options(shaping, max_tokens, **more)  # type: ignore[arg-type]


def saying(text: str, **more: object) -> Options:
    """Options that leave the model only this to say."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return Options(max_tokens=200, grammar=f'root ::= "{quoted}"', **more)  # type: ignore[arg-type]


def text_of(events: Iterable[Event], kind: str = "text") -> str:
    """The joined text of all deltas of a kind."""
    return "".join(event.text for event in events if isinstance(event, Delta) if event.kind == kind)


def rounds_of(events: Iterable[Event]) -> list[Round]:
    return [event for event in events if isinstance(event, Round)]


def progress_of(events: Iterable[Event]) -> list[PromptProgress]:
    return [event for event in events if isinstance(event, PromptProgress)]


def end_of(events: list[Event]) -> Stats:
    """The statistics of the last event."""
    last = events[-1]
    assert isinstance(last, Done), last
    return last.stats
