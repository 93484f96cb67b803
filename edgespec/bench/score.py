"""From measured runs to the figures of one arm: on one prompt, and over all."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from edgespec.bench.engine import OURS, PLAIN, Run, is_ours
from edgespec.bench.intervals import Interval, intervals
from edgespec.bench.latency import Latency, latency
from edgespec.bench.measure import Cell
from edgespec.equality import Difference, first_difference


@dataclass(frozen=True, slots=True)
class Shares:
    """Where the time of decoding went; sums to 1."""

    draft: float
    target: float
    """Passes of the target: the verification of a draft, or a plain step."""
    verify: float
    """Shaping, judging and drawing from the rows of a pass."""
    host: float
    """Everything else: text, events, threads."""


@dataclass(frozen=True, slots=True)
class Score:
    """Medians over the runs of one arm in one cell; per step where nothing else is said.

    What only edgespec tells of itself is None for another engine.
    """

    prompt: str
    kind: str
    lang: str
    temperature: float
    arm: str
    n_tokens: int
    tokens_per_s: float
    ratio: float
    """Geometric mean over the turns of speed to edgespec's plain decoding's beside it in the same
    turn; 1 for plain itself."""
    interval: Interval | None
    """Of `ratio`; None where too little was repeated."""
    own_ratio: float | None
    """The same to the plain arm of the arm's own engine."""
    ttft_s: float
    """Time to the first token of a prompt of which nothing was resident, plain."""
    latency: Latency | None
    tokens_per_pass: float | None
    acceptance: float | None
    """accepted / (accepted + rejected); None without drafts."""
    mean_acceptance_length: float | None
    acceptance_per_position: tuple[float, ...]
    shares: Shares | None
    step_ms: float | None
    """Wall time per step, what happens between steps included."""
    overhead_ms: float | None
    """Of it, everything outside llama.cpp's passes."""
    verify_ms: float | None
    energy_j_per_token: float | None
    differs_at: int | None
    """First token that differs from plain's; None: equal, or not to be compared."""
    is_comparable: bool
    """Whether the answer should be plain decoding's: greedy, or drafts without chance."""


def scores(
    cells: Sequence[Cell],
    plain_of: Mapping[str, str | None],
    is_deterministic: Callable[[str], bool],
) -> list[Score]:
    """One score per arm and cell, in the order of the cells.

    `plain_of`: by arm, its engine's own arm without drafts. `is_deterministic`: whether an arm's
    sampled text is plain decoding's for the same seed. Noise is taken to be alike in all cells.
    """
    found: dict[tuple[int, str], Score] = {}
    for temperature in dict.fromkeys(cell.temperature for cell in cells):
        for arm, own_plain in plain_of.items():
            at = [
                i
                for i, cell in enumerate(cells)
                if cell.temperature == temperature and cell.runs(arm)
            ]
            if not at:
                continue
            logs = [log_ratios(cells[i], arm, PLAIN) for i in at]
            known = intervals(logs).groups if arm != PLAIN else (None,) * len(at)
            for i, log, interval in zip(at, logs, known, strict=True):
                found[i, arm] = _score(
                    cells[i], arm, own_plain, log, interval, is_deterministic(arm)
                )
    return [found[i, arm] for i in range(len(cells)) for arm in plain_of if (i, arm) in found]


def log_ratios(cell: Cell, arm: str, base: str) -> list[float]:
    """Turn by turn, the logarithm of an arm's speed over another's, where both ran.

    Where the other had several answers in a turn, its speed is taken as of the arm's place among
    them: a machine that is slow for a while then weighs on both alike.
    """
    return [
        _log_ratio(turn, arm, base)
        for turn in cell.turns
        if {arm, base} <= {run.arm for run in turn}
    ]


def _log_ratio(turn: Sequence[Run], arm: str, base: str) -> float:
    if arm == base:
        return 0.0
    logs = [math.log(run.tokens_per_s) for run in turn]
    (at,) = _places(turn, arm)
    known = _places(turn, base)
    return logs[at] - float(np.interp(at, known, [logs[i] for i in known]))


def _places(turn: Sequence[Run], arm: str) -> list[int]:
    return [i for i, run in enumerate(turn) if run.arm == arm]


def _score(
    cell: Cell,
    arm: str,
    own_plain: str | None,
    logs: Sequence[float],
    interval: Interval | None,
    is_deterministic: bool,
) -> Score:
    runs = cell.runs(arm)
    stats = runs[0].stats  # a fixed seed: all turns decide the same but for near-ties
    is_told = all(run.tokens for run in runs)
    is_comparable = is_told and (cell.temperature == 0 or is_deterministic)
    plain = cell.runs(PLAIN)[0].tokens
    places = [first_difference(plain, run.tokens) for run in runs]
    differences = [at for at in places if at is not None]
    has_own = own_plain is not None and bool(cell.runs(own_plain))
    energies = [run.energy_j / run.n_tokens for run in runs if run.energy_j is not None]
    return Score(
        prompt=cell.prompt,
        kind=cell.kind,
        lang=cell.lang,
        temperature=cell.temperature,
        arm=arm,
        n_tokens=runs[0].n_tokens,
        tokens_per_s=median(run.tokens_per_s for run in runs),
        ratio=math.exp(fmean(logs)),
        interval=interval,
        own_ratio=math.exp(fmean(log_ratios(cell, arm, str(own_plain)))) if has_own else None,
        ttft_s=cell.ttft_s.get(engine_of(arm), math.nan),
        latency=latency(runs),
        tokens_per_pass=runs[0].n_tokens / stats.passes if stats and stats.passes else None,
        acceptance=stats.acceptance_rate if stats else None,
        mean_acceptance_length=stats.mean_acceptance_length if stats else None,
        acceptance_per_position=stats.acceptance_per_position if stats else (),
        shares=shares(runs),
        step_ms=_per_step_ms(runs, lambda run: run.wall_s),
        overhead_ms=_per_step_ms(runs, lambda run: run.wall_s - (run.native_s or 0.0)),
        verify_ms=_per_step_ms(runs, lambda run: run.stats.verify_s if run.stats else 0.0),
        energy_j_per_token=median(energies) if energies else None,
        differs_at=min(differences, default=None) if is_comparable else None,
        is_comparable=is_comparable,
    )


def engine_of(arm: str) -> str:
    """The engine that an arm belongs to: what stands before its colon, or edgespec."""
    return OURS if is_ours(arm) else arm


def shares(runs: Sequence[Run]) -> Shares | None:
    """Of all runs together; None for an engine that does not tell."""
    if not all(run.native_s is not None and run.stats for run in runs):
        return None
    parts_s = [
        sum(getattr(run.stats, name) for run in runs)
        for name in ("draft_s", "target_s", "verify_s")
    ]
    # The first step begins a moment before anybody outside can know of it.
    wall_s = max(sum(run.wall_s for run in runs), sum(parts_s))
    draft, target, verify = (part_s / wall_s for part_s in parts_s)
    return Shares(draft, target, verify, host=max(0.0, 1 - draft - target - verify))


def _per_step_ms(runs: Sequence[Run], seconds: Callable[[Run], float]) -> float | None:
    if not all(run.native_s is not None and run.stats for run in runs):
        return None
    return median(1e3 * seconds(run) / max(run.stats.passes, 1) for run in runs if run.stats)


@dataclass(frozen=True, slots=True)
class Divergence:
    """A greedy answer that is not plain decoding's, and why."""

    prompt: str
    arm: str
    difference: Difference
    plain_text: str
    other_text: str
