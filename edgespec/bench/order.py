"""In which order the arms of one cell take their turns."""

from collections.abc import Sequence


def abba(arms: Sequence[str], n_rounds: int, offset: int) -> list[tuple[str, ...]]:
    """Two turns of all arms per round, the second in reverse order, so that drift cancels out.

    Which arm begins moves on with `offset` and with every round: none always goes first.
    """
    turns: list[tuple[str, ...]] = []
    for i in range(offset, offset + n_rounds):
        first = i % len(arms)
        forth = (*arms[first:], *arms[:first])
        turns += [forth, forth[::-1]]
    return turns
