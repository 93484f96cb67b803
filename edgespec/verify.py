"""Verification: how many draft tokens stand, and the one token that follows them.

Three rules, all exact: whatever the draft, the emitted tokens have the target's law. Greedy
decoding and deterministic drafts are point masses, not special cases. Knows distributions and a
sampler; nothing of rows, models or caches.

match  sample-and-match: draw from p, accept while the draft says the same
token  Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1; Chen et al. 2023 (arXiv 2302.01318)
block  Sun et al. 2024 (arXiv 2403.10444), Algorithm 2: judges a draft as a whole, and accepts at
       least as many tokens in expectation as `token`
"""

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

import numpy as np

from edgespec.core import Dist, Draft, Probs, Rule, Sampler, Tokens, Verdict

Target = Callable[[int], Dist]
"""p(i): the target's distribution after the first i draft tokens; computed when asked for."""

_SEARCHABLE = 4096
"""Supports up to here are aligned by binary search, larger ones by scattering."""


def verify(
    draft: Draft, p: Target, sampler: Sampler, position: int, *, rule: Rule | None = None
) -> Verdict:
    """Judge `draft`, whose first token would stand at `position`.

    Deterministic drafts (no `dists`) are matched, one draw of the target's stream per emitted
    token; sampled ones are judged by `rule`, the sampler's own if None. "match" and "token" ask
    for p(i) only where the first i tokens stand; "block" may look further within the draft, until
    the rest of it is impossible. Branches are not looked at.
    """
    if not draft.dists:
        return _match(draft, p, sampler, position)
    if rule is None:
        rule = sampler.rule
    assert rule == "match" or len(draft.dists) == len(draft), "a sampled draft keeps every q"
    match rule:
        case "match":
            return _match(draft, p, sampler, position)
        case "token":
            return _token(draft, p, sampler, position)
        case "block":
            return _block(draft, p, sampler, position)
    assert_never(rule)


def _match(draft: Draft, p: Target, sampler: Sampler, position: int) -> Verdict:
    """Draw as plain decoding would, until a draw differs from the draft."""
    for i, x in enumerate(draft.tokens):
        y = sampler.draw(p(i), position + i)
        if y != x:
            return _recovered(draft, i, y)
    return _bonus(draft, sampler.draw(p(len(draft)), position + len(draft)))


def _token(draft: Draft, p: Target, sampler: Sampler, position: int) -> Verdict:
    """Accept xᵢ with probability min(1, p/q), each token by itself."""
    for i, (x, q) in enumerate(zip(draft.tokens, draft.dists, strict=True)):
        p_i = p(i)
        # Strict, and without a division: a token of probability 0 falls even at u = 0.
        if not sampler.uniform() * q.prob(x) < p_i.prob(x):
            return _recovered(draft, i, sampler.draw(residual(p_i, q), position + i))
    return _bonus(draft, sampler.draw(p(len(draft)), position + len(draft)))


def _block(draft: Draft, p: Target, sampler: Sampler, position: int) -> Verdict:
    """Accept the longest prefix whose own test succeeds; the tests look at whole prefixes."""
    k = len(draft)
    accepted, accepted_weight, accepted_p = 0, _ONE, p(0)
    weight, p_i = _ONE, accepted_p
    for i, (x, q) in enumerate(zip(draft.tokens, draft.dists, strict=True), start=1):
        weight = min(_ONE, weight * p_i.prob(x) / q.prob(x))
        if not weight > 0:
            break  # Every longer prefix has weight 0 as well.
        u = sampler.uniform()
        if i == k:
            if u < weight:
                return _bonus(draft, sampler.draw(p(k), position + k))
            break
        p_i = p(i)
        if u < _block_probability(p_i, draft.dists[i], weight):
            accepted, accepted_weight, accepted_p = i, weight, p_i
    left = residual(accepted_p, draft.dists[accepted], accepted_weight)
    return _recovered(draft, accepted, sampler.draw(left, position + accepted))


def _recovered(draft: Draft, accepted: int, own: int) -> Verdict:
    return Verdict(accepted, (*draft.tokens[:accepted], own), "recovered")


def _bonus(draft: Draft, own: int) -> Verdict:
    return Verdict(len(draft), (*draft.tokens, own), "bonus")


_ONE: float = 1
"""An integer, so that the rules also run in exact rationals."""


def _block_probability(p: Dist, q: Dist, weight: float) -> float:
    """h of a prefix that has `weight` and is followed by p and q (2403.10444, eq. 4)."""
    mass: float = _excess(p, q, weight).sum()
    # In this order: next to 1, a tiny mass would vanish and leave 0 / 0 at weight 1.
    return mass / (mass + (1 - weight)) if mass > 0 else 0


def accept_probability(p: Dist, q: Dist) -> float:
    """How likely a token drawn from q is accepted: Σₓ min(p(x), q(x)) = 1 - TV(p, q).

    Source: Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.5 (β).
    """
    return float(np.minimum(p.probs, _probs_at(q, p.ids)).sum())


def residual(p: Dist, q: Dist, weight: float = _ONE) -> Dist:
    """What to draw from after a token of q was refused: norm(max(0, weight·p - q)).

    Its support is part of p's, so a token that the target cannot say is never emitted.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1, p'(x) (`weight` 1); Sun et al.
    2024 (arXiv 2403.10444), eq. 3 (`weight` p_τ).
    """
    excess = _excess(p, q, weight)
    kept = np.flatnonzero(excess > 0)
    if not len(kept):
        return p  # p = q up to rounding: a refusal was all but impossible, and p is the law.
    excess = excess[kept]
    return replace(p, ids=p.ids[kept], probs=excess / excess.sum())


def _excess(p: Dist, q: Dist, weight: float) -> Probs:
    """max(0, weight·p - q) on the support of p."""
    over: Probs = np.maximum(weight * p.probs - _probs_at(q, p.ids), 0)
    return over


def _probs_at(q: Dist, ids: Tokens) -> Probs:
    """Probabilities of `ids` in q, in linear time for a whole vocabulary."""
    if q.ids is ids:
        return q.probs
    if len(ids) <= _SEARCHABLE or len(q.ids) <= _SEARCHABLE:
        return q.probs_of(ids)
    dense = np.zeros(1 + max(ids[-1], q.ids[-1]), np.float64)
    dense[q.ids] = q.probs
    found: Probs = dense[ids]
    return found
