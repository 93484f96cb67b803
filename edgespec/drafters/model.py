"""A smaller model as a drafter (Leviathan et al. 2023, arXiv 2211.17192).

Owns how far it drafts, and when it gives up; its `Session` owns the cache. There is no catching
up by hand: `forward` decodes what is not resident, so refused tokens cost nothing and
accepted ones are there already.
"""

import logging
from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from edgespec.core import Constraint, Dist, Draft, Row, Sampler, Session, Steering, Tokens
from edgespec.drafters import DrafterInputs
from edgespec.drafters.arms import Bucket
from edgespec.drafters.passes import OneByOne, Passes
from edgespec.drafters.reading import Reading
from edgespec.drafters.record import Record
from edgespec.drafters.translation import SameVocab, Translation
from edgespec.errors import EngineError
from edgespec.sampling.mask import NothingAllowed

_log = logging.getLogger(__name__)

_JUDGED = 0.3
"""Least estimated probability that all tokens up to one are accepted, for the one to count for or
against the model."""
_BOUNDS = (0.3, 0.5, 0.7, 0.85, 0.95)
_SURE_NAMES = ("under 30 %", "30-50 %", "50-70 %", "70-85 %", "85-95 %", "over 95 %")
_PRIORS = (0.35, 0.62, 0.66, 0.8, 0.88, 0.985)
_NEXT_PRIORS = (0.63, 0.68, 0.75, 0.76, 0.82, 0.96)
_SHARES = (0.08, 0.06, 0.07, 0.06, 0.08, 0.65)
"""Measured with Qwen2.5-Coder-0.5B for 1.5B, on greedy and sampled answers of all kinds."""
_FAILURES = 3
"""Failed drafts in a row after which the drafter gives up."""
_NEGLIGIBLE = 16.0
"""Logits this far below the best are left out of a confidence: a whole vocabulary of them would
change it by less than 2 %, and they cost most of the time."""
_RIVALS = 1024
"""Most tokens that a grammar is asked about for a confidence."""


