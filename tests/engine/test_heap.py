"""Freed memory goes back to the system, where the C library can be told."""

import ctypes
import sys

import psutil
import pytest

from edgespec.engine import heap

_MIB = 2**20


def resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


@pytest.mark.skipif(sys.platform != "linux", reason="other C libraries keep little")
def test_give_back_returns_what_lies_below_a_block_in_use() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    blocks = [ctypes.c_void_p(libc.malloc(_MIB // 16)) for _ in range(16 * 64)]
    for block in blocks:
        ctypes.memset(block, 1, _MIB // 16)
    *freed, last = blocks
    for block in freed:
        libc.free(block)
    held_bytes = resident_bytes()

    heap.give_back()

    left_bytes = resident_bytes()
    libc.free(last)
    assert held_bytes - left_bytes > 32 * _MIB


def test_give_back_may_be_asked_when_there_is_nothing() -> None:
    heap.give_back()

    assert heap.give_back() in (0, 1)
