"""The start of a process whose first frame a person waits for: nothing is collected before it.

What an import makes stays, so looking for garbage among it finds none: a sixth of all CPU until
the first paint.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hurried() -> Iterator[None]:
    """No collection until `settle` or the end."""
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.enable()


def settle() -> None:
    """From now on what is new is collected.

    What is here already is left out for good: a full collection walks through all it knows, in
    the midst of an answer.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
