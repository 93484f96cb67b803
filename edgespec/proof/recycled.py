"""What token recycling would bring on a person's model, as `edgespec doctor --recycling` shows it.

Answers are decoded with the largest tree; what a smaller one or a chain would have brought is read
off, in its favour: its table would have seen fewer rows. Beside it, at the same places, what
retrieval from the conversation proposes, which costs no row of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from time import perf_counter

import numpy as np

from edgespec.bench.rig import Rig
from edgespec.bench.suite import prompts
from edgespec.control.costs import Measured
from edgespec.control.fixed import Fixed
from edgespec.core import Sampling, Tokens
from edgespec.costs import ELSEWHERE, RowCosts
from edgespec.decode import Request, speculate
from edgespec.drafters import DrafterInputs
from edgespec.drafters.suffix import SuffixDrafter
from edgespec.errors import UsageError
from edgespec.proof.recycling import Node, Recycling, likeliest
from edgespec.sampling import RequestSampler

TREES = (1, 2, 3, 7)
CHAINS = (1, 2, 3, 7)
TEMPERATURES = (0.0, 0.7)
_SUITE = "chat,code-edit,summary,json,code,short"
_TOKENS = 40
_SEED = 7
_TIMED_ROWS = 50
_TITLE = 36


@dataclass(frozen=True, slots=True)
class Place:
    """What was drafted after one beginning of an answer, and how much of it came true."""

    trees: tuple[int, ...]
    """Accepted tokens by size, as `TREES`."""
    chains: tuple[int, ...]
    """As `CHAINS`."""
    suffix: tuple[int, ...] | None
    """Retrieval's, as `CHAINS`; None where it proposes nothing."""
    n_nodes: int
    """Of the largest tree; 0 where nothing was known."""


@dataclass(frozen=True, slots=True)
class Recycled:
    """All that was measured."""

    target: str
    backend: str
    n_answers: int
    places: tuple[Place, ...]
    row_s: float
    """To find the likeliest successors in one row."""
    costs: Measured


def measure(target: str | Path, progress: Callable[[str, float], None]) -> Recycled:
    """Load the target and answer the short prompts. Raises: as loading does; `UsageError`."""
    rig = Rig.load(target, None, None, progress)
    try:
        about = rig.model.description
        if rig.target.max_branches < max(TREES):
            raise UsageError(f"{about.target} cannot branch, which a tree needs")
        asked = prompts(_SUITE)
        places: list[Place] = []
        for temperature in TEMPERATURES:
            drafter = Recycling(rig.is_eog)  # the same prompt's other answer would help it
            for i, prompt in enumerate(asked):
                progress(f"answering {prompt.name} at {temperature:g}", i / len(asked))
                places.extend(_answered(rig, drafter, rig.tokens_of(prompt), temperature))
        row_s = _row_s(rig.target.n_vocab)
        n_answers = len(asked) * len(TEMPERATURES)
        return Recycled(about.target, about.backend, n_answers, tuple(places), row_s, rig.costs)
    finally:
        rig.close()


def _answered(rig: Rig, drafter: Recycling, prompt: Tokens, temperature: float) -> Iterator[Place]:
    shaping = Sampling(temperature=temperature, seed=_SEED)
    sampler = RequestSampler(shaping, rig.target.n_vocab)
    text = prompt.tolist()
    request = Request(
        prompt, sampler, _TOKENS, lambda token, source: rig.is_eog(token), rig.is_eog, lambda: False
    )
    found: list[tuple[int, tuple[Node, ...]]] = []
    steps = speculate(rig.target, {drafter.name: drafter}, Fixed(drafter.name, max(TREES)), request)
    for step in steps:
        found.append((step.context, drafter.tree))
        text.extend(step.tokens)
    whole = np.array(text, np.int32)
    suffix = SuffixDrafter(DrafterInputs(rig.target.n_vocab, rig.is_eog))
    for n_context, tree in found:
        answer = text[n_context:]
        copied = suffix.draft(whole[:n_context], max(CHAINS), sampler).tokens
        trunk = [node.token for node in tree if node.is_trunk]
        yield Place(
            tuple(_came_true(tree[:n], answer) for n in TREES),
            tuple(_common(trunk[:n], answer) for n in CHAINS),
            tuple(_common(copied[:n], answer) for n in CHAINS) if copied else None,
            len(tree),
        )


def _came_true(tree: Sequence[Node], answer: Sequence[int]) -> int:
    """How many tokens of the answer the tree holds, one under the other."""
    at = -1
    for n, token in enumerate(answer):
        below = (i for i, node in enumerate(tree) if (node.parent, node.token) == (at, token))
        found = next(below, None)
        if found is None:
            return n
        at = found
    return len(answer)


def _common(draft: Sequence[int], answer: Sequence[int]) -> int:
    pairs = enumerate(zip(draft, answer, strict=False))
    differs = (i for i, (mine, theirs) in pairs if mine != theirs)
    return next(differs, min(len(draft), len(answer)))


