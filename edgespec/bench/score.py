"""From measured runs to the figures of one drafter on one prompt."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from statistics import median

from edgespec.bench.measure import PLAIN, Cell, Run
from edgespec.equality import Difference, first_difference


@dataclass(frozen=True, slots=True)
class Score:
    """Medians over the runs of one arm in one cell; per step where nothing else is said."""

    prompt: str
    temperature: float
    drafter: str
    n_tokens: int
    tokens_per_s: float
    ratio: float
    """Median over the turns of speed to plain decoding's in the same turn; 1 for plain itself."""
    tokens_per_pass: float
    acceptance: float | None
    """accepted / (accepted + rejected); None without drafts."""
    mean_acceptance_length: float | None
    acceptance_per_position: tuple[float, ...]
    step_ms: float
    """Wall time per step, what happens between steps included."""
    overhead_ms: float
    """Of it, everything outside llama.cpp's passes."""
    verify_ms: float
    draft_ms: float
    """Drafting, with the draft model's passes."""
    differs_at: int | None
    """First token that differs from plain's; None: equal, or not to be compared."""
    is_comparable: bool
    """Whether the answer should be plain decoding's: greedy, or drafts without chance."""

    @property
    def overhead_share(self) -> float:
        """Share of a step that is not llama.cpp's."""
        return self.overhead_ms / self.step_ms


def scores(cell: Cell, arms: Iterable[str], is_deterministic: Callable[[str], bool]) -> list[Score]:
    """One score per arm.

    `is_deterministic`: whether a drafter's sampled text is plain decoding's for the same seed.
    """
    return [_score(cell, arm, is_deterministic(arm)) for arm in arms]


def run_of(turn: Iterable[Run], drafter: str) -> Run:
    """The one run of `drafter` in a turn."""
    return next(run for run in turn if run.drafter == drafter)


def _score(cell: Cell, arm: str, is_deterministic: bool) -> Score:
    runs = [run_of(turn, arm) for turn in cell.turns]
    plain = [run_of(turn, PLAIN) for turn in cell.turns]
    stats = runs[0].stats  # a fixed seed: all turns decide the same but for near-ties
    is_comparable = cell.temperature == 0 or is_deterministic
    differences = [
        at
        for run, base in zip(runs, plain, strict=True)
        if (at := first_difference(base.tokens, run.tokens)) is not None
    ]
    return Score(
        prompt=cell.prompt,
        temperature=cell.temperature,
        drafter=arm,
        n_tokens=len(runs[0].tokens),
        tokens_per_s=median(run.tokens_per_s for run in runs),
        ratio=median(r.tokens_per_s / p.tokens_per_s for r, p in zip(runs, plain, strict=True)),
        tokens_per_pass=len(runs[0].tokens) / max(stats.passes, 1),
        acceptance=stats.acceptance_rate,
        mean_acceptance_length=stats.mean_acceptance_length,
        acceptance_per_position=stats.acceptance_per_position,
        step_ms=_per_step_ms(runs, lambda run: run.wall_s),
        overhead_ms=_per_step_ms(runs, lambda run: run.wall_s - run.native_s),
        verify_ms=_per_step_ms(runs, lambda run: run.stats.verify_s),
        draft_ms=_per_step_ms(runs, lambda run: run.stats.draft_s),
        differs_at=min(differences, default=None) if is_comparable else None,
        is_comparable=is_comparable,
    )


def _per_step_ms(runs: list[Run], seconds: Callable[[Run], float]) -> float:
    return median(1e3 * seconds(run) / max(run.stats.passes, 1) for run in runs)


@dataclass(frozen=True, slots=True)
class Total:
    """One drafter over all prompts at one temperature."""

    drafter: str
    temperature: float
    ratio: float
    """Geometric mean."""
    worst: Score
    best: Score
    n_losses: int
    """Prompts on which it was slower than plain."""
    n_prompts: int


def totals(scored: Sequence[Score]) -> list[Total]:
    """A line for every drafter and temperature, in the order of `scored`."""
    keys = dict.fromkeys((s.drafter, s.temperature) for s in scored if s.drafter != PLAIN)
    return [_total([s for s in scored if (s.drafter, s.temperature) == key]) for key in keys]


def _total(scored: list[Score]) -> Total:
    by_ratio = sorted(scored, key=lambda s: s.ratio)
    return Total(
        drafter=scored[0].drafter,
        temperature=scored[0].temperature,
        ratio=prod(s.ratio for s in scored) ** (1 / len(scored)),
        worst=by_ratio[0],
        best=by_ratio[-1],
        n_losses=sum(s.ratio < 1 for s in scored),
        n_prompts=len(scored),
    )


@dataclass(frozen=True, slots=True)
class Divergence:
    """A greedy answer that is not plain decoding's, and why."""

    prompt: str
    drafter: str
    difference: Difference
    plain_text: str
    other_text: str
