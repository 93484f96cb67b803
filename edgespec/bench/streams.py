"""Several readers at once: where speculation stops paying.

Drafts use what a processor has left over while it decodes one answer. Many answers at once may
leave nothing over, if the engine decodes them together; an engine that queues them cannot use that.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random
from statistics import geometric_mean, median
from time import perf_counter
from typing import Protocol

from edgespec.bench.engine import PLAIN, Ask, Run
from edgespec.bench.field import Field
from edgespec.bench.order import abba
from edgespec.bench.suite import BenchPrompt
from edgespec.core import Sampling


class Crowd(Protocol):
    """An engine that several readers may ask at once."""

    name: str
    arms: tuple[str, ...]
    is_batching: bool
    """It decodes their answers together; else they queue."""

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


def measure_streams(
    engines: Field,
    plan: StreamPlan,
    tell: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = perf_counter,
) -> Iterator[StreamScore]:
    """Level by level, arms in turns, forth and back; none begins that would exceed the budget."""
    random, began_s = Random(plan.seed), clock()
    per_stream_s = 0.0
    for n in plan.levels:
        level_began_s = clock()
        will_end_s = level_began_s - began_s + n * per_stream_s
        if plan.budget_s is not None and per_stream_s and will_end_s > plan.budget_s:
            return
        seen: dict[str, list[tuple[Run, ...]]] = {}
        crowds = {arm: engine for arm, engine in engines.arms.items() if arm in plan.arms}
        for turn in abba(tuple(crowds), plan.n_rounds, random):
            for arm in (arm for arm in turn if arm in engines.arms):
                tell(f"{n} at once: {arm}")
                with engines.awake(crowds[arm]):
                    seen.setdefault(arm, []).append(_together(crowds[arm], arm, n, plan, clock))
        yield from _scores(seen, n, {arm: _batches(crowds[arm]) for arm in seen})
        per_stream_s = max(per_stream_s, (clock() - level_began_s) / n)


def _batches(engine: object) -> bool:
    return bool(getattr(engine, "is_batching", False))


def _together(
    engine: object, arm: str, n: int, plan: StreamPlan, clock: Callable[[], float]
) -> tuple[Run, ...]:
    crowd: Crowd = engine  # type: ignore[assignment]  # arms of other engines are not in the plan
    asks = [
        Ask(prompt, Sampling(seed=prompt.seed), plan.max_tokens)
        for prompt in (plan.prompts[i % len(plan.prompts)] for i in range(n))
    ]
    began_s = clock()
    with ThreadPoolExecutor(n, "edgespec-reader") as readers:
        answers = [readers.submit(crowd.one_of_many, arm, ask, began_s) for ask in asks]
        return tuple(answer.result() for answer in answers)


def _scores(
    seen: dict[str, list[tuple[Run, ...]]], n: int, is_batched: dict[str, bool]
) -> Iterator[StreamScore]:
    speeds = {arm: [_speed(runs) for runs in turns] for arm, turns in seen.items()}
    for arm, turns in seen.items():
        if len(turns) != len(seen[PLAIN]):
            continue  # its engine failed between two turns
        ratios = [a / b for a, b in zip(speeds[arm], speeds[PLAIN], strict=True)]
        firsts = [run.arrivals[0][0] for runs in turns for run in runs if run.arrivals]
        yield StreamScore(
            arm,
            n,
            tokens_per_s=median(speeds[arm]),
            ratio=geometric_mean(ratios),
            reader_tokens_per_s=median(_reader_speed(run) for runs in turns for run in runs),
            ttft_s=median(firsts),
            worst_ttft_s=max(firsts),
            is_batched=is_batched[arm],
        )


def _speed(runs: Sequence[Run]) -> float:
    return sum(run.n_tokens for run in runs) / max(run.wall_s for run in runs)


def _reader_speed(run: Run) -> float:
    (first_s, n_first), last_s = run.arrivals[0], run.arrivals[-1][0]
    rest = run.n_tokens - n_first
    return rest / (last_s - first_s) if rest and last_s > first_s else run.n_tokens / run.wall_s
