"""Several readers at once: where speculation stops paying.

Drafts use what a processor has left over while it decodes one answer. Many answers at once may
leave nothing over, if the engine decodes them together; an engine that queues them cannot use that.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean, median
from time import perf_counter
from typing import Protocol, runtime_checkable

from edgespec.bench.engine import AUTO, PLAIN, Ask, Engine, Run
from edgespec.bench.field import Field
from edgespec.bench.intervals import Interval, intervals
from edgespec.bench.measure import Plan
from edgespec.bench.order import abba
from edgespec.bench.suite import BenchPrompt
from edgespec.core import Sampling

_WANTED = (PLAIN, AUTO, "llama-server:plain", "llama-server:ngram-simple")
_TOKENS = 48
_SHARE = 0.3
"""Of the time."""
_MOST_KINDS = 4


@runtime_checkable
class Crowd(Engine, Protocol):
    """An engine that several readers may ask at once."""

    is_batching: bool
    """It decodes their answers together; else they queue."""

    def forget(self) -> None:
        """Before a turn: nothing that an earlier one read may be resident in this one."""
        ...

    def one_of_many(self, arm: str, ask: Ask, began_s: float) -> Run:
        """One answer, prompt and waiting included; times count from `began_s`. Any thread."""
        ...


@dataclass(frozen=True, slots=True)
class StreamScore:
    """One arm with a number of readers; medians over the turns."""

    arm: str
    n_streams: int
    tokens_per_s: float
    """All answers together, from the first request to the last token."""
    ratio: float
    """To edgespec's plain decoding with as many readers."""
    reader_tokens_per_s: float
    """What one reader sees once it is their turn, median."""
    ttft_s: float
    """Median over the readers."""
    worst_ttft_s: float
    is_batched: bool
    interval: Interval | None = None
    """Of `ratio`; turns are taken to be as noisy with many readers as with few. None where too
    little was repeated."""


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """What is to be measured."""

    prompts: Sequence[BenchPrompt]
    """Readers take them in turn."""
    arms: tuple[str, ...]
    levels: tuple[int, ...]
    max_tokens: int
    seed: int = 1
    n_rounds: int = 1
    budget_s: float | None = None


def shared_out(plan: Plan, engines: Field, levels: tuple[int, ...]) -> tuple[Plan, StreamPlan]:
    """What is measured with one reader alone, and what with several, in a share of the time each.

    Readers ask for different kinds of work: where no draft pays, none could stop paying.
    """
    by_kind: dict[str, list[BenchPrompt]] = {}
    for prompt in plan.prompts:
        by_kind.setdefault(prompt.kind, []).append(prompt)
    shortest = [min(found, key=lambda p: p.n_bytes) for found in by_kind.values()][:_MOST_KINDS]
    arms = tuple(arm for arm in _WANTED if arm in crowds_of(engines))
    if AUTO not in arms:
        arms += tuple(arm for arm in plan.arms if arm != PLAIN)[:1]
    budget_s = plan.budget_s if levels else None
    crowded = StreamPlan(
        shortest,
        arms,
        levels,
        min(_TOKENS, *(plan.n_tokens(prompt) for prompt in shortest)),
        seed=plan.seed,
        budget_s=None if budget_s is None else _SHARE * budget_s,
    )
    alone = plan if budget_s is None else replace(plan, budget_s=(1 - _SHARE) * budget_s)
    return alone, crowded


def with_rest(crowded: StreamPlan, plan: Plan, taken_s: float) -> StreamPlan:
    """`crowded` with all the time that is left, if one reader alone needed less than their share;
    `taken_s`: of the whole time of `plan`."""
    if crowded.budget_s is None or plan.budget_s is None:
        return crowded
    return replace(crowded, budget_s=max(crowded.budget_s, plan.budget_s - taken_s))


@dataclass(frozen=True, slots=True)
class _Level:
    """What was seen with a number of readers."""

    n: int
    turns: dict[str, list[tuple[Run, ...]]]
    """By arm, the runs of all readers, turn by turn."""
    is_batched: dict[str, bool]


