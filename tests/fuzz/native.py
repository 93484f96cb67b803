"""`python -m tests.fuzz.native -n 1000`: does llama.cpp survive what the header reader accepts?

Every accepted mutant is loaded, tokenized with and decoded by llama.cpp, in a forked child of its
own, as a target and as a draft. Exits with 1 when one dies or hangs.
"""

import argparse
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from edgespec.engine import binding
from edgespec.engine.context import ContextOptions
from edgespec.engine.model import LoadOptions, Model
from edgespec.errors import EdgespecError
from edgespec.gguf.header import read_header
from tests.fuzz.anatomy import Anatomy, mutated
from tests.fuzz.looking import refusal
from tests.fuzz.originals import originals

_TEXT = "The quick\nbrown <s>fox</s> 日本 \U0001f999\0\x7f" + "".join(map(chr, range(1, 256)))
_LIMIT_S = 30.0
_MOST_ADDRESS_BYTES = 8 << 30
_REFUSED, _FAULT = 3, 4
HARMLESS = ("used", "refused")


def use(path: Path, *, as_draft: bool) -> None:
    """Everything the product does with a model, on a few tokens."""
    model = Model(path, LoadOptions(ids_of=read_header(path).shape if as_draft else None))
    try:
        tokens = [0, 1, 2, 3]
        if not as_draft:
            vocab = model.vocab
            for is_special in (False, True):
                tokens = vocab.tokenize(_TEXT, parse_special=is_special, add_special=is_special)
            for token in range(vocab.n_tokens):
                vocab.piece(token)
            vocab.control_texts()
        session = model.new_session(ContextOptions(64, 32, 8, 1))
        some = np.array(tokens[:40] or [0], np.int32)
        session.forward(some, n_logits=min(4, len(some)))
        session.forward(np.append(some[:2], 0).astype(np.int32), n_logits=1)
        session.close()
    finally:
        model.close()


def outcome(path: Path, *, as_draft: bool) -> str:
    """ "used", "refused", "hung", "a fault of ours", or the signal that the child died of."""
    child = os.fork()
    if not child:
        _be_child(path, as_draft)
    end_s = time.monotonic() + _LIMIT_S
    while time.monotonic() < end_s:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return _told(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


def _told(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    known = {0: "used", _REFUSED: "refused"}
    return known.get(os.WEXITSTATUS(status), "a fault of ours")


def _be_child(path: Path, as_draft: bool) -> None:
    code = _FAULT
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_ADDRESS_BYTES, _MOST_ADDRESS_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        use(path, as_draft=as_draft)
        code = 0
    except EdgespecError:
        code = _REFUSED
    finally:
        os._exit(code)


def accepted(sound: list[Anatomy], seed: int, i: int, path: Path) -> bool:
    """Write mutant `i` of a seed; whether the reader lets it through."""
    rng = random.Random(f"native/{seed}/{i}")
    path.write_bytes(mutated(rng.choice(sound), rng, n_most=rng.choice((1, 1, 2))).build())
    return refusal(path) is None


def main() -> int:
    """Find `n` accepted mutants, give each to llama.cpp, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    os.environ["GGML_NO_BACKTRACE"] = "1"  # a debugger per crash takes seconds
    binding.lib()
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path, sound = Path(folder, "mutant.gguf"), originals(Path(folder))
        i = -1
        while found.total() < arguments.n:
            i += 1
            if accepted(sound, arguments.seed, i, path):
                told = outcome(path, as_draft=i % 3 == 0)
                found[told] += 1
                if told not in HARMLESS:
                    sys.stdout.write(f"{i} of seed {arguments.seed}: {told}\n")
    sys.stdout.write(f"{dict(found)}\n")
    return 0 if set(found) <= set(HARMLESS) else 1


if __name__ == "__main__":
    sys.exit(main())
