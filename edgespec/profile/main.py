"""One profile: every drafter along every passage, and the setting that follows."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgespec.bench.engine import AUTO, PLAIN
from edgespec.bench.revive import plain as plain_json
from edgespec.bench.rig import Rig
from edgespec.core import Controller, Drafter, LearnsFromTarget, Sampling, Tokens
from edgespec.costs import PassCosts
from edgespec.drafters import find
from edgespec.errors import UsageError
from edgespec.profile.host import host_s
from edgespec.profile.kinds import KINDS
from edgespec.profile.passages import Passage
from edgespec.profile.walk import Walk, walk
from edgespec.sampling import RequestSampler

_log = logging.getLogger(__name__)
_LENGTHS = (None, 3, 7, 15, 31)
"""Draft lengths to try where that costs no model's time; None: as the controller chooses."""
_WORTH = 1.03
"""A gain below it is within what the estimate leaves out."""
_LEAST_TOKENS = 32
"""Fewer say nothing about a kind of text."""
_MODEL_TOKENS = 96
"""Of a passage where there is a draft model: it runs at every step. All arms see the same."""
_MODEL_TOTAL = 600
"""Of all passages of a kind, likewise."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A drafter with a limit; `draft_len` None: whatever the controller chooses."""

    drafter: str
    draft_len: int | None = None

    @property
    def flags(self) -> str:
        """What to say on the command line for it."""
        limit = "" if self.draft_len is None else f" --draft-len {self.draft_len}"
        return f"--drafter {self.drafter}{limit}"


@dataclass(frozen=True, slots=True)
class KindProfile:
    """What was found for one kind of text."""

    kind: str
    n_passages: int
    walks: tuple[tuple[Arm, Walk], ...]
    """The best length of every drafter, fastest first."""

    @property
    def is_enough(self) -> bool:
        """Whether there is so much text that something follows from it."""
        return self.walks[0][1].n_tokens >= _LEAST_TOKENS

    @property
    def best(self) -> Arm:
        """The setting to use: "auto", unless another is clearly better or nothing gains."""
        arm, found = self.walks[0]
        if not self.is_enough:
            return Arm(AUTO)
        if found.speedup <= _WORTH:
            return Arm(PLAIN)
        auto = next((w for a, w in self.walks if a.drafter == AUTO), None)
        return Arm(AUTO) if auto and found.speedup <= _WORTH * auto.speedup else arm


