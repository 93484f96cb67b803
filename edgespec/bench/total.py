"""The figures of one arm over all prompts."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median

from edgespec.bench.engine import PLAIN, Run
from edgespec.bench.intervals import Interval, intervals
from edgespec.bench.latency import Latency, latency
from edgespec.bench.measure import Cell
from edgespec.bench.score import Score, Shares, log_ratios, shares


@dataclass(frozen=True, slots=True)
class Extreme:
    """A prompt and its ratio."""

    prompt: str
    ratio: float


@dataclass(frozen=True, slots=True)
class Total:
    """One arm over all prompts at one temperature."""

    arm: str
    temperature: float
    n_prompts: int
    tokens_per_s: float
    """All tokens over all time."""
    ratio: float
    """Geometric mean over the prompts."""
    interval: Interval | None
    own_ratio: float | None
    ttft_s: float
    """Median over the prompts."""
    latency: Latency | None
    acceptance: float | None
    mean_acceptance_length: float | None
    acceptance_per_position: tuple[float, ...]
    shares: Shares | None
    energy_j_per_token: float | None
    worst: Extreme
    best: Extreme
    n_losses: int
    """Prompts on which it was slower than plain."""


def totals(cells: Sequence[Cell], scored: Sequence[Score]) -> list[Total]:
    """A line for every arm and temperature, in the order of `scored`."""
    keys = dict.fromkeys((s.temperature, s.arm) for s in scored)
    return [
        _total(
            [s for s in scored if (s.temperature, s.arm) == (temperature, arm)],
            [c for c in cells if c.temperature == temperature and c.runs(arm)],
        )
        for temperature, arm in keys
    ]


def _total(scored: Sequence[Score], cells: Sequence[Cell]) -> Total:
    arm = scored[0].arm
    by_ratio = sorted(scored, key=lambda s: s.ratio)
    runs = [run for cell in cells for run in cell.runs(arm)]
    logs = [log_ratios(cell, arm, PLAIN) for cell in cells]
    own = [s.own_ratio for s in scored if s.own_ratio is not None]
    energies = [run.energy_j for run in runs if run.energy_j is not None]
    n_tokens = sum(run.n_tokens for run in runs)
    drafts = _drafts(runs)
    return Total(
        arm=arm,
        temperature=scored[0].temperature,
        n_prompts=len(scored),
        tokens_per_s=n_tokens / sum(run.wall_s for run in runs),
        ratio=geometric_mean(s.ratio for s in scored),
        interval=intervals(logs).total if arm != PLAIN else None,
        own_ratio=geometric_mean(own) if len(own) == len(scored) else None,
        ttft_s=median([s.ttft_s for s in scored if not math.isnan(s.ttft_s)] or [math.nan]),
        latency=latency(runs),
        acceptance=drafts.acceptance,
        mean_acceptance_length=drafts.mean_length,
        acceptance_per_position=drafts.per_position,
        shares=shares(runs),
        energy_j_per_token=sum(energies) / n_tokens if len(energies) == len(runs) else None,
        worst=Extreme(by_ratio[0].prompt, by_ratio[0].ratio),
        best=Extreme(by_ratio[-1].prompt, by_ratio[-1].ratio),
        n_losses=sum(s.ratio < 1 for s in scored),
    )


@dataclass(frozen=True, slots=True)
class _Drafts:
    acceptance: float | None
    mean_length: float | None
    per_position: tuple[float, ...]


def _drafts(runs: Sequence[Run]) -> _Drafts:
    told = [run.stats for run in runs if run.stats]
    judged = sum(s.accepted + s.rejected for s in told)
    accepted, rounds = sum(s.accepted for s in told), sum(s.rounds for s in told)
    at: Counter[int] = Counter()
    for stats in told:
        at.update(dict(enumerate(stats.accepted_at)))
    return _Drafts(
        accepted / judged if judged else None,
        1 + accepted / rounds if rounds else None,
        tuple(at[i] / rounds for i in range(len(at))) if rounds else (),
    )
