"""A proof in sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edgespec.curve import best_length
from edgespec.equality import Difference
from edgespec.proof.pair import GREEDY_TOKENS, SAMPLING, Greedy, Proof
from edgespec.proof.tally import Acceptance, Share


def lines(proof: Proof) -> Iterator[str]:
    """What was found, then the verdict."""
    yield (
        f"{proof.shared_tokens}."
        if proof.shared_tokens
        else f"{proof.draft} and {proof.target} speak the same vocabulary."
    )
    yield from _greedy_lines(proof.greedy)
    yield from _acceptance_lines(proof.acceptance)
    yield from _worth_lines(proof)
    if proof.is_lossless:
        yield "Verdict: lossless. Drafting with this pair changes nothing but the speed."
    else:
        yield "Verdict: NOT lossless. Please report this, with the lines above."


def _greedy_lines(found: Sequence[Greedy]) -> Iterator[str]:
    equal = [greedy for greedy in found if greedy.difference is None]
    n_prompts = len({greedy.prompt for greedy in found})
    yield (
        f"Greedy: {len(equal)} of {len(found)} answers of up to {GREEDY_TOKENS} tokens, over "
        f"{len({greedy.drafter for greedy in found})} drafters and "
        f"{n_prompts} prompt{'s' if n_prompts != 1 else ''}, equal plain decoding's."
    )
    for greedy in found:
        if greedy.difference is not None:
            yield f"  {greedy.prompt}, {greedy.drafter}: {_told(greedy.difference, greedy.texts)}."


def _told(difference: Difference, texts: tuple[str, str]) -> str:
    if difference.plain is None or difference.other is None:
        return f"NOT EQUAL: one answer ends after {difference.at} tokens, the other goes on"
    verdict = "a near-tie" if difference.is_near_tie else "NOT EQUAL"
    return (
        f"{verdict} at token {difference.at + 1}: {texts[1]!r} for plain decoding's "
        f"{texts[0]!r} are {difference.gap:.3f} apart, and passes of one row and of many differ "
        f"by {difference.deviation:.3f} there{'' if difference.are_best else _THIRD}"
    )


_THIRD = ", and a third token is likelier than one of them"


def _acceptance_lines(found: Acceptance) -> Iterator[str]:
    yield (f"Sampled ({_chain()}), {found.n_draws} draws at each of {found.n_positions} positions:")
    yield _shared("draft tokens accepted", "the sum of min(p, q)", found.accepted)
    yield _shared("the likeliest token came out", "its probability p", found.best)
    yield (
        f"  drafts accepted on average: {found.block_length:.3f} tokens as blocks, "
        f"{found.token_length:.3f} one by one (blocks may not be worse)."
    )


def _worth_lines(proof: Proof) -> Iterator[str]:
    """What the draft model brings on this machine, asked at every step."""
    costs, agreed = proof.costs, proof.agreement
    token_s = costs.draft_s
    assert token_s is not None, "a pair has a draft model"
    token_cost = token_s / costs.target.plain_s
    yield f"Worth: one token of {proof.draft} takes {token_cost:.2f} plain steps of {proof.target}."
    rates = {
        "at temperature 0": agreed.n_agreed / max(agreed.n_positions, 1),
        f"at {_chain()}": proof.acceptance.accepted.expected,
    }
    for where, rate in rates.items():
        k, times = best_length(costs.target, rate, token_s)
        _, most = best_length(_FreeRows(costs.target.plain_s), rate, token_s)
        yield (
            f"  {where}: {rate:.3f} of its tokens accepted; asked at every step, the best length "
            f"is {k}: {times:.2f} times plain decoding, and {most:.2f} if rows cost nothing."
        )


@dataclass(frozen=True, slots=True)
class _FreeRows:
    """Passes that take a plain step's time whatever their rows: the most a machine could give."""

    plain_s: float

    def of(self, n_rows: int) -> float:
        return self.plain_s


def _shared(what: str, expected: str, share: Share) -> str:
    verdict = "as it should" if share.is_sound else "MORE THAN CHANCE ALLOWS"
    return (
        f"  {what}: {share.measured:.4f}; {expected}: {share.expected:.4f}; one standard error: "
        f"{share.error:.4f}: {verdict}."
    )


def _chain() -> str:
    return f"temperature {SAMPLING.temperature:g}, top-k {SAMPLING.top_k}"
