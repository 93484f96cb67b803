"""Two results side by side: what changed beyond noise, and which greedy texts changed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from edgespec.bench.engine import PLAIN
from edgespec.bench.intervals import LEVEL, Interval, intervals
from edgespec.bench.measure import Cell
from edgespec.bench.result import Result
from edgespec.bench.score import log_ratios
from edgespec.bench.tables import spread
from edgespec.equality import first_difference

_MODEL = ("target", "target_quant")
_Key = tuple[str, float]
"""A prompt and a temperature."""


@dataclass(frozen=True, slots=True)
class Change:
    """How one arm's ratio to plain decoding changed."""

    what: str
    """All prompts, or one of them."""
    arm: str
    temperature: float
    before: float
    after: float
    interval: Interval | None
    """Of after / before; None where too little was repeated."""

    @property
    def factor(self) -> float:
        """After over before."""
        return self.after / self.before

    @property
    def is_real(self) -> bool:
        """No noise explains it."""
        return self.interval is not None and 1 not in self.interval


@dataclass(frozen=True, slots=True)
class TextChange:
    """A greedy answer that is not what it was."""

    prompt: str
    arm: str
    at: int
    """The first token that differs, from 0."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is the same in both results' prompts and arms, compared."""

    totals: tuple[Change, ...]
    plain: tuple[Change, ...]
    """Speed of plain decoding itself, in tokens per second: the machine's, or the engine's."""
    cells: tuple[Change, ...]
    """Single prompts that changed; their level is raised with their number, so that chance finds
    none in nineteen of twenty comparisons."""
    texts: tuple[TextChange, ...]
    settings: tuple[str, ...]
    """What else differs."""
    n_shared: int
    is_same_model: bool


def compared(before: Result, after: Result) -> Comparison:
    """Compare arms over the prompts that both results have."""
    old, new = _by_key(before), _by_key(after)
    shared = [key for key in old if key in new]
    arms = [arm for arm in _arms_of(before) if arm in _arms_of(after)]
    pairs = [
        (arm, temperature) for temperature in dict.fromkeys(t for _, t in shared) for arm in arms
    ]
    totals: list[Change] = []
    plain: list[Change] = []
    cells: list[Change] = []
    n_cells = max(1, len(shared) * len(arms))
    for arm, temperature in pairs:
        keys = [key for key in shared if key[1] == temperature and _has(arm, old[key], new[key])]
        if not keys:
            continue
        before_logs, after_logs = ([_logs(c[key], arm) for key in keys] for c in (old, new))
        total = _change("all prompts", arm, temperature, before_logs, after_logs, LEVEL)
        (plain if arm == PLAIN else totals).append(total)
        if arm != PLAIN:
            level = 1 - (1 - LEVEL) / n_cells
            cells += _cells(arm, temperature, keys, before_logs, after_logs, level)
    return Comparison(
        tuple(totals),
        tuple(plain),
        tuple(change for change in cells if change.is_real),
        tuple(_texts(old, new, shared, arms)) if _is_same_model(before, after) else (),
        tuple(_settings(before, after)),
        len(shared),
        _is_same_model(before, after),
    )


def _arms_of(result: Result) -> tuple[str, ...]:
    """The arms that took part."""
    return tuple(dict.fromkeys(score.arm for score in result.scores))


def _by_key(result: Result) -> dict[_Key, Cell]:
    return {(cell.prompt, cell.temperature): cell for cell in result.cells}


def _has(arm: str, *cells: Cell) -> bool:
    return all(cell.runs(arm) for cell in cells)


def _logs(cell: Cell, arm: str) -> list[float]:
    """Logarithms of ratios to plain; of plain's own speed."""
    if arm == PLAIN:
        return [math.log(speed) for speed in cell.speeds(arm)]
    return log_ratios(cell, arm, PLAIN)


def _change(
    what: str,
    arm: str,
    temperature: float,
    before: Sequence[Sequence[float]],
    after: Sequence[Sequence[float]],
    level: float,
) -> Change:
    old, new = (math.exp(fmean(fmean(group) for group in logs)) for logs in (before, after))
    known = (intervals(logs, level).total for logs in (before, after))
    return Change(what, arm, temperature, old, new, _factor(old, new, *known))


