"""edgespec's fastest arm and its rivals, cell by cell, and reasons that hold for every figure."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from edgespec.bench.engine import PLAIN, is_ours
from edgespec.bench.measure import Cell
from edgespec.bench.result import Result
from edgespec.bench.score import Score

LEVEL = 1.03
"""A ratio below it is no difference worth a reason."""
ON_OUR_LIBRARY = "llama-cpp-python:plain"
"""A peer that runs edgespec's own build of llama.cpp, unless another Python was named for it."""


@dataclass(frozen=True, slots=True)
class Rivals:
    """One prompt at one temperature."""

    ours: Score
    """The fastest of edgespec's arms: the one that a user would take."""
    everyone: tuple[Score, ...]
    cell: Cell

    @property
    def peers(self) -> tuple[Score, ...]:
        """Other engines' arms, the fastest first."""
        found = (score for score in self.everyone if not is_ours(score.arm))
        return tuple(sorted(found, key=lambda score: -score.ratio))

    @property
    def where(self) -> str:
        """Its name in a sentence."""
        return f"{self.ours.prompt} at temperature {self.ours.temperature:g}"

    def best_of(self, engine: str) -> Score | None:
        """The fastest of an engine's arms that had as many turns as `ours`: of one with fewer,
        nothing is known of how its turns differ."""
        n_turns = len(self.cell.speeds(self.ours.arm))
        return next(
            (
                peer
                for peer in self.peers
                if family(peer.arm) == engine and len(self.cell.speeds(peer.arm)) == n_turns
            ),
            None,
        )

    def is_single(self, peer: Score) -> bool:
        """Whether a peer had one turn, and nothing tells how another would have been."""
        return peer.interval is None and len(self.cell.speeds(peer.arm)) == 1


def rivals_of(result: Result) -> Iterator[Rivals]:
    """Every cell."""
    for cell in result.cells:
        key = cell.prompt, cell.temperature
        found = tuple(s for s in result.scores if (s.prompt, s.temperature) == key)
        ours = max((s for s in found if is_ours(s.arm)), key=lambda s: s.ratio)
        yield Rivals(ours, found, cell)


def family(arm: str) -> str:
    """The engine in an arm's name, whichever way it decodes."""
    return arm.partition(":")[0]


def build_reasons(result: Result, arm: str) -> list[str]:
    """What differs between an arm's build and edgespec's, if anything is told."""
    builds = {note.arm: note.build for note in result.arms}
    ours, theirs = builds[PLAIN], builds[arm]
    if is_served(result, arm):
        return [f"it has an engine and a model file of its own ({theirs.note})"]
    if more := sorted(set(theirs.features) - set(ours.features)):
        return [f"its build has {' '.join(more)}"]
    if theirs.n_threads != ours.n_threads and theirs.n_threads is not None:
        return [f"it takes {theirs.n_threads} threads, edgespec {ours.n_threads}"]
    if family(arm) != family(ON_OUR_LIBRARY):
        return [f"it is another build of llama.cpp ({theirs.version})"]
    return []


def is_served(result: Result, arm: str) -> bool:
    """Whether an arm's engine and its model file are its own."""
    return any(note.build.is_served for note in result.arms if note.arm == arm)


def noise_of(result: Result) -> float:
    """How far turns of plain decoding are apart, as a ratio."""
    return median(turns_apart(result) or [1.0])


def turns_apart(result: Result) -> list[float]:
    """Of every repeated prompt, its fastest turn of plain decoding over its slowest."""
    speeds = [cell.speeds(PLAIN) for cell in result.cells]
    return [max(found) / min(found) for found in speeds if len(found) > 1]


def noise_told(result: Result) -> str:
    """`noise_of` in words."""
    if not turns_apart(result):
        return "no turn was repeated"
    return f"plain decoding of one prompt differs by {noise_of(result) - 1:.0%} from turn to turn"


def named(result: Result, cell: Cell) -> str:
    """A cell in a list: with its temperature where there are several."""
    if len(result.asked.temperatures) == 1:
        return cell.prompt
    return f"{cell.prompt} at {cell.temperature:g}"
