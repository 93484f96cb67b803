"""Short replies through llama.cpp: a tiny target, a noisy drafter of it, and the law they obey."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgespec.api.levels import Level, Tiers
from edgespec.control import Fixed
from edgespec.control.costs import Measured
from edgespec.core import Dist, Drafter, Sampling, Tokens
from edgespec.costs import PassCosts
from edgespec.decode import Request, speculate
from edgespec.drafters import DrafterInputs, create
from edgespec.drafters.cascade import CascadeDrafter
from edgespec.engine.context import ContextOptions
from edgespec.engine.model import Model
from edgespec.engine.session import LlamaSession
from edgespec.events import Step
from edgespec.sampling import RequestSampler
from tests.tinygguf import Write

Reply = tuple[int, ...]

REPLY = 3
"""Tokens of a reply: 27 texts with top_k 3."""
OPTIONS = ContextOptions(n_ctx=64, n_batch=32, max_logits=8, n_threads=1)
_BASE = (1, 270, 275, 300)


@dataclass
class Pair:
    """A target and its draft models in memory, with every drafter; `close` frees them."""

    models: tuple[Model, ...]
    target: LlamaSession
    draft: LlamaSession
    drafters: dict[str, Drafter]
    lower: LlamaSession | None = None
    """Of a model that drafts for the draft model."""

    def close(self) -> None:
        for session in (self.target, self.draft, self.lower):
            if session is not None:
                session.close()
        for model in self.models:
            model.close()


def open_pair(write: Write, folder: Path) -> Pair:
    """A tiny architecture three times: as it is, and with ever more noise on its weights."""
    models = (
        Model(write(folder / "target.gguf", scale=1.0)),
        Model(write(folder / "draft.gguf", scale=1.0, noise=0.1)),
        Model(write(folder / "lower.gguf", scale=1.0, noise=0.2)),
    )
    target = models[0].new_session(OPTIONS)
    draft = models[1].new_session(OPTIONS)
    lower = models[2].new_session(OPTIONS)
    inputs = DrafterInputs(target.n_vocab, lambda token: False, draft)
    drafters = {name: create(name, inputs) for name in ("none", "suffix", "model", "suffix+model")}
    pair = Pair(models, target, draft, drafters, lower)
    drafters["cascade"] = CascadeDrafter(cascade_inputs(pair))
    return pair


def cascade_inputs(pair: Pair) -> DrafterInputs:
    """The smaller model and retrieval under the draft model, for which a pass over many rows costs
    hardly more than over one."""
    inputs = DrafterInputs(pair.target.n_vocab, lambda token: False, pair.draft)
    assert pair.lower is not None, "this pair has no smaller model"
    flat = Measured(PassCosts((1, 8), (1.0, 1.1)), draft_s=0.05, read_s=0.0001)
    levels = [Level(one, None, flat.live(is_live=False)) for one in (pair.draft, pair.lower)]
    return replace(inputs, under=Tiers(levels, inputs))


def repetitive_prompt(target: LlamaSession) -> Tokens:
    """A prompt after which the target likes to say what retrieval copies from it."""

    def share(token: int) -> float:
        row = target.forward(_echo(token), n_logits=1)[0].astype(np.float64)
        return float(np.exp(row[token]) / np.exp(row).sum())

    return _echo(max(range(3, target.n_vocab), key=share))


def _echo(token: int) -> Tokens:
    return np.array((*_BASE, token, 280, *_BASE[1:]), np.int32)


def law(target: LlamaSession, prompt: Tokens, params: Sampling) -> Mapping[Reply, float]:
    """The probability of every reply, from the target alone, one row at a time."""
    judge = RequestSampler(params, target.n_vocab)
    texts: dict[Reply, float] = {(): 1.0}
    for _ in range(REPLY):
        longer = {}
        for text, chance in texts.items():
            tokens = np.concatenate([prompt, np.array(text, np.int32)])
            dist: Dist = judge.dist(target.forward(tokens, n_logits=1)[0], tokens)
            for token, p in zip(dist.ids.tolist(), dist.probs.tolist(), strict=True):
                longer[(*text, token)] = chance * p
        texts = longer
    return texts


def replies(
    pair: Pair, drafter: Drafter, prompt: Tokens, params: Sampling, n: int
) -> tuple[Counter[Reply], list[Step]]:
    """Counts of `n` replies with seeds of their own, and their steps."""
    counts: Counter[Reply] = Counter()
    steps: list[Step] = []
    for seed in range(n):
        request = Request(
            prompt=prompt,
            sampler=RequestSampler(replace(params, seed=seed), pair.target.n_vocab),
            max_tokens=REPLY,
            ends=lambda token, source: False,
            is_eog=lambda token: False,
            is_cancelled=lambda: False,
        )
        ran = list(speculate(pair.target, {"it": drafter}, Fixed("it", REPLY), request))
        counts[tuple(token for step in ran for token in step.tokens)] += 1
        steps += ran
    return counts, steps
