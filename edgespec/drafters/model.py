"""A smaller model of the same vocabulary as a drafter (Leviathan et al. 2023, arXiv 2211.17192).

Owns what the draft model reads and how far it drafts; its `Session` owns the cache. There is no
catching up by hand: `forward` decodes what is not resident, so refused tokens cost nothing and
accepted ones are there already.
"""

import logging
from collections.abc import Iterator

import numpy as np

from edgespec.core import Constraint, Dist, Draft, Row, Sampler, Session, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.errors import EngineError

_log = logging.getLogger(__name__)

_WINDOW = 512
"""Most tokens read to begin a conversation, or to take it up again. With Qwen2.5-Coder-0.5B for
1.5B on a code edit with an 833-token prompt, 64, 128, 256, 512 and all tokens give 0.67, 0.75,
0.92, 0.90, 0.96 of the greedy tokens; on summaries and fixes 256 of 362 lose 0.05 to 0.16."""
_SLICE = 128
"""Most tokens read in one step: a longer way is spread over steps that draft nothing, so that
an answer starts at once and a cancelled one ends soon."""
_CONFIDENCE = 0.3
"""Least estimated probability that all tokens of a draft are accepted. Replayed on greedy answers
of Qwen2.5-Coder-1.5B/0.5B, 0.3 was the best or within 1.5 % of it for draft steps of 12 %, 30 %
and 50 % of a target step; a threshold on each token alone needed another value for each."""
_FAILURES = 3
"""Failed drafts in a row after which the drafter gives up."""
_NEGLIGIBLE = 16.0
"""Logits this far below the best are left out of a confidence: a whole vocabulary of them would
change it by less than 2 %, and they cost most of the time."""
_RIVALS = 1024
"""Most tokens that a grammar is asked about for a confidence."""


class ModelDrafter:
    """Drafts what a draft model would say, as far as that model is sure.

    The length is decided before a token is drawn, by the shape of its distribution: a drawn token
    is never dropped, which keeps sampled drafts exact.

    The draft model reads the first token and a window that begins at most `_WINDOW` tokens back
    and then grows with the conversation; it begins anew, that far back, when more than that is
    unread (a long new turn, another conversation) or its context is full. So any context can be
    drafted for, and reading costs at most `_WINDOW` tokens at a time.
    """

    name = "model"
    needs_draft_model = True

    def __init__(self, inputs: DrafterInputs) -> None:
        assert inputs.session is not None, "the model drafter needs a draft session"
        self.note = ""
        self._session: Session = inputs.session
        self._n_vocab = inputs.n_vocab
        self._is_eog = inputs.is_eog
        self._window = min(_WINDOW, self._session.n_ctx // 2)
        self._start = 0
        self._failures = 0

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k tokens with their distributions; without these if all are point masses.

        Fewer when the model is not sure, an end of generation was drawn (it is kept), or a decode
        failed; none while the model still reads the context.
        """
        if k == 0 or self.note:
            return Draft()
        tokens: list[int] = []
        dists: list[Dist] = []
        try:
            read = self._windowed(context, k)
            if self._has_read(read):
                for token, q in self._drawn(context, read, k, sampler):
                    tokens.append(token)
                    dists.append(q)
            self._failures = 0
        except EngineError as fault:
            self._failed(fault)
        if all(len(q.ids) == 1 for q in dists):
            return Draft(tuple(tokens))
        return Draft(tuple(tokens), tuple(dists))

    def _windowed(self, context: Tokens, k: int) -> Tokens:
        """What the model is to read of `context`."""
        if self._session.n_vocab < self._n_vocab:  # a padding id that it lacks becomes any other
            context = np.minimum(context, self._session.n_vocab - 1)
        read = _from(context, self._start)
        resident = self._session.resident_prefix(read)
        unread = len(read) - resident
        is_other = resident <= 1 or len(context) <= self._start
        if is_other or unread > self._window or len(read) + k > self._session.n_ctx:
            self._start = max(0, len(context) - self._window)
            read = _from(context, self._start)
        return read

    def _has_read(self, read: Tokens) -> bool:
        """Whether `read` is resident but for one slice; else read a slice of it."""
        resident = self._session.resident_prefix(read)
        if len(read) - resident <= _SLICE:
            return True
        self._session.forward(read[: resident + _SLICE], n_logits=0)
        return False

    def _drawn(
        self, context: Tokens, read: Tokens, k: int, sampler: Sampler
    ) -> Iterator[tuple[int, Dist]]:
        """Tokens after `context` and what they were drawn from, while the model is sure."""
        constraint = sampler.constraint
        confidence = 1.0
        for _ in range(min(k, self._session.n_ctx - len(read) + 1)):
            row = fitted(self._session.forward(read, n_logits=1)[0], self._n_vocab)
            q = sampler.dist(row, context, constraint)
            confidence *= top_probability(row, q, constraint)
            if confidence < _CONFIDENCE:
                return
            token = sampler.draw_draft(q, len(context))
            yield token, q
            if self._is_eog(token):
                return
            if constraint is not None:
                constraint = constraint.advanced(token)
            context = np.append(context, np.int32(token))
            read = np.append(read, np.int32(token))

    def _failed(self, fault: EngineError) -> None:
        self._failures += 1
        _log.warning("the draft model failed: %s", fault)
        if self._failures == _FAILURES:
            self.note = f"the draft model failed {_FAILURES} times in a row: {fault}"
            _log.warning("drafting with the model is off: %s", self.note)


def fitted(row: Row, n_vocab: int) -> Row:
    """`row` in the target's width: ids that the target lacks cut off, ids that it has beyond the
    draft model's impossible."""
    if len(row) >= n_vocab:
        return row[:n_vocab]
    padded = np.full(n_vocab, -np.inf, np.float32)
    padded[: len(row)] = row
    return padded


def top_probability(row: Row, q: Dist, constraint: Constraint | None = None) -> float:
    """How sure the model is: q's largest probability.

    It estimates the chance of acceptance, Σ min(p, q), well: measured with Qwen2.5-Coder-0.5B
    for 1.5B on 886 tokens, their means differ by 0.02 at temperature 0.7 and at 1. A point mass
    says nothing, so there it is the token's share in the softmax of the raw row (0.1 ms at
    151,936 tokens); under a grammar, of those that it allows: the target must choose among them.
    """
    if len(q.ids) > 1:
        return float(q.probs.max())
    chosen = row[q.ids[0]]
    floor = (row.max() if constraint is None else chosen) - _NEGLIGIBLE
    near = np.flatnonzero(row > floor)
    if constraint is not None:
        if len(near) > _RIVALS:
            near = near[np.argpartition(row[near], -_RIVALS)[-_RIVALS:]]
        near = near[constraint.allowed(near.astype(np.int32))]
    peak = row[near].max(initial=chosen)
    share = np.exp(chosen - peak)
    return float(share / max(share, np.exp(row[near] - peak).sum()))


def _from(context: Tokens, start: int) -> Tokens:
    """The window from `start` on, behind the first token: many models need their BOS."""
    return context if start <= 1 else np.concatenate((context[:1], context[start:]))
