"""`python -m tests.fuzz.answers -n 10000`: random answers beside plain decoding, faults included.

Each answer comes from a loaded model whose caches hold whatever the ones before it left there.
Exits with 1 when an answer is not plain decoding's where it must be, or cannot be the target's, or
a cache is not what it says.
"""

import argparse
import logging
import os
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.case import Case
from tests.fuzz.setups import SETUPS, Loaded, Setup, prepared

_log = logging.getLogger(__name__)


@dataclass
class Campaign:
    """Runs cases and keeps what came of them."""

    files: dict[str, Path]
    seed: int
    setups: tuple[Setup, ...] = SETUPS
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    loaded: dict[Setup, Loaded] = field(default_factory=dict)

    def run(self, number: int) -> None:
        """Case `number`: the same in every run that came to it by the same cases."""
        rng = random.Random(f"{self.seed}/{number}")
        setup = rng.choice(self.setups)
        if setup not in self.loaded:
            self.loaded[setup] = Loaded(setup, self.files)
        case = Case(self.loaded[setup], rng, self.counts)
        try:
            case.run()
        except Exception as fault:  # of any kind: that is what is looked for
            _log.debug("case %s", number, exc_info=fault)
            case.faults.append(f"{type(fault).__name__}: {fault}")
        self.faults += [f"{self.seed}/{number} {setup} {case}: {fault}" for fault in case.faults]

    def close(self) -> None:
        """Free the models."""
        for loaded in self.loaded.values():
            loaded.close()


def main() -> int:
    """Run a campaign and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--only", default="", help="setups whose text holds this")
    arguments = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        setups = tuple(s for s in SETUPS if arguments.only in str(s))
        os.environ["EDGESPEC_HOME"] = str(Path(folder, "home"))
        campaign = Campaign(prepared(Path(folder)), arguments.seed, setups)
        for number in range(arguments.n):
            n_before = len(campaign.faults)
            campaign.run(number)
            sys.stdout.writelines(f"  {fault}\n" for fault in campaign.faults[n_before:])
            sys.stdout.flush()
            if time.monotonic() - began_s > arguments.seconds:
                break
        campaign.close()
    sys.stdout.write(
        f"{number + 1:,} requests in {time.monotonic() - began_s:.0f} s, "
        f"{len(campaign.faults)} faults\n"
    )
    for name, n in sorted(campaign.counts.items()):
        sys.stdout.write(f"  {name}: {n:,}\n")
    return 1 if campaign.faults else 0


if __name__ == "__main__":
    sys.exit(main())
