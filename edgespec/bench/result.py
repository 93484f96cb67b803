"""Everything that one benchmark found out, and its form as JSON, there and back."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from edgespec.api.types import PlaceMemory
from edgespec.bench.conditions import Conditions
from edgespec.bench.engine import is_ours
from edgespec.bench.measure import Cell, Plan
from edgespec.bench.memory import Memory
from edgespec.bench.peers.types import Build
from edgespec.bench.revive import plain, revive
from edgespec.bench.sampling import ChainCost
from edgespec.bench.score import Divergence, Score
from edgespec.bench.streams import StreamScore
from edgespec.bench.suite import BenchPrompt
from edgespec.bench.total import Total
from edgespec.costs import PassCosts
from edgespec.errors import UsageError

SCHEMA = 2
"""Counts up whenever a field changes its meaning or goes."""
_WRITES = "edgespec bench --json FILE writes one"


@dataclass(frozen=True, slots=True)
class PromptNote:
    """Which prompt it was; its text is in the suite, or its owner's."""

    name: str
    kind: str
    lang: str
    length: str
    seed: int
    max_tokens: int
    """The longest answer."""
    n_turns: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What was to be measured."""

    prompts: tuple[PromptNote, ...]
    arms: tuple[str, ...]
    temperatures: tuple[float, ...]
    n_rounds: int
    seed: int
    budget_s: float | None
    n_threads: int
    n_ctx: int


def asked(plan: Plan, n_threads: int, n_ctx: int) -> Asked:
    """The plan without its texts."""
    return Asked(
        tuple(_note(prompt, plan) for prompt in plan.prompts),
        plan.arms,
        plan.temperatures,
        plan.n_rounds,
        plan.seed,
        plan.budget_s,
        n_threads,
        n_ctx,
    )


def _note(prompt: BenchPrompt, plan: Plan) -> PromptNote:
    return PromptNote(
        prompt.name,
        prompt.kind,
        prompt.lang,
        prompt.length,
        prompt.seed,
        plan.n_tokens(prompt),
        sum(role == "user" for role, _ in prompt.turns),
    )


@dataclass(frozen=True, slots=True)
class PassSeen:
    """Passes of one width while answering."""

    rows: int
    n: int
    target_ms: float
    """Median."""


@dataclass(frozen=True, slots=True)
class LengthSeen:
    """How often an arm's step drafted so many tokens."""

    arm: str
    drafted: int
    n: int


@dataclass(frozen=True, slots=True)
class ArmNote:
    """An arm, whose it is, and what that engine was built with."""

    arm: str
    engine: str
    build: Build
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark."""

    asked: Asked
    model: Mapping[str, Any]
    """`api.types.Description`."""
    plan: Mapping[str, Any]
    """Where the models went and what that takes, as `edgespec plan` tells."""
    places: tuple[PlaceMemory, ...]
    """What was planned and what was allocated."""
    arms: tuple[ArmNote, ...]
    cells: tuple[Cell, ...]
    scores: tuple[Score, ...]
    totals: tuple[Total, ...]
    divergences: tuple[Divergence, ...]
    """Greedy answers that are not plain decoding's."""
    streams: tuple[StreamScore, ...]
    pass_costs: PassCosts
    """Of the target: what draft lengths are chosen by."""
    draft_pass_s: float | None
    """None without a draft model."""
    passes: tuple[PassSeen, ...]
    lengths: tuple[LengthSeen, ...]
    sampling: tuple[ChainCost, ...]
    memory: Memory
    versions: Mapping[str, str]
    hardware: Mapping[str, Any]
    conditions: Conditions
    commit: str | None
    seconds: float
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Prompts and peers that did not take part, and why."""
    command: str = ""
    """What was typed."""

    @property
    def is_lossless(self) -> bool:
        """Every greedy answer of edgespec's own is plain decoding's, or leaves it at a near-tie."""
        return all(found.difference.is_near_tie for found in self.divergences if is_ours(found.arm))

    def to_dict(self) -> dict[str, Any]:
        """For JSON. What was not measured and what is infinite is null."""
        data: dict[str, Any] = plain(self, leave_out=frozenset({"steps"}))
        for entry, found in zip(data["divergences"], self.divergences, strict=True):
            entry["is_near_tie"] = found.difference.is_near_tie
        return {"schema": SCHEMA, "is_lossless": self.is_lossless, **data}


def load(path: Path) -> Result:
    """A result from its file. Raises: `UsageError` when it is none, or another version's."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    except ValueError as error:  # no JSON, or no text at all
        raise UsageError(f"{path} is no JSON, or was cut short: {error}", hint=_WRITES) from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema is None:
        raise UsageError(f"{path} is no result of edgespec bench", hint=_WRITES)
    if schema != SCHEMA:
        raise UsageError(
            f"{path} has version {schema} of the result's form, but this edgespec reads {SCHEMA}",
            hint="run the benchmark again",
        )
    try:
        found = revive(Result, data)
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is a damaged result: {error}", hint=_WRITES) from error
    if not found.cells:
        raise UsageError(f"{path} holds no measurement", hint="run the benchmark again")
    return found


def passes_seen(cells: Sequence[Cell]) -> tuple[PassSeen, ...]:
    """Passes by width, of those that read nothing beside their draft."""
    times: dict[int, list[float]] = defaultdict(list)
    for step in (s for c in cells for turn in c.turns for run in turn for s in run.steps):
        if step.rows == step.drafted + 1:
            times[step.rows].append(1e3 * step.target_s)
    return tuple(PassSeen(rows, len(ms), median(ms)) for rows, ms in sorted(times.items()))


def lengths_seen(cells: Sequence[Cell]) -> tuple[LengthSeen, ...]:
    """How far each arm drafted."""
    counts: dict[tuple[str, int], int] = defaultdict(int)
    for run in (run for cell in cells for turn in cell.turns for run in turn):
        for step in run.steps:
            counts[run.arm, step.drafted] += 1
    return tuple(LengthSeen(arm, k, n) for (arm, k), n in sorted(counts.items()))