class ModelDrafter:
    """Drafts what a draft model would say: so many tokens, or as far as a controller steers.

    What it drafts follows from the context since the request began, and the sampler; a sampler
    stands for its request. Whether a token is drawn is decided before, by the shape of its
    distribution: a drawn token is never dropped, which keeps sampled drafts exact.

    Any context can be drafted for: the draft model reads a window of it (`reading.Reading`).
    """

    name = "model"
    needs_draft_model = True
    buckets: Sequence[Bucket] = (
        *(Bucket(f"{n} sure", p) for n, p in zip(_SURE_NAMES, _PRIORS, strict=True)),
        *(Bucket(f"after {n} sure", p) for n, p in zip(_SURE_NAMES, _NEXT_PRIORS, strict=True)),
    )
    shares: Sequence[float] = _SHARES

    def __init__(self, inputs: DrafterInputs) -> None:
        assert inputs.session is not None, "the model drafter needs a draft session"
        self.note = ""
        self._session: Session = inputs.session
        self._translation: Translation = inputs.translation or SameVocab(
            self._session.n_vocab, inputs.n_vocab
        )
        self._is_eog = inputs.is_eog
        self._reading = Reading(self._session, counts_resident=inputs.counts_resident)
        self._passes: Passes = OneByOne(self._session)
        self._record = Record()
        self._failures = 0
        self._sampler: Sampler | None = None
        self._context: Tokens = np.empty(0, np.int32)
        self._drafted: tuple[int, ...] = ()
        """After `_context`, as far as the model was sure; what became of them shows in the next
        one."""

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """At most k tokens with their distributions; without these if all are point masses.

        Fewer when an end of generation was drawn (it is kept), or a decode failed; none while the
        model still reads the context.
        """
        return self.draft_while(context, k, sampler, STRAIGHT_ON)

    def bucket_of(self, confidence: float) -> int:
        """The bucket of a token that is drawn with this confidence."""
        return bucket_of(confidence)

    def unread(self, context: Tokens) -> int:
        """Tokens to read before it can draft after `context`."""
        self._continue(context)
        return self._reading.unread(context)

    def read(self, context: Tokens, n_tokens: int, sampler: Sampler) -> None:
        """Read at most `n_tokens` more of `context`; see `core.Steered`."""
        self._follow(context, sampler)
        try:
            self._reading.read(self._translation.context(context), n_tokens)
        except EngineError as fault:
            self._failed(fault)

    def draft_while(self, context: Tokens, k: int, sampler: Sampler, steering: Steering) -> Draft:
        """As `draft`, but going on only as `steering` says."""
        if not self.note:
            self._follow(context, sampler)
        if k == 0 or self.note or not self._translation.is_whole(context):
            return Draft()
        tokens: list[int] = []
        dists: list[Dist] = []
        n_sure = 0
        try:
            read = self._reading.step(self._translation.context(context), k)
            if read is not None:
                for token, q, confidence in self._drawn(context, read, k, sampler, steering):
                    tokens.append(token)
                    dists.append(q)
                    n_sure += confidence >= _JUDGED
            self._failures = 0
        except EngineError as fault:
            self._failed(fault)
        if all(len(q.ids) == 1 for q in dists):
            tokens = tokens[: steering.kept(len(tokens))]
            dists = []
        self._drafted = tuple(tokens[:n_sure])
        return Draft(tuple(tokens), tuple(dists))

    def _follow(self, context: Tokens, sampler: Sampler) -> None:
        """Begin a request, or learn what became of the last draft."""
        if sampler is not self._sampler and self._sampler is not None:
            self._context = np.empty(0, np.int32)
        self._sampler = sampler
        self._continue(context)

    def _continue(self, context: Tokens) -> None:
        n = len(self._context)
        if n == 0 or not np.array_equal(context[:n], self._context):
            self._reading.begin(self._translation.context(context))
        elif len(context) > n and self._drafted:
            self._record.add(self._drafted, context[n:].tolist())
            if verdict := self._record.verdict:
                self._give_up(verdict)
        self._context = context.copy()  # the caller's array may be a view of what grows on
        self._drafted = ()

    def _drawn(
        self, context: Tokens, read: Tokens, k: int, sampler: Sampler, steering: Steering
    ) -> Iterator[tuple[int, Dist, float]]:
        """Tokens after `context`, what they were drawn from, and how likely all up to them are
        accepted, as far as `steering` goes."""
        constraint, passes = sampler.constraint, self._passes
        survives = 1.0
        passes.begin(context, sampler)
        for most in range(min(k, self._session.n_ctx - len(read) + 1), 0, -1):
            if not (passes.is_there or steering.asks()):
                break
            row = self._translation.row(passes.row(read, context, most, constraint))
            try:
                q = sampler.dist(row, context, constraint)
            except NothingAllowed:  # in the target's vocabulary something is
                break
            confidence = top_probability(row, q, constraint)
            if not steering.draws(confidence):
                break
            survives *= confidence
            token = sampler.draw_draft(q, len(context))
            passes.drew(token)
            yield token, q, survives
            own = self._translation.token(token)
            if self._is_eog(token) or own is None:
                break
            if constraint is not None:
                constraint = constraint.advanced(token)
            context = np.append(context, np.int32(token))
            read = np.append(read, np.int32(own))
        else:
            passes.end(is_full=True)
            return
        passes.end(is_full=False)

    def _failed(self, fault: EngineError) -> None:
        self._failures += 1
        _log.warning("the draft model failed: %s", fault)
        if self._failures == _FAILURES:
            self._give_up(f"the draft model failed {_FAILURES} times in a row: {fault}")

    def _give_up(self, reason: str) -> None:
        self.note = reason
        _log.warning("drafting with the model is off: %s", reason)


def bucket_of(confidence: float) -> int:
    """The bucket of a token that is drawn with this confidence."""
    return bisect_right(_BOUNDS, confidence)


class _On:
    """Steers straight on."""

    def asks(self) -> bool:
        return True

    def draws(self, confidence: float) -> bool:
        return True

    def kept(self, n_drawn: int) -> int:
        return n_drawn


STRAIGHT_ON = _On()
"""For a draft of a length that is set: asks for every token, and keeps it."""


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
