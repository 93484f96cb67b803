"""Running the arms: one answer after the other, measured from outside the engine.

Knows a `Subject`, so that a test can play one; nothing of files, tables or llama.cpp.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from edgespec.api.types import LanguageModel, Options
from edgespec.bench.order import abba
from edgespec.bench.suite import BenchPrompt
from edgespec.core import Sampling
from edgespec.events import PromptProgress, Round, Stats

PLAIN = "none"
_SEED = 20_240_611
_WARM_UP_TOKENS = 8


class Subject(Protocol):
    """A loaded model whose caches can be emptied between answers."""

    @property
    def model(self) -> LanguageModel:
        """What answers."""
        ...

    @property
    def native_s(self) -> float:
        """Seconds spent in llama.cpp's passes so far, of target and draft model together."""
        ...

    def forget_prompt(self) -> None:
        """Empty the target's cache."""
        ...

    def forget_draft(self) -> None:
        """Empty the draft model's cache."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured."""

    prompts: tuple[BenchPrompt, ...]
    drafters: tuple[str, ...]
    """Beside plain decoding, which always takes part."""
    temperatures: tuple[float, ...]
    max_tokens: int
    n_rounds: int = 1
    """Two answers of each arm per round."""

    @property
    def arms(self) -> tuple[str, ...]:
        """Plain decoding, then the drafters."""
        return (PLAIN, *(name for name in self.drafters if name != PLAIN))


@dataclass(frozen=True, slots=True)
class Run:
    """One measured answer. The prompt was resident, the draft model's cache empty."""

    drafter: str
    tokens: tuple[int, ...]
    stats: Stats
    wall_s: float
    """From the first step's beginning to the last event, with all that a reader waits for."""
    native_s: float
    """Of `wall_s`, spent inside llama.cpp's passes."""

    @property
    def tokens_per_s(self) -> float:
        """Speed of decoding as a reader sees it."""
        return len(self.tokens) / self.wall_s


@dataclass(frozen=True, slots=True)
class Cell:
    """All runs of one prompt at one temperature."""

    prompt: str
    temperature: float
    prompt_tokens: int
    ttft_s: float
    """Time to the first token of a prompt of which nothing was resident, plain."""
    turns: tuple[tuple[Run, ...], ...]
    """Each turn holds one run of every arm: its pairs are compared with each other."""


def measure(
    subject: Subject, plan: Plan, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Cell]:
    """Measure cell by cell. `tell` hears what runs now."""
    for arm in plan.arms:
        tell(f"warming up {arm}")
        _answer(subject, plan.prompts[0], arm, Sampling(), _WARM_UP_TOKENS)
    offset = 0
    for prompt in plan.prompts:
        tell(f"{prompt.name}: reading the prompt")
        cold = _read_cold(subject, prompt)
        assert cold.ttft_s is not None, "an answer of one token has a first token"
        for temperature in plan.temperatures:
            sampling = Sampling(temperature=temperature, seed=_SEED)
            turns = []
            for turn in abba(plan.arms, plan.n_rounds, offset):
                runs = []
                for arm in turn:
                    tell(f"{prompt.name} at temperature {temperature:g}: {arm}")
                    runs.append(_answer(subject, prompt, arm, sampling, plan.max_tokens))
                turns.append(tuple(runs))
            yield Cell(prompt.name, temperature, cold.prompt_tokens, cold.ttft_s, tuple(turns))
            offset += 1


def _read_cold(subject: Subject, prompt: BenchPrompt) -> Stats:
    subject.forget_prompt()
    return subject.model.complete(prompt.text, Options(max_tokens=1, drafter=PLAIN)).stats


def _answer(
    subject: Subject, prompt: BenchPrompt, drafter: str, sampling: Sampling, max_tokens: int
) -> Run:
    model = subject.model
    # All arms find the same prompt resident, and none the draft model's work of another.
    model.complete(prompt.text, Options(max_tokens=0, drafter=PLAIN))
    subject.forget_draft()
    native_s = subject.native_s
    tokens: list[int] = []
    began_s = perf_counter()
    with model.chat(prompt.text, Options(sampling, max_tokens, drafter=drafter)) as stream:
        for event in stream:
            if isinstance(event, PromptProgress):
                began_s = perf_counter()
            elif isinstance(event, Round):
                tokens += event.step.tokens
        wall_s = perf_counter() - began_s
    return Run(drafter, tuple(tokens), stream.stats, wall_s, subject.native_s - native_s)
