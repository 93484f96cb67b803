"""Strangers' drafters behind a guard: what breaks the contract costs its arm, never the answer.

A guarded drafter that raises, or says what no draft may hold, drafts nothing from then on and
tells why, once. The guard cannot see everything: a sampled draft whose drawn tokens were dropped
by their value looks like any other (`contract` finds that).
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from edgespec.core import (
    Branch,
    Dist,
    Draft,
    LearnsFromTarget,
    Logits,
    Sampler,
    Steered,
    Steering,
    Tokens,
)
from edgespec.drafters import DrafterClass, DrafterInputs, Noted
from edgespec.drafters.arms import Branching, Bucket, Free, Heard, Paid
from edgespec.drafters.third_party import told
from edgespec.errors import Interrupted, UsageError

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_ROUNDING = 1e-6


class Breach(Exception):
    """What a drafter said breaks the contract; the message continues "it "."""


def built(name: str, drafter_class: DrafterClass, inputs: DrafterInputs) -> "Guarded":
    """A stranger's drafter behind a guard of its kind. Raises: `UsageError` if it is none."""
    try:
        return _guarded(name, drafter_class(inputs), inputs)
    except Exception as fault:  # a stranger's code may raise anything
        _log.debug("the drafter %r cannot be built", name, exc_info=fault)
        why = f"it {fault}" if isinstance(fault, Breach) else told(fault)
        raise UsageError(
            f"the drafter {name!r} cannot be built: {why}", hint="take another --drafter"
        ) from fault


def _guarded(name: str, drafter: Any, inputs: DrafterInputs) -> "Guarded":
    if not callable(getattr(drafter, "draft", None)):
        raise Breach("has no method draft")
    if getattr(drafter, "name", None) != name:
        raise Breach(f"calls itself {getattr(drafter, 'name', None)!r}, not {name!r}")
    if isinstance(drafter, Paid) and isinstance(drafter, Steered):
        _check_buckets(drafter.buckets, 2 * len(drafter.shares))
        return _GuardedPaid(name, drafter, inputs)
    if isinstance(drafter, Branching):
        from edgespec.drafters.guard_trees import GuardedTrees

        _check_buckets(drafter.buckets, len(drafter.buckets))
        return GuardedTrees(name, drafter, inputs)
    if isinstance(drafter, Free):
        _check_buckets(drafter.buckets, len(drafter.buckets))
        return _GuardedFree(name, drafter, inputs)
    return Guarded(name, drafter, inputs)