@dataclass(frozen=True, slots=True)
class Profile:
    """One person's texts."""

    model: Mapping[str, Any]
    kinds: tuple[KindProfile, ...]
    overall: KindProfile
    pass_costs: PassCosts
    skipped: tuple[str, ...] = ()
    """Passages that are longer than the context, or empty, or of chats that the model's template
    refuses."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        data: dict[str, Any] = plain_json(self)
        for entry, kind in zip(data["kinds"], self.kinds, strict=True):
            entry["use"] = kind.best.flags
        data["overall"]["use"] = self.overall.best.flags
        return data


@dataclass(frozen=True, slots=True)
class Text:
    """A passage in tokens: what is foreseen begins at `start`."""

    kind: str
    tokens: Tokens
    start: int


def run(
    target: str | Path,
    draft: str | Path | None,
    passages: Sequence[Passage],
    *,
    most_tokens: int,
    n_threads: int | None = None,
    progress: Callable[[str, float], None] = lambda phase, fraction: None,
    tell: Callable[[str], None] = lambda text: None,
) -> Profile:
    """Load the models and walk. Raises: `UsageError` when no passage can be walked."""
    rig = Rig.load(target, draft, n_threads, progress)
    try:
        texts, skipped = _texts(rig, passages, most_tokens)
        if not texts:
            raise UsageError("there is no text to profile", hint="name files with some text")
        # A drafter that learns from the target's rows has nothing to learn from here.
        usual = [n for n, d in rig.drafters.items() if not isinstance(d, LearnsFromTarget)]
        found = profiled(
            texts,
            [AUTO, *(name for name in usual if name != PLAIN)],
            lambda arm: rig.controller(arm.drafter, arm.draft_len),
            rig.drafters,
            rig.pass_costs,
            rig.target.n_vocab,
            host_s(rig.model),
            tell,
        )
        return Profile(plain_json(rig.model.description), *found, rig.pass_costs, tuple(skipped))
    finally:
        rig.close()


def _texts(rig: Rig, passages: Sequence[Passage], most_tokens: int) -> tuple[list[Text], list[str]]:
    texts, skipped = [], []
    n_ctx = rig.model.description.n_ctx
    for passage in passages:
        try:
            before = rig.rendered(passage.context) if passage.context else []
        except UsageError as fault:
            _log.info("%s is left out: %s", passage.source, fault.message)
            skipped.append(passage.source)
            continue
        said = rig.model.tokenize(passage.text)[:most_tokens]
        start = len(before) or 1
        if len(before) + len(said) > n_ctx or len(before) + len(said) <= start:
            skipped.append(passage.source)
            continue
        texts.append(Text(passage.kind, np.array([*before, *said], np.int32), start))
    return texts, skipped


def profiled(
    texts: Sequence[Text],
    names: Sequence[str],
    controller: Callable[[Arm], Controller],
    drafters: Mapping[str, Drafter],
    costs: PassCosts,
    n_vocab: int,
    step_host_s: float,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[tuple[KindProfile, ...], KindProfile]:
    """By kind, and over all texts. `controller`: a new one for every answer; `step_host_s`: what a
    step costs beside passes and drafting."""
    has_model = any(name != AUTO and find(name).needs_draft_model for name in names)
    walks: dict[str, dict[Arm, Walk]] = {}
    for kind in (kind for kind in KINDS if any(text.kind == kind for text in texts)):
        walks[kind] = {}
        of_kind = [text for text in texts if text.kind == kind]
        for arm in (Arm(name, k) for name in names for k in _lengths(name)):
            tell(f"{kind}: {arm.flags}")
            parts = (
                walk(
                    controller(arm),
                    drafters,
                    tokens,
                    start,
                    costs,
                    RequestSampler(Sampling(), n_vocab),
                    step_host_s,
                )
                for tokens, start in _cut(of_kind, has_model)
            )
            walks[kind][arm] = sum(parts, Walk())
    kinds = tuple(
        _best_lengths(kind, sum(text.kind == kind for text in texts), found)
        for kind, found in walks.items()
    )
    arms = next(iter(walks.values()))
    in_all = {arm: sum((found[arm] for found in walks.values()), Walk()) for arm in arms}
    return kinds, _best_lengths("all texts", len(texts), in_all)


def _lengths(name: str) -> tuple[int | None, ...]:
    return (None,) if name == AUTO or find(name).needs_draft_model else _LENGTHS


def _cut(texts: Iterable[Text], has_model: bool) -> Iterable[tuple[Tokens, int]]:
    """Tokens and where they begin; with a draft model only some of each, and of all."""
    left = _MODEL_TOTAL
    for text in texts:
        if not has_model:
            yield text.tokens, text.start
        elif left > 0:
            n = min(_MODEL_TOKENS, left, len(text.tokens) - text.start)
            left -= n
            yield text.tokens[: text.start + n], text.start


def _best_lengths(kind: str, n_passages: int, found: Mapping[Arm, Walk]) -> KindProfile:
    """Each drafter with its best limit; its own unless another is clearly better."""
    best = []
    for name in dict.fromkeys(arm.drafter for arm in found):
        mine = [(arm, walked) for arm, walked in found.items() if arm.drafter == name]
        arm, walked = mine[0]
        for other in mine[1:]:
            if other[1].speedup > walked.speedup * _WORTH:
                arm, walked = other
        best.append((arm, walked))
    return KindProfile(kind, n_passages, tuple(sorted(best, key=lambda pair: -pair[1].speedup)))
