"""Keeping a row's temporary arrays in the process between one token and the next."""

import numpy as np

_N_BYTES = 8 << 20
"""More than the temporary arrays of one row at 151,936 tokens take together."""


def keep_freed_memory() -> None:
    """Have malloc keep freed arrays as long as a vocabulary instead of unmapping them.

    Mapped anew for every row, they cost more in page faults than in arithmetic. glibc keeps twice
    the size of the largest block it has seen freed; elsewhere this changes nothing.
    Source: glibc malloc/malloc.c, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD (mallopt(3)).
    """
    np.empty(_N_BYTES, np.uint8)
