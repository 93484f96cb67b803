"""A benchmark without models: engines that decode by a script, and a clock that they move."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from edgespec.api.types import PlaceMemory
from edgespec.bench.conditions import Conditions, Moment
from edgespec.bench.engine import OURS, PLAIN, Ask, EngineFailed, Reading, Run
from edgespec.bench.field import Field
from edgespec.bench.measure import Cell, Plan, measure
from edgespec.bench.memory import Memory
from edgespec.bench.peers.types import Build, PeerInputs
from edgespec.bench.result import ArmNote, Result, asked, lengths_seen, passes_seen
from edgespec.bench.sampling import ChainCost
from edgespec.bench.score import Divergence, scores
from edgespec.bench.streams import StreamScore
from edgespec.bench.suite import BenchPrompt
from edgespec.bench.total import totals
from edgespec.core import Sampling
from edgespec.costs import PassCosts
from edgespec.equality import Difference
from edgespec.events import Stats, Step

MOMENT = Moment(
    load=0.5, temperature_c=None, clock_mhz=None, n_throttled=None, stolen_s=0.0, busy_s=9.0
)


def prompt(name: str, *, kind: str = "chat", max_tokens: int = 20) -> BenchPrompt:
    return BenchPrompt(name, kind, "en", "short", 3, max_tokens, (("user", f"Say {name}."),))


@dataclass
class FakeClock:
    """Time that stands still unless somebody moves it."""

    now_s: float = 100.0

    def __call__(self) -> float:
        return self.now_s


class SlowPhases:
    """A shared machine: for about a minute now and then, all takes 20 to 80 % longer."""

    def __init__(self, seed: int, every_s: float = 90.0, last_s: float = 60.0) -> None:
        self._random = Random(seed)
        self._mean_s = (every_s, last_s)
        self._ends: list[float] = [0.0]
        self._factors: list[float] = [1.0]

    def __call__(self, now_s: float) -> float:
        while self._ends[-1] <= now_s:
            is_slow = len(self._ends) % 2
            self._ends.append(self._ends[-1] + self._random.expovariate(1 / self._mean_s[is_slow]))
            self._factors.append(self._random.uniform(1.2, 1.8) if is_slow else 1.0)
        return self._factors[bisect_right(self._ends, now_s)]


def _as_fast_as_ever(now_s: float) -> float:
    return 1.0


@dataclass
class ScriptedEngine:
    """Implements `measure.Engine`: every arm takes its own time per token, with noise and drift."""

    clock: FakeClock
    token_s: Mapping[str, float]
    """By arm."""
    name: str = OURS
    plain: str | None = PLAIN
    noise: float = 0.0
    """Standard deviation of a run's speed, as a share."""
    drift: float = 0.0
    """How much slower the machine becomes per second, as a share."""
    phases: Callable[[float], float] = _as_fast_as_ever
    """By the clock, how many times as long everything takes."""
    seed: int = 0
    changed: Mapping[str, int] = field(default_factory=dict)
    """By arm, the answer's token that differs from all others'."""
    fails_at: int | None = None
    """The answer that breaks off, from 0."""
    log: list[str] = field(default_factory=list)
    is_batching: bool = False
    remembers: bool = False

    def __post_init__(self) -> None:
        self.arms = tuple(self.token_s)
        self._random = Random(self.seed)
        self._began_s = self.clock.now_s
        self._n = 0

    def wake(self) -> None:
        self.log.append(f"wake {self.name}")

    def rest(self) -> None:
        self.log.append(f"rest {self.name}")

    def read(self, prompt: BenchPrompt) -> Reading:
        self.log.append(f"read {prompt.name}")
        self.clock.now_s += 0.5
        return Reading(50, 0.5)

    def answer(self, arm: str, ask: Ask) -> Run:
        self.log.append(f"{arm} {ask.prompt.name} {ask.sampling.temperature:g} {ask.max_tokens}")
        self._n += 1
        if self._n - 1 == self.fails_at:
            raise EngineFailed(f"{self.name} broke off")
        return self._run(arm, ask, self.clock.now_s)

    def forget(self) -> None:
        self.log.append(f"forget {self.name}")

    def one_of_many(self, arm: str, ask: Ask, began_s: float) -> Run:
        return self._run(arm, ask, began_s)

    def _run(self, arm: str, ask: Ask, began_s: float) -> Run:
        slower = 1 + self.drift * (self.clock.now_s - self._began_s)
        pace_s = self.token_s[arm] * slower * math.exp(self._random.gauss(0, self.noise))
        arrivals = []
        for _ in range(ask.max_tokens):
            self.clock.now_s += pace_s * self.phases(self.clock.now_s)
            arrivals.append((self.clock.now_s - began_s, 1))
        tokens = [100 + i for i in range(ask.max_tokens)]
        if arm in self.changed:
            tokens[self.changed[arm]] += 1
        n = ask.max_tokens
        stats = Stats(generated_tokens=n, passes=n, decode_s=n * pace_s, target_s=0.9 * n * pace_s)
        return Run(
            arm,
            tuple(tokens),
            n,
            self.clock.now_s - began_s,
            tuple(arrivals),
            native_s=0.9 * n * pace_s,
            stats=stats,
            steps=tuple(_step(token) for token in tokens),
        )


