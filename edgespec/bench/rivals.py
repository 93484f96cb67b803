"""edgespec's fastest arm and its rivals, cell by cell, and reasons that hold for every figure."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from edgespec.bench.engine import PLAIN, is_ours
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

    @property
    def peers(self) -> tuple[Score, ...]:
        """Other engines' arms."""
        return tuple(score for score in self.everyone if not is_ours(score.arm))

    @property
    def where(self) -> str:
        """Its name in a sentence."""
        return f"{self.ours.prompt} at temperature {self.ours.temperature:g}"


def rivals_of(result: Result) -> Iterator[Rivals]:
    """Every cell."""
    for key in dict.fromkeys((s.prompt, s.temperature) for s in result.scores):
        found = tuple(s for s in result.scores if (s.prompt, s.temperature) == key)
        ours = max((s for s in found if is_ours(s.arm)), key=lambda s: s.ratio)
        yield Rivals(ours, found)


def family(arm: str) -> str:
    """The engine in an arm's name, whichever way it decodes."""
    return arm.partition(":")[0]


def build_reasons(result: Result, arm: str) -> list[str]:
    """What differs between an arm's build and edgespec's, if anything is told."""
    builds = {note.arm: note.build for note in result.arms}
    ours, theirs = builds[PLAIN], builds[arm]
    if more := sorted(set(theirs.features) - set(ours.features)):
        return [f"its build has {' '.join(more)}"]
    if theirs.n_threads != ours.n_threads and theirs.n_threads is not None:
        return [f"it takes {theirs.n_threads} threads, edgespec {ours.n_threads}"]
    if family(arm) != family(ON_OUR_LIBRARY):
        return [f"it is another build of llama.cpp ({theirs.version})"]
    return []


def noise_of(result: Result) -> float:
    """How far turns of plain decoding are apart, as a ratio."""
    speeds = [[run.tokens_per_s for run in cell.runs(PLAIN)] for cell in result.cells]
    ratios = [max(found) / min(found) for found in speeds if len(found) > 1]
    return median(ratios) if ratios else 1.0


def within_noise(result: Result) -> str:
    """The reason that is none."""
    return f"plain decoding of one prompt differs by {noise_of(result) - 1:.0%} from turn to turn"
