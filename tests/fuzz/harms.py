"""What can go wrong in the middle of an answer, as context managers around it."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Any

from edgespec.api.stream import AnswerStream
from edgespec.errors import DecodeFailed, EngineError
from tests.fuzz.setups import Loaded

Harm = Callable[[Loaded, AnswerStream, random.Random], AbstractContextManager[None]]


class Injected(Exception):
    """A drafter's own fault."""


@contextmanager
def cancel(loaded: Loaded, stream: AnswerStream, rng: random.Random) -> Iterator[None]:
    """Cancelled inside a native pass of any model."""
    last = rng.randint(1, 12)

    def before(number: int) -> None:
        if number == last:
            stream.cancel()

    with _passes(loaded, rng, before):
        yield


@contextmanager
def fail(loaded: Loaded, stream: AnswerStream, rng: random.Random) -> Iterator[None]:
    """A native pass of any model fails, with some of its rows in the cache."""
    first, share, n = rng.randint(1, 12), rng.choice((0.0, 0.5, 1.0)), rng.choice((1, 1, 2, 5))
    with _passes(loaded, rng, lambda number: share if first <= number < first + n else None):
        yield


@contextmanager
def _passes(
    loaded: Loaded, rng: random.Random, before: Callable[[int], float | None]
) -> Iterator[None]:
    """`before` hears the number of each pass of one of the models, and says after which share of
    its rows it fails."""
    sessions = [loaded.target, loaded.model._loaded.draft_session]
    sessions += [lower.session for lower in loaded.model._loaded.lower]
    context: Any = rng.choice([session for session in sessions if session is not None])._context
    numbers, real = count(1), type(context).decode

    def decode(batch: Any) -> None:
        share = before(next(numbers))
        if share is None:
            real(context, batch)
            return
        n_rows, n_logits = batch.n_rows, batch.n_logits
        batch.n_rows = int(n_rows * share)
        if batch.n_rows:
            batch.n_logits = min(n_logits, batch.n_rows)
            real(context, batch)
        batch.n_rows, batch.n_logits = n_rows, n_logits
        raise DecodeFailed("injected")

    context.decode = decode
    try:
        yield
    finally:
        _wait(loaded)
        del context.decode


@contextmanager
def lose_state(loaded: Loaded, stream: AnswerStream, rng: random.Random) -> Iterator[None]:
    """A state cannot be saved."""
    context: Any = loaded.target._context
    last, numbers, real = rng.randint(1, 6), count(1), type(context).save_state

    def save_state() -> bytes:
        if next(numbers) == last:
            raise EngineError("injected")
        found: bytes = real(context)
        return found

    context.save_state = save_state
    try:
        yield
    finally:
        _wait(loaded)
        del context.save_state


@contextmanager
def trip_up(loaded: Loaded, stream: AnswerStream, rng: random.Random) -> Iterator[None]:
    """A drafter raises what nobody expects."""
    drafters = [d for name, d in loaded.model._engine.drafters.items() if name != "chaos"]
    last, numbers, undo = rng.randint(1, 6), count(1), []
    for drafter in drafters:
        name = rng.choice(("draft", "draft_while", "learn"))
        real = getattr(drafter, name, None)
        if real is None or name in vars(drafter):
            continue

        def raising(*given: Any, real: Any = real) -> Any:
            if next(numbers) == last:
                raise Injected
            return real(*given)

        setattr(drafter, name, raising)
        undo.append((drafter, name))
    try:
        yield
    finally:
        _wait(loaded)
        for drafter, name in undo:
            delattr(drafter, name)


@contextmanager
def break_off(loaded: Loaded, stream: AnswerStream, rng: random.Random) -> Iterator[None]:
    """The consumer goes away."""
    yield
    _wait(loaded)


def _wait(loaded: Loaded) -> None:
    """Until the engine has let go."""
    while loaded.model._worker.is_busy:
        for answer in tuple(loaded.model._answers):
            answer.cancel()
        time.sleep(0.0005)


HARMS: tuple[Harm, ...] = (cancel, cancel, fail, fail, lose_state, trip_up, break_off)