def _row_s(n_vocab: int) -> float:
    """The fastest of many: what it takes on a quiet machine."""
    row = np.random.default_rng(_SEED).normal(size=n_vocab).astype(np.float32)
    took_s = []
    for _ in range(_TIMED_ROWS):
        began_s = perf_counter()
        likeliest(row)
        took_s.append(perf_counter() - began_s)
    return min(took_s)


def lines(found: Recycled) -> Iterator[str]:
    """Tables: tokens per step, and times plain decoding on this machine and on others."""
    places, n = found.places, len(found.places)
    silent = [place for place in places if place.suffix is None]
    wrong = [place for place in places if place.suffix is not None and not place.suffix[0]]
    known = fmean(place.n_nodes > 0 for place in places)
    yield (
        f"Token recycling on {found.target}, {found.backend}: {n} steps of {found.n_answers} "
        f"answers, drafts of up to {max(TREES)} tokens."
    )
    yield (
        f"It had a draft at {known:.0%} of the steps, suffix at {1 - len(silent) / n:.0%}. A row "
        f"costs the host {found.row_s * 1e3:.3f} ms, {found.row_s / found.costs.target.plain_s:.2%}"
        " of a plain step."
    )
    yield ""
    yield _heading("tokens per step", "tree", TREES)
    yield _row("all steps", places, _trees_of)
    yield _row(f"where suffix is silent ({len(silent) / n:.0%})", silent, _trees_of)
    yield _row(f"where suffix errs at once ({len(wrong) / n:.0%})", wrong, _trees_of)
    yield _heading("", "chain", CHAINS)
    yield _row("all steps, likeliest only", places, lambda place: place.chains)
    yield _row("all steps, suffix", places, lambda place: place.suffix or (0,) * len(CHAINS))
    yield ""
    yield from _times(found)
    yield ""
    yield from _merged(found)


def _heading(title: str, what: str, sizes: Sequence[int]) -> str:
    return f"{title:<{_TITLE}}" + "".join(f"{f'{what} {n}':>9}" for n in sizes)


def _row(title: str, places: Sequence[Place], of: Callable[[Place], Sequence[int]]) -> str:
    figures = "".join(f"{tokens:9.2f}" for tokens in _tokens(places, of)) if places else "     none"
    return f"{title:<{_TITLE}}" + figures


def _tokens(places: Sequence[Place], of: Callable[[Place], Sequence[int]]) -> list[float]:
    """Tokens per step by size, the target's own included."""
    return [1 + fmean(accepted) for accepted in zip(*map(of, places), strict=True)]


def _trees_of(place: Place) -> Sequence[int]:
    return place.trees


def _times(found: Recycled) -> Iterator[str]:
    """Times plain decoding by every curve, the host's work left out. A step without a draft costs
    a plain step."""
    yield _heading("times plain decoding", "tree", TREES)
    silent = [place for place in found.places if place.suffix is None]
    for where, curve in {"here": found.costs.target, **ELSEWHERE}.items():
        for title, places in (("all steps", found.places), ("where suffix is silent", silent)):
            if places:
                times = "".join(f"{_speed(places, i, curve):9.2f}" for i in range(len(TREES)))
                yield f"{f'{where}, {title}':<{_TITLE}}" + times


def _speed(places: Sequence[Place], size: int, curve: RowCosts) -> float:
    tokens, cost_s = _spent(places, size, curve)
    return tokens * curve.plain_s / cost_s


def _spent(places: Sequence[Place], size: int, curve: RowCosts) -> tuple[int, float]:
    """Tokens, and what their passes take."""
    tokens = sum(1 + place.trees[size] for place in places)
    return tokens, sum(curve.of(1 + min(place.n_nodes, TREES[size])) for place in places)


def _merged(found: Recycled) -> Iterator[str]:
    """Suffix with the best fixed length, alone and with the best tree where it is silent."""
    yield f"{'times plain decoding':<{_TITLE}}{'suffix':>9}{'both':>9}"
    said = [place.suffix for place in found.places if place.suffix is not None]
    silent = [place for place in found.places if place.suffix is None]
    for where, curve in {"here": found.costs.target, **ELSEWHERE}.items():
        alone = both = 0.0
        for i, length in enumerate(CHAINS):
            tokens = sum(1 + accepted[i] for accepted in said)
            cost_s = len(said) * curve.of(1 + length)
            plain = (len(silent), len(silent) * curve.plain_s)
            trees = [_spent(silent, size, curve) for size in range(len(TREES))]
            speeds = [(tokens + n) * curve.plain_s / (cost_s + s) for n, s in (plain, *trees)]
            alone, both = max(alone, speeds[0]), max(both, *speeds[1:])
        yield f"{f'{where}, best sizes':<{_TITLE}}{alone:9.2f}{both:9.2f}"