def _cells(
    arm: str,
    temperature: float,
    keys: Sequence[_Key],
    before: Sequence[Sequence[float]],
    after: Sequence[Sequence[float]],
    level: float,
) -> Iterator[Change]:
    """One change per prompt; noise is taken to be alike in all."""
    known = (intervals(logs, level).groups for logs in (before, after))
    for (prompt, _), a, b, *found in zip(keys, before, after, *known, strict=True):
        old, new = math.exp(fmean(a)), math.exp(fmean(b))
        yield Change(prompt, arm, temperature, old, new, _factor(old, new, *found))


def _factor(
    old: float, new: float, known_old: Interval | None, known_new: Interval | None
) -> Interval | None:
    """The interval of `new` over `old`, from theirs."""
    if known_old is None or known_new is None:
        return None
    # Two independent errors, each with its own spread to either side: they add up as squares.
    down = math.hypot(math.log(new / known_new.low), math.log(known_old.high / old))
    up = math.hypot(math.log(known_new.high / new), math.log(old / known_old.low))
    return Interval(new / old * math.exp(-down), new / old * math.exp(up))


def _texts(
    old: Mapping[_Key, Cell],
    new: Mapping[_Key, Cell],
    shared: Sequence[_Key],
    arms: Sequence[str],
) -> Iterator[TextChange]:
    """Greedy answers that changed, where either could have been longer than the other."""
    for key in shared:
        if key[1] != 0:
            continue
        for arm in arms:
            runs = [cell.runs(arm) for cell in (old[key], new[key])]
            if not all(runs) or not all(group[0].tokens for group in runs):
                continue
            said = [{run.tokens for run in group} for group in runs]
            if said[0] & said[1]:
                continue  # a near-tie that went either way before
            before, after = (group[0].tokens for group in runs)
            at = first_difference(before, after)
            if at is not None and at < min(len(before), len(after)):
                yield TextChange(key[0], arm, at)


def _is_same_model(before: Result, after: Result) -> bool:
    """Else texts have nothing to do with each other."""
    return all(before.model.get(key) == after.model.get(key) for key in _MODEL)


def _settings(before: Result, after: Result) -> Iterator[str]:
    pairs = (
        ("commit", before.commit, after.commit),
        *((key.replace("_", " "), before.model.get(key), after.model.get(key)) for key in _MODEL),
        ("draft model", before.model.get("draft"), after.model.get("draft")),
        ("processor", before.hardware.get("cpu"), after.hardware.get("cpu")),
        ("threads", before.asked.n_threads, after.asked.n_threads),
        ("context", before.asked.n_ctx, after.asked.n_ctx),
        *((name, before.versions.get(name), after.versions.get(name)) for name in after.versions),
    )
    for name, old, new in pairs:
        if old != new:
            yield f"{name}: {old} before, {new} after"


def lines(found: Comparison) -> Iterator[str]:
    """The comparison in words: what is real first."""
    yield from found.settings
    if not found.n_shared:
        yield "the two results have no prompt in common"
        return
    for change in (*found.totals, *found.plain):
        yield _line(change)
    for change in found.cells:
        yield _line(change)
    for text in found.texts:
        yield f"{text.prompt}, {text.arm}: another greedy text from token {text.at + 1}"
    if all(change.interval is None for change in found.totals):
        yield "no turn was repeated often enough to tell what is noise; --rounds 2 helps"
    elif not any(change.is_real for change in (*found.totals, *found.cells)):
        yield "no speed-up changed beyond noise"
    if not found.is_same_model:
        yield "the models differ, so their texts are not compared"
    elif not found.texts:
        yield "no greedy text changed"


def _line(change: Change) -> str:
    unit = "tok/s" if change.arm == PLAIN else "x plain"
    verdict = "within noise"
    if change.interval is None:
        verdict = "too few turns to tell"
    elif change.is_real:
        verdict = "FASTER" if change.factor > 1 else "SLOWER"
        if change.arm == PLAIN:
            verdict += ", the machine or plain decoding itself"
    factor = f" (factor {spread(change.interval)})" if change.interval else ""
    return (
        f"{change.what}, {change.arm} at temperature {change.temperature:g}: "
        f"{change.before:.2f} -> {change.after:.2f} {unit}, {change.factor - 1:+.1%}"
        f"{factor}: {verdict}"
    )