class Guarded:
    """Implements `core.Drafter`, `core.LearnsFromTarget` and `Noted` over a stranger's."""

    def __init__(self, name: str, drafter: Any, inputs: DrafterInputs) -> None:
        self.name = name
        self._drafter = drafter
        self._inputs = inputs
        self._learns = isinstance(drafter, LearnsFromTarget)
        self._is_asked = False
        """For the step's draft, so that its rows are the drafter's own."""
        self._is_off = ""

    @property
    def note(self) -> str:
        """Why it drafts nothing any more; empty while it works."""
        if self._is_off or not isinstance(self._drafter, Noted):
            return self._is_off
        return self._drafter.note

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        """See `core.Drafter`; nothing once it has broken its contract."""
        self._is_asked = not self._is_off and k > 0
        if not self._is_asked:
            return Draft()
        return self._checked(lambda: self._drafter.draft(frozen(context), k, sampler), context, k)

    def learn(self, context: Tokens, logits: Logits) -> None:
        """See `core.LearnsFromTarget`."""
        if self._learns and self._is_asked and not self._is_off:
            self._tried(lambda: self._drafter.learn(frozen(context), logits), None)

    def _checked(self, ask: Callable[[], Draft], context: Tokens, k: int) -> Draft:
        def asked() -> Draft:
            draft = ask()
            check(draft, len(context), k, self._inputs)
            return draft

        return self._tried(asked, Draft())

    def _tried(self, ask: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return ask()
        except Interrupted:
            raise
        except Breach as breach:
            self._stop(f"it {breach}", breach)
        except Exception as fault:  # a stranger's code may raise anything
            self._stop(told(fault), fault)
        return otherwise

    def _stop(self, why: str, fault: Exception) -> None:
        self._is_off = f"the drafter {self.name!r} is off: {why}"
        _log.warning("%s", self._is_off)
        _log.debug("where it happened", exc_info=fault)


class _GuardedFree(Guarded):
    """Also implements `arms.Free`."""

    @property
    def buckets(self) -> Sequence[Bucket]:
        """The drafter's own."""
        buckets: Sequence[Bucket] = self._drafter.buckets
        return buckets

    def outlook(self, context: Tokens, heard: Heard) -> Iterator[int]:
        """See `arms.Free`; empty once it has broken its contract."""
        if self._is_off:
            return
        n = len(self.buckets)

        def heard_checked(bucket: int, is_hit: bool) -> None:
            heard(bucket_in(bucket, n), is_hit)

        def begun() -> Iterator[int]:
            return iter(self._drafter.outlook(frozen(context), heard_checked))

        nothing: Iterator[int] = iter(())
        found = self._tried(begun, nothing)
        while (bucket := self._tried(partial(_next_bucket, found, n), None)) is not None:
            yield bucket


class _GuardedPaid(Guarded):
    """Also implements `arms.Paid` and `core.Steered`."""

    @property
    def buckets(self) -> Sequence[Bucket]:
        """The drafter's own."""
        buckets: Sequence[Bucket] = self._drafter.buckets
        return buckets

    @property
    def shares(self) -> Sequence[float]:
        """The drafter's own."""
        shares: Sequence[float] = self._drafter.shares
        return shares

    def bucket_of(self, confidence: float) -> int:
        """See `arms.Paid`."""
        n = len(self.shares)
        return self._tried(lambda: bucket_in(self._drafter.bucket_of(confidence), n), 0)

    def unread(self, context: Tokens) -> int:
        """See `arms.Paid`."""
        return max(0, int(self._tried(lambda: self._drafter.unread(frozen(context)), 0)))

    def read(self, context: Tokens, n_tokens: int, sampler: Sampler) -> None:
        """See `core.Steered`."""
        self._is_asked = False
        if not self._is_off:
            self._tried(lambda: self._drafter.read(frozen(context), n_tokens, sampler), None)

    def draft_while(self, context: Tokens, k: int, sampler: Sampler, steering: Steering) -> Draft:
        """See `core.Steered`."""
        self._is_asked = not self._is_off and k > 0
        if not self._is_asked:
            return Draft()
        return self._checked(
            lambda: self._drafter.draft_while(frozen(context), k, sampler, steering), context, k
        )


def check(draft: Draft, n_context: int, k: int, inputs: DrafterInputs) -> None:
    """Whether the loop may take this draft of at most k tokens. Raises: `Breach`."""
    if not isinstance(draft, Draft):
        raise Breach(f"drafted {type(draft).__name__} instead of core.Draft")
    if max(len(draft), draft.n_nodes) > k:
        raise Breach(f"drafted {draft.n_nodes} tokens where {k} were asked for")
    _check_chain(draft.tokens, draft.dists, inputs)
    if len(draft.branches) > inputs.max_branches:
        raise Breach(
            f"drafted {len(draft.branches)} branches where a pass takes {inputs.max_branches}"
        )
    for branch in draft.branches:
        if not isinstance(branch, Branch) or not branch.tokens:
            raise Breach("drafted an empty branch")
        is_whole = isinstance(branch.at, int | np.integer)
        if not (is_whole and n_context <= branch.at <= n_context + len(draft)):
            raise Breach(f"drafted a branch that leaves at {branch.at}, beside its trunk")
        _check_chain(branch.tokens, branch.dists, inputs)


def _check_chain(tokens: tuple[int, ...], dists: tuple[Dist, ...], inputs: DrafterInputs) -> None:
    if not isinstance(tokens, tuple | list):
        raise Breach(f"drafted {type(tokens).__name__} instead of a tuple")
    for i, token in enumerate(tokens):
        if not isinstance(token, int | np.integer) or not 0 <= token < inputs.n_vocab:
            raise Breach(f"drafted token {token!r} of a vocabulary of {inputs.n_vocab:,}")
        if inputs.is_eog(int(token)) and i + 1 < len(tokens):
            raise Breach(f"went on after token {token}, which ends a generation")
    if len(dists) not in (0, len(tokens)):
        raise Breach(f"drafted {len(tokens)} tokens with {len(dists)} distributions")
    for token, q in zip(tokens, dists, strict=False):
        if not (isinstance(q, Dist) and _is_law(q)):
            raise Breach(f"drew token {token} from what is no distribution")
        if q.prob(int(token)) <= 0:
            raise Breach(f"drafted token {token}, which its distribution does not hold")
        if (q.ids[1:] <= q.ids[:-1]).any():
            raise Breach("gave a distribution whose ids do not ascend")
        if not 0 <= int(q.ids[0]) <= int(q.ids[-1]) < inputs.n_vocab:
            raise Breach(f"drew from ids beyond the vocabulary of {inputs.n_vocab:,}")


def _is_law(q: Dist) -> bool:
    """Whether it has a probability for each of its ids; what is not a number is none."""
    if (
        q.ids.ndim != 1
        or q.ids.shape != q.probs.shape
        or not np.issubdtype(q.ids.dtype, np.integer)
    ):
        return False
    is_one = abs(float(q.probs.sum()) - 1) <= _ROUNDING
    return is_one and float(q.probs.min()) >= 0


def _check_buckets(buckets: object, n: int) -> None:
    is_right = isinstance(buckets, Sequence) and all(isinstance(b, Bucket) for b in buckets)
    if not is_right or not isinstance(buckets, Sequence) or not len(buckets) == n > 0:
        raise Breach("has buckets that are not what drafters.arms asks for")


def bucket_in(bucket: object, n: int) -> int:
    """The number of a bucket of n. Raises: `Breach`."""
    if not isinstance(bucket, int | np.integer) or not 0 <= bucket < n:
        raise Breach(f"names bucket {bucket!r} of {n}")
    return int(bucket)


def _next_bucket(found: Iterator[int], n: int) -> int | None:
    try:
        return bucket_in(next(found), n)
    except StopIteration:
        return None


def frozen(context: Tokens) -> Tokens:
    """The context as a stranger may read it: writing to it raises."""
    view = context.view()
    view.flags.writeable = False
    return view
