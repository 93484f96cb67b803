"""Running the arms: one answer after the other, one engine awake at a time.

Knows an `Engine` by its Protocol, so that a test can play one; nothing of files, tables, other
programs or llama.cpp.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from random import Random
from statistics import geometric_mean, median
from time import perf_counter

from edgespec.bench.engine import PLAIN, Ask, Engine, Run
from edgespec.bench.field import Field
from edgespec.bench.order import Task, abba, spread
from edgespec.bench.pace import Pace
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
    """No turn begins that would probably end later; None: all are measured."""

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
    """By engine: time to the first token of a prompt of which nothing was resident, median."""
    turns: tuple[tuple[Run, ...], ...]
    """Each turn holds one run of every arm in the order they took, plain decoding's amid every few
    others: they are compared with each other. Later turns are without the arms of engines that
    remember."""
    readings_s: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """What `ttft_s` is the median of, turn by turn."""

    def runs(self, arm: str) -> list[Run]:
        """The runs of one arm: one in each turn, of plain decoding perhaps several."""
        return [run for turn in self.turns for run in turn if run.arm == arm]

    def speeds(self, arm: str) -> list[float]:
        """Tokens per second of one arm, a figure for each of its turns."""
        found = ([run.tokens_per_s for run in turn if run.arm == arm] for turn in self.turns)
        return [geometric_mean(speeds) for speeds in found if speeds]

    def plus(self, turn: tuple[Run, ...], ttft_s: Mapping[str, float]) -> "Cell":
        """With one more turn, and what each engine took to read before it."""
        known = self.readings_s
        more = {name: (*known.get(name, ()), s) for name, s in ttft_s.items()}
        readings_s = {**known, **more}
        return replace(
            self,
            ttft_s={name: median(found) for name, found in readings_s.items()},
            turns=(*self.turns, turn),
            readings_s=readings_s,
        )


def measure(
    engines: Field,
    plan: Plan,
    tell: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = perf_counter,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Cell]:
    """Answer every prompt once with every arm, in an order drawn by `plan.seed`; then once more in
    the reverse order of arms, and so on: whatever the time ends, each kind had its turn.

    Yields a cell whenever a turn was added to it, with all that it has by then. `tell` hears what
    runs now. The warm-up is dropped, and so is a turn in which `is_stopped`, asked before every
    answer, says so: it is the last.
    """
    began_s = clock()
    random = Random(plan.seed)
    for arm, engine in engines.arms.items():
        tell(f"warming up {arm}")
        with engines.awake(engine):
            engine.answer(arm, Ask(_WARM_UP, Sampling(), _WARM_UP_TOKENS))
    pace = Pace(plan.budget_s, began_s, clock)
    tasks = spread(plan.prompts, plan.temperatures, random)
    orders = {task: abba(tuple(engines.arms), plan.n_rounds, random, PLAIN) for task in tasks}
    cells: dict[Task, Cell] = {}
    seen: set[str] = set()
    for i in range(2 * plan.n_rounds):
        # What had no time for one turn gets no later one.
        for task in tasks if i == 0 else [t for t in cells if len(cells[t].turns) == i]:
            if not pace.has_time(task.prompt, plan.n_tokens(task.prompt), is_first=i == 0):
                continue
            is_new = task.prompt.name not in seen
            seen.add(task.prompt.name)
            takes_part = [e for e in engines.engines if is_new or not e.remembers]
            with pace.reading(task.prompt):
                n_tokens, ttft_s = _read(engines, takes_part, task.prompt, tell)
            if is_stopped():
                return
            with pace.answering(plan.n_tokens(task.prompt)):
                arms = takewhile(lambda _: not is_stopped(), orders[task][i])
                turn = _turn(engines, plan, task, arms, tell, is_new=is_new)
            if is_stopped():
                return
            before = cells.get(task) or _empty(task, n_tokens)
            cells[task] = before.plus(turn, ttft_s)
            yield cells[task]


def _empty(task: Task, n_tokens: int) -> Cell:
    prompt = task.prompt
    return Cell(
        prompt.name, prompt.kind, prompt.lang, prompt.length, task.temperature, n_tokens, {}, ()
    )


def _read(
    field: Field, engines: Sequence[Engine], prompt: BenchPrompt, tell: Callable[[str], None]
) -> tuple[int, dict[str, float]]:
    """The prompt's tokens as edgespec counts them, and times to the first token by engine."""
    ttft_s: dict[str, float] = {}
    n_tokens = 0
    for engine in engines:
        tell(f"{prompt.name}: {engine.name} reads the prompt")
        with field.awake(engine):
            reading = engine.read(prompt)
            if not math.isnan(reading.ttft_s):
                ttft_s[engine.name] = reading.ttft_s
            n_tokens = n_tokens or reading.n_tokens
    return n_tokens, ttft_s


def _turn(
    engines: Field,
    plan: Plan,
    task: Task,
    order: Iterable[str],
    tell: Callable[[str], None],
    *,
    is_new: bool,
) -> tuple[Run, ...]:
    prompt = task.prompt
    ask = Ask(prompt, Sampling(task.temperature, seed=prompt.seed), plan.n_tokens(prompt))
    runs = []
    for arm in order:
        engine = engines.arms.get(arm)
        if engine is None or (engine.remembers and not is_new):
            continue  # it failed a moment ago, or would quote itself
        tell(f"{prompt.name} at temperature {task.temperature:g}: {arm}")
        with engines.awake(engine):
            runs.append(engine.answer(arm, ask))
    return tuple(runs)


def fitting(plan: Plan, needs: Callable[[BenchPrompt], int], n_ctx: int) -> Plan:
    """The plan without prompts that, with their answer, exceed the context."""
    kept = tuple(p for p in plan.prompts if needs(p) + plan.n_tokens(p) <= n_ctx)
    return replace(plan, prompts=kept)
