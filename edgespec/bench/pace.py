"""How long turns take, and so whether there is time for another."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from edgespec.bench.suite import BenchPrompt

_FIRST_TURNS = 2 / 3
"""Of the time: then turns are repeated, since without any repeat no noise would be known."""
_FRAME_BYTES = 200
"""What templates and the first token cost, as if it were to be read."""


@dataclass(slots=True)
class Pace:
    """Whether there is time for another turn of all arms, as turns went so far."""

    budget_s: float | None
    began_s: float
    clock: Callable[[], float]
    read_s: float = 0.0
    read_bytes: int = 0
    answer_s: float = 0.0
    answer_tokens: int = 0

    def has_time(self, prompt: BenchPrompt, n_tokens: int, *, is_first: bool) -> bool:
        """Whether it ends in time; first turns leave some of it to second ones."""
        if self.budget_s is None or not self.answer_tokens:
            return True
        takes_s = _to_read(prompt) * self.read_s / self.read_bytes
        takes_s += n_tokens * self.answer_s / self.answer_tokens
        ends_s = self.clock() - self.began_s + takes_s
        return ends_s <= self.budget_s * (_FIRST_TURNS if is_first else 1)

    @contextmanager
    def reading(self, prompt: BenchPrompt) -> Iterator[None]:
        """Learn from all engines' reading how long it takes."""
        began_s = self.clock()
        yield
        self.read_s += self.clock() - began_s
        self.read_bytes += _to_read(prompt)

    @contextmanager
    def answering(self, n_tokens: int) -> Iterator[None]:
        """Learn from all arms' answers how long they take."""
        began_s = self.clock()
        yield
        self.answer_s += self.clock() - began_s
        self.answer_tokens += n_tokens


def _to_read(prompt: BenchPrompt) -> int:
    """Bytes, with what templates and the first token cost beside them."""
    return prompt.n_bytes + _FRAME_BYTES
