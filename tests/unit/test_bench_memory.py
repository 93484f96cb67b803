"""What a benchmark says of memory."""

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np

from edgespec.bench.memory import logged_buffers, peak_bytes

ROOT = Path(__file__).parents[2]


def test_logged_buffers_add_up_what_lies_in_host_memory() -> None:
    logger = logging.getLogger("edgespec.llama")

    with logged_buffers() as log:
        logger.debug("load_tensors:   CPU_Mapped model buffer size =    92.10 MiB")
        logger.debug("load_tensors:   CPU_REPACK model buffer size =     7.90 MiB")
        logger.debug("llama_kv_cache:        CPU KV buffer size =   180.00 MiB")
        logger.debug("llama_kv_cache:      CUDA0 KV buffer size =   999.00 MiB")
        logger.debug("~llama_context: CPU compute buffer size is 6.7 MiB, matches expectation")
    logger.debug("llama_kv_cache:        CPU KV buffer size =   180.00 MiB")

    assert log.buffers == {"model": 100 * 2**20, "KV": 180 * 2**20}


def test_logged_buffers_leave_the_logger_as_it_was() -> None:
    logger = logging.getLogger("edgespec.llama")
    before = (logger.level, logger.propagate, list(logger.handlers))

    with logged_buffers():
        pass

    assert (logger.level, logger.propagate, logger.handlers) == before


def test_peak_memory_is_that_of_this_process() -> None:
    assert 10 * 2**20 < peak_bytes() < 2**36


def test_a_child_does_not_begin_with_its_parents_peak() -> None:
    held = np.ones(2**25)  # 256 MiB
    code = "from edgespec.bench.memory import peak_bytes; print(peak_bytes())"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT)

    assert int(done.stdout) < held.nbytes < peak_bytes()
