"""Copies beside a draft model: whether it would have said the same, position by position."""

from typing import NamedTuple

import numpy as np

from edgespec.core import Dist, Row, Sampling, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.index import IndexDrafter
from edgespec.drafters.suffix import SuffixDrafter
from edgespec.replay.trace import Backing
from edgespec.sampling.sampler import RequestSampler


class Said(NamedTuple):
    """A draft model's next token, before it is drawn."""

    row: Row
    q: Dist
    confidence: float


class Copies:
    """The drafters that look things up, along one answer."""

    def __init__(self, inputs: DrafterInputs) -> None:
        self._drafters: list[SuffixDrafter | IndexDrafter] = [SuffixDrafter(inputs)]
        if inputs.retriever is not None:
            self._drafters.append(IndexDrafter(inputs))
        self._sampler = RequestSampler(Sampling(), inputs.n_vocab)
        self._probs: dict[str, list[float]] = {one.name: [] for one in self._drafters}
        self._is_drawn: dict[str, list[bool]] = {one.name: [] for one in self._drafters}

    def compare(self, context: Tokens, said: Said | None, drawn: int) -> None:
        """Ask each drafter after `context`, where the draft model would have drawn `drawn`."""
        for drafter in self._drafters:
            copied = drafter.draft(context, 1, self._sampler).tokens
            prob = share_of(copied[0], said) if copied and said is not None else 0.0
            self._probs[drafter.name].append(round(prob, 3))
            self._is_drawn[drafter.name].append(bool(copied) and copied[0] == drawn)

    @property
    def backing(self) -> dict[str, Backing]:
        """By drafter, so far."""
        return {
            name: Backing(tuple(probs), tuple(self._is_drawn[name]))
            for name, probs in self._probs.items()
        }


def share_of(token: int, said: Said) -> float:
    """How likely the model finds it; of a point mass, in the softmax of the raw row, as
    `top_probability`."""
    if len(said.q.ids) > 1:
        return said.q.prob(token)
    row = said.row
    return float(np.exp(row[token] - row.max()) / np.exp(row - row.max()).sum())
