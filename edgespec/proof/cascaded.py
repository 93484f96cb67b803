"""What a cascade spares under a person's draft model, as `edgespec doctor --cascade` shows it.

Passes are counted along greedy answers that are known beforehand, so that the counts are the same
in every run; times follow from them by measured curves. A cascade drafts what its draft model
drafts: without it, every token would have taken a pass.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgespec.api.drafting import AUTO, Drafting
from edgespec.api.levels import Level, Tiers
from edgespec.bench.rig import Rig
from edgespec.bench.suite import prompts
from edgespec.control.costs import Measured
from edgespec.control.fixed import Fixed
from edgespec.core import Controller, Drafter, Sampling, Tokens
from edgespec.costs import ELSEWHERE, RowCosts
from edgespec.decode import Request, speculate
from edgespec.drafters import DrafterInputs
from edgespec.drafters.cascade import CascadeDrafter
from edgespec.drafters.none import NoDrafter
from edgespec.drafters.suffix import SuffixDrafter
from edgespec.profile.walk import walk
from edgespec.sampling import RequestSampler

LENGTH = 4
"""Tokens of every draft, where they are not chosen at each step."""
HERE = "here"
_SUITE = "chat,code-edit,summary,json,code,short"
_TOKENS = 64
_SEED = 7
_TELLING = (1, 2, 3, 4, 6, 8, 12, 16)
_TITLE = 48


@dataclass(frozen=True, slots=True)
class Count:
    """Passes of a draft model along all answers."""

    under: str
    """What drafts for it."""
    lengths: str
    """How the target's drafts get their length."""
    curve: str
    """Whose costs the guesses were chosen by."""
    tokens: int
    by_rows: dict[int, int]
    cost: float
    """Of these passes; 1: of one for each token."""


@dataclass(frozen=True, slots=True)
class Cascaded:
    """All that was counted."""

    target: str
    drafts: tuple[str, ...]
    n_answers: int
    curve: RowCosts
    """Of the draft model's passes, here."""
    counts: tuple[Count, ...]


def measure(
    target: str | Path, draft: str | Path, progress: Callable[[str, float], None]
) -> Cascaded:
    """Load the models, answer the short prompts, and draft along the answers.

    Raises: as loading does.
    """
    rig = Rig.load(target, draft, None, progress)
    try:
        levels = rig.levels(is_live=False)
        asked = prompts(_SUITE)
        runs = [_Run(rig, way) for way in _ways(rig, levels)]
        for i, prompt in enumerate(asked):
            progress(f"answering {prompt.name}", i / len(asked))
            tokens, start = _answered(rig, rig.tokens_of(prompt))
            for run in runs:  # the first one's prompt is resident for the others
                run.along(tokens, start)
        about = rig.model.description
        names = tuple((about.draft or "").split(","))
        counts = tuple(run.count for run in runs)
        return Cascaded(about.target, names, len(asked), levels[0].costs.target.measured, counts)
    finally:
        rig.close()


@dataclass(frozen=True, slots=True)
class _Way:
    under: str
    curve: str
    levels: tuple[Level, ...]
    is_chosen: bool
    """The target's draft lengths are chosen at each step, with retrieval beside."""


def _ways(rig: Rig, levels: tuple[Level, ...]) -> Iterator[_Way]:
    names = (rig.model.description.draft or "").split(",")
    for n in range(1, len(levels) + 1):
        under = " and ".join(("retrieval", *names[1:n]))
        yield _Way(under, HERE, levels[:n], False)
        yield _Way(under, HERE, levels[:n], True)
    first = levels[0]
    for name, curve in ELSEWHERE.items():
        costs = Measured(curve).live(is_live=False)
        yield _Way("retrieval", name, (replace(first, costs=costs),), False)


