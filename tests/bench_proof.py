"""The benchmark proves itself on a real model and a real clock, where noise is what it is.

    python -m tests.bench_proof                 # SmolLM2-135M, 20 repeats, about six minutes
    python -m tests.bench_proof MODEL REPEATS

Two arms decode plainly, so that they differ by noise alone; from the same runs the second is then
made 5 % slower, and one of its tokens another one. Every four repeats are also judged as one
measurement, as `--rounds 4` would have been. Wants a quiet machine; exits with 1 if less is found
than 95 % intervals promise at their width, or if the longer measurements miss the slowdown.
`tests/unit/test_bench_proof.py` asks the same of played noise.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace

from edgespec.bench.energy import unmeasured
from edgespec.bench.engine import PLAIN, Ask, Run
from edgespec.bench.field import Field
from edgespec.bench.measure import Cell, Plan, measure
from edgespec.bench.ours import OurEngine
from edgespec.bench.rig import Rig
from edgespec.bench.suite import prompts
from tests.planted import TWIN, Judged, finds_the_token, judged, pools

N_TOKENS = 24
N_PROMPTS = 8
N_POOLED = 4


class Twins(OurEngine):
    """Plain decoding under two names."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig, (), unmeasured)
        self.arms = (PLAIN, TWIN)

    def answer(self, arm: str, ask: Ask) -> Run:
        """Answer plainly, whatever it is called."""
        return replace(super().answer(PLAIN, ask), arm=arm)


def main(model: str, n_repeats: int) -> int:
    """Measure and judge."""
    rig = Rig.load(model, None, None, lambda phase, share: None)
    try:
        repeats = [_measured(rig, seed) for seed in range(n_repeats)]
    finally:
        rig.close()
    n_pooled = min(N_POOLED, n_repeats)
    single, longer = judged(repeats), judged(pools(repeats, n_pooled))
    n_changed = sum(map(finds_the_token, repeats))
    _tell("as measured", single)
    _tell(f"{n_pooled} repeats as one, a measurement of {2 * n_pooled} turns", longer)
    print(f"one changed token is found on every prompt: {n_changed} of {n_repeats}")
    failures = [
        *_broken_promises(single),
        *_broken_promises(longer),
        *["the longer measurements miss 5 %"] * (longer.n_found < _nearly_all(longer.n)),
        *["a changed token was missed"] * (n_changed < n_repeats),
    ]
    print("not proved: " + ", ".join(failures) if failures else "proved")
    return int(bool(failures))


def _measured(rig: Rig, seed: int) -> tuple[Cell, ...]:
    plan = Plan(prompts("short")[:N_PROMPTS], (TWIN,), (0.0,), N_TOKENS, seed=seed)
    cells = {cell.prompt: cell for cell in measure(Field([Twins(rig)]), plan)}
    print(f"repeat {seed + 1}", file=sys.stderr)
    return tuple(cells.values())


def _tell(what: str, found: Judged) -> None:
    print(f"{what}: intervals are +-{found.width:.1%} on average")
    print(f"  two identical arms within their interval: {found.n_same} of {found.n}")
    print(f"  5 % slower is found to be slower: {found.n_found} of {found.n}")
    print(f"  by their width it should be {found.promised:.1f}, and {found.least} at least")


def _broken_promises(found: Judged) -> Iterator[str]:
    if found.n_same < _nearly_all(found.n):
        yield f"identical arms are told apart in {found.n - found.n_same} of {found.n}"
    if found.n_found < found.least:
        yield f"5 % are found in {found.n_found} of {found.n}, and should be in {found.least}"


def _nearly_all(n: int) -> int:
    return max(1, 19 * n // 20)


if __name__ == "__main__":
    _, *said = sys.argv
    sys.exit(main(said[0] if said else "smollm2-135m", int(said[1]) if said[1:] else 20))
