"""The child of a trial: loads models as it is told, decodes, and may be killed doing so.

Run as `python -m edgespec.engine.trial_load JOB`. Exit status 0: it can be loaded like that.
"""

import sys
from contextlib import ExitStack

import numpy as np

from edgespec.engine.model import Model
from edgespec.engine.trial import REFUSED, Part, parts_of
from edgespec.errors import EdgespecError

_SPARE_BYTES = 32 << 20
"""Held beside the load: what answering takes in the process that will really do it."""


def load(parts: tuple[Part, ...]) -> None:
    """Load all of them, then let each decode its largest pass and its smallest."""
    with ExitStack() as stack:
        spare = np.ones(_SPARE_BYTES, np.uint8)
        sessions = []
        for part in parts:
            model = Model(part.path, part.load)
            stack.callback(model.close)
            sessions.append(model.new_session(part.context))
            stack.callback(sessions[-1].close)
        for session in sessions:
            n = min(session.n_batch, session.n_ctx - 2)
            tokens = np.zeros(n + 1, np.int32)
            session.forward(tokens[:n], n_logits=min(n, session.max_logits))
            session.forward(tokens, n_logits=1)
        del spare


if __name__ == "__main__":
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # to die here is no reason for a core file
    try:
        load(parts_of(sys.argv[1]))
    except (EdgespecError, MemoryError) as error:
        sys.stdout.write(f"{error or 'memory ran out'}\n")
        sys.exit(REFUSED)
