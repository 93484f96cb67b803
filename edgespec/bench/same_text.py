"""Whether greedy answers are plain decoding's, in words."""

from collections.abc import Iterator, Sequence

from edgespec.bench.engine import PLAIN, is_ours
from edgespec.bench.result import Result
from edgespec.bench.score import Divergence
from edgespec.equality import Difference


def texts(result: Result) -> Iterator[str]:
    """Whether greedy answers are plain decoding's."""
    n_greedy = sum(s.temperature == 0 and s.arm != PLAIN and s.is_comparable for s in result.scores)
    if n_greedy and not result.divergences:
        yield f"greedy texts: all {n_greedy} equal plain decoding's"
    # Arms often take the same turning, and two answers of one arm may part later.
    by_turning: dict[tuple[str, Difference, bool], dict[str, Divergence]] = {}
    for found in result.divergences:
        key = found.prompt, found.difference, is_ours(found.arm)
        by_turning.setdefault(key, {})[found.arm] = found
    yield from (divergence_line(tuple(arms.values())) for arms in by_turning.values())


def divergence_line(alike: Sequence[Divergence]) -> str:
    """Greedy answers that leave plain decoding's alike, and whether rounding explains that."""
    found, arms = alike[0], ", ".join(each.arm for each in alike)
    difference = found.difference
    where = f"{found.prompt}, {arms}: greedy text differs from token {difference.at + 1}"
    verdict = "NOT LOSSLESS" if is_ours(found.arm) else _of_a_peer(difference)
    if difference.plain is None or difference.other is None:
        return f"{where}: {verdict}, one answer ended and the other went on"
    what = (
        f"{where}: {found.other_text!r} for {found.plain_text!r}; these are "
        f"{difference.gap:.3f} apart, passes of one row and of many differ by "
        f"{difference.deviation:.3f}{'' if difference.are_best else ', and a third is likelier'}"
    )
    return f"{what}: a near-tie" if difference.is_near_tie else f"{what}: {verdict}"


def _of_a_peer(difference: Difference) -> str:
    """What differs by more than rounding here: another build may round otherwise."""
    if difference.gap <= difference.deviation:
        return "no near-tie of these two"
    return "more than edgespec's own passes differ by"
