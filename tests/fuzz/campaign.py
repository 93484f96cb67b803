"""`python -m tests.fuzz.campaign -n 100000`: fuzzed headers, and what they cost.

Exits with 1 when one of them crashes the reader, takes over a second, or the process grows by
more than 64 MB.
"""

import argparse
import random
import re
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.anatomy import hollow_mutant
from tests.fuzz.looking import refusal, write_hollow
from tests.fuzz.originals import originals

MOST_S = 1.0
MOST_GROWTH_BYTES = 64 << 20
_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024
"""Of `ru_maxrss`."""


@dataclass
class Tally:
    """What came of a campaign."""

    n: int = 0
    n_accepted: int = 0
    longest_s: float = 0.0
    growth_bytes: int = 0
    faults: list[str] = field(default_factory=list)
    """Number of the mutant, and what it did."""

    @property
    def is_clean(self) -> bool:
        return not self.faults and self.growth_bytes <= MOST_GROWTH_BYTES


def campaign(n: int, seed: int, folder: Path) -> Tally:
    """Read `n` mutants; mutant i of a seed is the same in every run."""
    sound, path = originals(folder), folder / "mutant.gguf"
    for one in sound:  # warms up: imports, caches
        write_hollow(path, *one.hollow())
        assert refusal(path) is None
    tally, before = Tally(), peak_bytes()
    for i in range(n):
        rng = random.Random(f"{seed}/{i}")
        write_hollow(path, *hollow_mutant(rng.choice(sound), rng))
        began_s = time.process_time()
        try:
            error = refusal(path)
            if error is None:
                tally.n_accepted += 1
            elif not (error.message.isprintable() and error.hint):
                tally.faults.append(f"{i}: not a sentence with a hint: {error.message!r}")
        except Exception as fault:  # of any kind: that is what is looked for
            tally.faults.append(f"{i}: {type(fault).__name__}: {fault}")
        took_s = time.process_time() - began_s
        tally.longest_s = max(tally.longest_s, took_s)
        if took_s > MOST_S:
            tally.faults.append(f"{i}: took {took_s:.2f} s")
        tally.n += 1
    tally.growth_bytes = peak_bytes() - before
    return tally


def peak_bytes() -> int:
    """Most memory that this process has had so far.

    Linux counts what a process had before it was exec'ed into `ru_maxrss` too.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert found, "no high-water mark in /proc/self/status"
        return int(found[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT_BYTES


def main() -> int:
    """Run a campaign and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = campaign(arguments.n, arguments.seed, Path(folder))
    sys.stdout.write(
        f"{tally.n:,} headers in {time.monotonic() - began_s:.0f} s: "
        f"{tally.n_accepted:,} accepted, longest {tally.longest_s:.3f} s, "
        f"growth {tally.growth_bytes / 2**20:.1f} MiB, "
        f"{len(tally.faults)} faults\n"
    )
    for fault in tally.faults[:50]:
        sys.stdout.write(f"  {fault}\n")
    return 0 if tally.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