def _step(token: int) -> Step:
    return Step("none", (), (token,), 0, 0, 1, 0.0, 0.04, 0.0, 0.045, 50)


def cells_of(engine: ScriptedEngine, plan: Plan) -> tuple[Cell, ...]:
    return cells_of_all([engine], plan)


def cells_of_all(engines: Sequence[ScriptedEngine], plan: Plan) -> tuple[Cell, ...]:
    """Each cell as it is when its last turn was added."""
    return finished(measure(Field(engines), plan, clock=engines[0].clock))


def finished(grown: Iterable[Cell]) -> tuple[Cell, ...]:
    return tuple({(cell.prompt, cell.temperature): cell for cell in grown}.values())


def plan_of(*names: str, arms: tuple[str, ...] = ("suffix",), **shape: object) -> Plan:
    prompts = tuple(prompt(name) for name in names or ("a", "b", "c", "d"))
    return Plan(prompts, arms, **{"temperatures": (0.0,), **shape})  # type: ignore[arg-type]


def result_of(
    cells: tuple[Cell, ...],
    plan: Plan,
    *,
    arms: tuple[str, ...] = (PLAIN, "suffix"),
    divergences: tuple[Divergence, ...] = (),
    streams: tuple[StreamScore, ...] = (),
) -> Result:
    """A result as `main.run` makes it, of the cells."""
    plain_of = {arm: arm.partition(":")[0] + ":plain" if ":" in arm else PLAIN for arm in arms}
    scored = scores(cells, plain_of, is_deterministic=lambda arm: arm == "suffix")
    return Result(
        asked=asked(plan, n_threads=2, n_ctx=8192),
        model={
            "target": "a-model", "target_quant": "Q4_K_M", "draft": "a-draft",
            "draft_quant": "Q8_0", "drafter": "suffix", "drafter_note": "the draft is left out",
            "backend": "CPU, 2 threads", "n_ctx": 8192,
        },
        plan={"target_id": "a-model"},
        places=(PlaceMemory("CPU", 300 * 2**20, 290 * 2**20),),
        arms=tuple(
            ArmNote(
                arm,
                arm if ":" in arm else OURS,
                Build("1.0", ("AVX2", "FMA") if ":" not in arm else ("AVX2",), 2),
                2**30,
            )
            for arm in arms
        ),
        cells=cells,
        scores=tuple(scored),
        totals=tuple(totals(cells, scored)),
        divergences=divergences,
        streams=streams,
        pass_costs=PassCosts((1, 4), (0.084, 0.11525)),
        draft_pass_s=0.007,
        passes=passes_seen(cells),
        lengths=lengths_seen(cells),
        sampling=(ChainCost("greedy", "flat", 1, 0.031, 0.03, 0.002),),
        memory=Memory(400 * 2**20, {"model": 92 * 2**20, "KV": 180 * 2**20}),
        versions={"edgespec": "0.1.0"},
        hardware={"cpu": "a CPU", "cores": {"usable": 2, "logical": 2}, "system": "Linux",
                  "load": 0.5},
        conditions=Conditions(MOMENT, MOMENT, "this machine reports no energy"),
        commit="0123456789abcdef",
        seconds=61.0,
        command="edgespec bench -t a-model",
    )  # fmt: skip


STREAM = StreamScore("none", 4, 20.0, 1.0, 5.0, 1.5, 3.0, is_batched=False)


def result(*divergences: Divergence) -> Result:
    engine = ScriptedEngine(FakeClock(), {PLAIN: 0.05, "suffix": 0.025}, noise=0.01)
    plan = plan_of("a", "b", "c", "d")
    return result_of(cells_of(engine, plan), plan, divergences=divergences, streams=(STREAM,))


def with_peer(pace_s: float, plain_s: float = 0.04) -> Result:
    clock = FakeClock()
    ours = ScriptedEngine(clock, {PLAIN: 0.05, "suffix": 0.025})
    peers = [
        ScriptedEngine(clock, {name: s}, name=name, plain="other:plain")
        for name, s in (("other:plain", plain_s), ("other:fast", pace_s))
    ]
    plan = plan_of("a")
    cells = cells_of_all([ours, *peers], plan)
    return result_of(cells, plan, arms=(PLAIN, "suffix", "other:plain", "other:fast"))


def diverged(gap: float, deviation: float, arm: str = "suffix") -> Divergence:
    difference = Difference(at=2, plain=3, other=9, gap=gap, deviation=deviation)
    return Divergence("a", arm, difference, " a", " an")


ASK_SERVED = Ask(prompt("a"), Sampling(0.5, seed=9), 4)
SERVED_INPUTS = PeerInputs(
    Path("model.gguf"), None, 8192, 2, 1, lambda p: [1, 2, 3], quant="Q4_K_M"
)
"""What servers that run already are asked, and beside which model of edgespec."""
