"""Running the arms: one answer after the other, one engine awake at a time.

Knows an `Engine` by its Protocol, so that a test can play one; nothing of files, tables, other
programs or llama.cpp.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from random import Random
from time import perf_counter

from edgespec.bench.engine import OURS, Ask, Engine, EngineFailed, Run
from edgespec.bench.order import abba, mixed
from edgespec.bench.suite import BenchPrompt
from edgespec.core import Sampling

_WARM_UP_TOKENS = 8
_WARM_UP = BenchPrompt(
    "warm-up", "chat", "en", "short", 1, _WARM_UP_TOKENS, (("user", "Count from one to ten."),)
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured."""

    prompts: tuple[BenchPrompt, ...]
    """The most telling first."""
    arms: tuple[str, ...]
    """Of edgespec itself, beside plain decoding, which always takes part."""
    temperatures: tuple[float, ...]
    max_tokens: int | None = None
    """None: as many as each prompt says."""
    n_rounds: int = 1
    """Two answers of each arm per round."""
    seed: int = 1
    """Of the order; the answers' seeds are the prompts' own."""
    budget_s: float | None = None
    """No cell begins that would probably end later; None: all are measured."""

    def n_tokens(self, prompt: BenchPrompt) -> int:
        """The longest answer to `prompt`."""
        return self.max_tokens or prompt.max_tokens


@dataclass(frozen=True, slots=True)
class Cell:
    """All runs of one prompt at one temperature."""

    prompt: str
    kind: str
    lang: str
    length: str
    temperature: float
    prompt_tokens: int
    ttft_s: dict[str, float]
    """By engine: time to the first token of a prompt of which nothing was resident."""
    turns: tuple[tuple[Run, ...], ...]
    """Each turn holds one run of every arm: its pairs are compared with each other. Later turns are
    without the arms of engines that remember."""

    def runs(self, arm: str) -> list[Run]:
        """The runs of one arm, a turn each."""
        return [run for turn in self.turns for run in turn if run.arm == arm]


class Field:
    """The engines that still run, and why others do not."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._engines = list(engines)
        self.failures: dict[str, str] = {}
        """By engine."""

    @property
    def engines(self) -> tuple[Engine, ...]:
        """Those that did not fail."""
        return tuple(self._engines)

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


def measure(
    engines: Field,
    plan: Plan,
    tell: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = perf_counter,
) -> Iterator[Cell]:
    """Measure cell by cell, prompts and arms in an order drawn by `plan.seed`.

    `tell` hears what runs now. The warm-up is dropped.
    """
    began_s = clock()
    random = Random(plan.seed)
    for arm, engine in engines.arms.items():
        tell(f"warming up {arm}")
        with engines.awake(engine):
            engine.answer(arm, Ask(_WARM_UP, Sampling(), _WARM_UP_TOKENS))
    slowest_s = 0.0  # per character read or written
    for prompt in mixed(plan.prompts, random):
        size = prompt.n_chars + 4 * plan.n_tokens(prompt) * len(plan.temperatures)
        cell_began_s = clock()
        ends_s = cell_began_s - began_s + size * slowest_s
        if plan.budget_s is not None and slowest_s and ends_s > plan.budget_s:
            continue
        ttft_s, n_tokens = _read(engines, prompt, tell)
        for temperature in plan.temperatures:
            turns = _turns(engines, plan, prompt, temperature, random, tell)
            yield Cell(
                prompt.name,
                prompt.kind,
                prompt.lang,
                prompt.length,
                temperature,
                n_tokens,
                ttft_s,
                turns,
            )
        slowest_s = max(slowest_s, (clock() - cell_began_s) / size)


def _read(
    engines: Field, prompt: BenchPrompt, tell: Callable[[str], None]
) -> tuple[dict[str, float], int]:
    """Times to the first token by engine, and the prompt's tokens as edgespec counts them."""
    ttft_s, n_tokens = {}, 0
    for engine in engines.engines:
        tell(f"{prompt.name}: {engine.name} reads the prompt")
        with engines.awake(engine):
            reading = engine.read(prompt)
            ttft_s[engine.name] = reading.ttft_s
            n_tokens = n_tokens or reading.n_tokens
    return ttft_s, n_tokens


def _turns(
    engines: Field,
    plan: Plan,
    prompt: BenchPrompt,
    temperature: float,
    random: Random,
    tell: Callable[[str], None],
) -> tuple[tuple[Run, ...], ...]:
    ask = Ask(prompt, Sampling(temperature, seed=prompt.seed), plan.n_tokens(prompt))
    turns = []
    for i, turn in enumerate(abba(tuple(engines.arms), plan.n_rounds, random)):
        runs = []
        for arm in turn:
            engine = engines.arms.get(arm)
            if engine is None or (i and engine.remembers):
                continue  # it failed a moment ago, or would quote itself
            tell(f"{prompt.name} at temperature {temperature:g}: {arm}")
            with engines.awake(engine):
                runs.append(engine.answer(arm, ask))
        turns.append(tuple(runs))
    is_there = set(engines.arms)
    return tuple(tuple(run for run in turn if run.arm in is_there) for turn in turns)


def fitting(plan: Plan, needs: Callable[[BenchPrompt], int], n_ctx: int) -> Plan:
    """The plan without prompts that, with their answer, exceed the context."""
    kept = tuple(p for p in plan.prompts if needs(p) + plan.n_tokens(p) <= n_ctx)
    return replace(plan, prompts=kept)