def measure_streams(
    engines: Field,
    plan: StreamPlan,
    tell: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = perf_counter,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Iterator[StreamScore]:
    """Level by level, arms in turns, forth and back; none begins that would exceed the budget. A
    level in which `is_stopped` says so is dropped, and is the last."""
    return _scores(list(_measured(engines, plan, tell, clock, is_stopped)))


def _measured(
    engines: Field,
    plan: StreamPlan,
    tell: Callable[[str], None],
    clock: Callable[[], float],
    is_stopped: Callable[[], bool],
) -> Iterator[_Level]:
    random, began_s = Random(plan.seed), clock()
    per_stream_s = 0.0
    for n in plan.levels:
        level_began_s = clock()
        will_end_s = level_began_s - began_s + n * per_stream_s
        if plan.budget_s is not None and per_stream_s and will_end_s > plan.budget_s:
            return
        seen: dict[str, list[tuple[Run, ...]]] = {}
        crowds = {arm: crowd for arm, crowd in crowds_of(engines).items() if arm in plan.arms}
        for turn in abba(tuple(crowds), plan.n_rounds, random):
            for arm in (arm for arm in turn if arm in engines.arms):
                if is_stopped():
                    return
                tell(f"{n} at once: {arm}")
                with engines.awake(crowds[arm]):
                    seen.setdefault(arm, []).append(_together(crowds[arm], arm, n, plan, clock))
        whole = {  # the others' engine failed between two turns
            arm: seen[arm]
            for arm in plan.arms
            if arm in seen and len(seen[arm]) == len(seen[PLAIN])
        }
        yield _Level(n, whole, {arm: crowds[arm].is_batching for arm in whole})
        per_stream_s = max(per_stream_s, (clock() - level_began_s) / n)


def crowds_of(engines: Field) -> dict[str, Crowd]:
    """By arm, the engines that several readers may ask."""
    return {arm: engine for arm, engine in engines.arms.items() if isinstance(engine, Crowd)}


def _together(
    crowd: Crowd, arm: str, n: int, plan: StreamPlan, clock: Callable[[], float]
) -> tuple[Run, ...]:
    asks = [
        Ask(prompt, Sampling(seed=prompt.seed), plan.max_tokens)
        for prompt in (plan.prompts[i % len(plan.prompts)] for i in range(n))
    ]
    crowd.forget()
    began_s = clock()
    with ThreadPoolExecutor(n, "edgespec-reader") as readers:
        answers = [readers.submit(crowd.one_of_many, arm, ask, began_s) for ask in asks]
        return tuple(answer.result() for answer in answers)


def _scores(levels: Sequence[_Level]) -> Iterator[StreamScore]:
    known: dict[tuple[str, int], Interval | None] = {}
    for arm in dict.fromkeys(arm for level in levels for arm in level.turns if arm != PLAIN):
        at = [level for level in levels if arm in level.turns]
        found = intervals([_logs(level, arm) for level in at]).groups
        known |= {(arm, level.n): interval for level, interval in zip(at, found, strict=True)}
    for level in levels:
        for arm, turns in level.turns.items():
            firsts = [run.arrivals[0][0] for runs in turns for run in runs if run.arrivals]
            yield StreamScore(
                arm,
                level.n,
                tokens_per_s=median(map(_speed, turns)),
                ratio=math.exp(fmean(_logs(level, arm))),
                reader_tokens_per_s=median(_reader_speed(run) for runs in turns for run in runs),
                ttft_s=median(firsts),
                worst_ttft_s=max(firsts),
                is_batched=level.is_batched[arm],
                interval=known.get((arm, level.n)),
            )


def _logs(level: _Level, arm: str) -> list[float]:
    """Turn by turn, the logarithm of an arm's speed over plain decoding's."""
    pairs = zip(level.turns[arm], level.turns[PLAIN], strict=True)
    return [math.log(_speed(runs) / _speed(plain)) for runs, plain in pairs]


def _speed(runs: Sequence[Run]) -> float:
    return sum(run.n_tokens for run in runs) / max(run.wall_s for run in runs)


def _reader_speed(run: Run) -> float:
    (first_s, n_first), last_s = run.arrivals[0], run.arrivals[-1][0]
    rest = run.n_tokens - n_first
    return rest / (last_s - first_s) if rest and last_s > first_s else run.n_tokens / run.wall_s
