"""What llama.cpp itself does with a file: loaded, tokenized and decoded in a child per file.

The server imports the library once and forks for every file, so that a crash costs one child.
"""

import os
import signal
import time
from pathlib import Path

from edgespec.engine.context import ContextOptions
from edgespec.engine.model import LoadOptions, Model
from edgespec.errors import EdgespecError
from edgespec.gguf.header import read_header

_TEXT = "The quick\nbrown <s>fox</s> 日本 \U0001f999\0\x7f" + "".join(map(chr, range(1, 256)))


def use(path: Path, *, as_draft: bool) -> None:
    """Everything the product does with a model, on a few tokens."""
    header = read_header(path)
    shape = header.shape if as_draft else None
    model = Model(path, LoadOptions(ids_of=shape))
    try:
        tokens = [0, 1, 2, 3]
        if not as_draft:
            vocab = model.vocab
            for is_special in (False, True):
                tokens = vocab.tokenize(_TEXT, parse_special=is_special, add_special=is_special)
            for token in range(vocab.n_tokens):
                vocab.piece(token)
            vocab.control_texts()
        # As loading does: twice, the second time with the options of a pair.
        session = model.new_session(ContextOptions(64, 32, 8, 1))
        import numpy as np

        some = np.array(tokens[:40] or [0], np.int32)
        session.forward(some, n_logits=min(4, len(some)))
        session.forward(np.append(some[:2], 0).astype(np.int32), n_logits=1)
        session.close()
    finally:
        model.close()


def outcome(path: Path, *, as_draft: bool = False, limit_s: float = 20.0) -> str:
    """ "used", "refused", or how the child died."""
    child = os.fork()
    if not child:
        _child(path, as_draft)
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
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
    return {0: "used", 3: "refused"}.get(os.WEXITSTATUS(status), "a Python error")


def _child(path: Path, as_draft: bool) -> None:
    code = 4
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        if not os.environ.get("FUZZ_SHOWS"):
            os.dup2(null, 2)
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        use(path, as_draft=as_draft)
        code = 0
    except EdgespecError:
        code = 3
    except BaseException as error:
        if os.environ.get("FUZZ_SHOWS"):
            print(repr(error))
    finally:
        os._exit(code)