def _answered(rig: Rig, prompt: Tokens) -> tuple[Tokens, int]:
    """The prompt and its greedy answer, and where that begins."""
    inputs = DrafterInputs(rig.target.n_vocab, rig.is_eog)
    suffix = SuffixDrafter(inputs)
    sampler = RequestSampler(Sampling(seed=_SEED), rig.target.n_vocab)
    request = Request(
        prompt, sampler, _TOKENS, lambda token, source: rig.is_eog(token), rig.is_eog, lambda: False
    )
    steps = speculate(rig.target, {suffix.name: suffix}, Fixed(suffix.name, LENGTH), request)
    tokens = [*prompt.tolist(), *(token for step in steps for token in step.tokens)]
    return np.array(tokens, np.int32), len(prompt)


class _Run:
    """One way along all texts, with drafters of its own."""

    def __init__(self, rig: Rig, way: _Way) -> None:
        inputs = DrafterInputs(
            rig.target.n_vocab, rig.is_eog, rig.draft, rig.translation, counts_resident=True
        )
        self._rig, self._way = rig, way
        self._cascade = CascadeDrafter(replace(inputs, under=Tiers(way.levels, inputs)))
        made = (NoDrafter(inputs), SuffixDrafter(inputs), self._cascade)
        self._drafters: dict[str, Drafter] = {drafter.name: drafter for drafter in made}
        self._drafting = Drafting(self._drafters, rig.costs.live(is_live=False), AUTO, None)

    def along(self, tokens: Tokens, start: int) -> None:
        """Draft for an answer that begins at `start`."""
        controller: Controller = Fixed(CascadeDrafter.name, LENGTH)
        if self._way.is_chosen:
            _, controller, _ = self._drafting.controller(AUTO, None, None)
        rig = self._rig
        sampler = RequestSampler(Sampling(seed=_SEED), rig.target.n_vocab)
        self._cascade.read(tokens[:start], start, sampler)
        walk(controller, self._drafters, tokens, start, rig.pass_costs, sampler, 0.0)

    @property
    def count(self) -> Count:
        """So far."""
        way, tally = self._way, self._cascade.tally
        curve = way.levels[0].costs.target.measured
        took = sum(passes * curve.of(n) for n, passes in tally.by_rows.items())
        return Count(
            way.under,
            "chosen at each step" if way.is_chosen else f"{LENGTH} tokens each",
            way.curve,
            tally.tokens,
            dict(sorted(tally.by_rows.items())),
            took / (tally.tokens * curve.plain_s) if tally.tokens else 1.0,
        )


def lines(found: Cascaded) -> Iterator[str]:
    """The curve, then a line for each way."""
    draft, *lower = found.drafts
    yield f"{draft} drafts for {found.target} along {found.n_answers} greedy answers."
    curve = found.curve
    costs = "  ".join(f"{n}: {curve.of(n) / curve.plain_s:.2f}" for n in _TELLING)
    yield f"A pass of {draft}, by rows, in passes over one row: {costs}"
    yield ""
    columns = ("tokens", "passes", "rows", "passes/token", "rows/token", "time")
    yield f"{'what drafts for it; drafts; by the curve of':<{_TITLE}}" + _cells(columns)
    yield f"{'nothing':<{_TITLE}}" + _cells(("", "", "", "1.000", "1.000", "1.000"))
    for one in found.counts:
        title = f"{one.under}; {one.lengths}; {one.curve}"
        yield f"{title:<{_TITLE}}" + _cells(_figures(one))
    yield ""
    aside = f", that of {' and '.join(lower)} aside" if lower else ""
    yield f"time: of its passes by the curve, against one pass for each token{aside}"


def _figures(one: Count) -> tuple[str, ...]:
    if not one.tokens:
        return ("never asked",)
    passes = sum(one.by_rows.values())
    rows = sum(n * times for n, times in one.by_rows.items())
    ratios = (f"{figure:.3f}" for figure in (passes / one.tokens, rows / one.tokens, one.cost))
    return (str(one.tokens), str(passes), str(rows), *ratios)


def _cells(texts: tuple[str, ...]) -> str:
    return "".join(f"{text:>14}" for text in texts)
