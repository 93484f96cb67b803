"""A pass is given up from another thread, and the session then is what a fresh one would be."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from edgespec.engine.context import ContextOptions
from edgespec.engine.interrupt import Interrupt
from edgespec.engine.session import LlamaSession
from edgespec.errors import Interrupted
from tests.engine.conftest import SMALL, TinyModels
from tests.engine.test_session_stateful import ATOL

TEXT = np.random.default_rng(0).integers(3, 360, 480).astype(np.int32)
CHUNKED = ContextOptions(n_ctx=512, n_batch=16, max_logits=4, n_threads=1)


def cut_at_pass(session: LlamaSession, interrupt: Interrupt, n: int) -> list[int]:
    """Set the flag from another thread while the n-th native pass begins; gives rows per pass."""
    context: Any = session._context
    real_decode = context.decode
    rows: list[int] = []

    def decode(batch: Any) -> None:
        rows.append(batch.n_rows)
        if len(rows) == n:
            setter = threading.Thread(target=interrupt.set)
            setter.start()
            setter.join()
        real_decode(batch)

    context.decode = decode
    return rows


@pytest.mark.parametrize("name", ["llama", "gemma3", "mamba", "lfm2"])
@pytest.mark.parametrize("at", [1, 3, 17])
def test_interrupt_ends_a_prefill_within_the_pass_and_leaves_a_good_session(
    tiny: TinyModels, open_session: Callable[..., LlamaSession], name: str, at: int
) -> None:
    interrupt = Interrupt()
    session = tiny[name].new_session(CHUNKED, interrupt)
    rows = cut_at_pass(session, interrupt, at)
    with pytest.raises(Interrupted):
        session.forward(TEXT, n_logits=1)
    interrupt.clear()
    n_resident = len(session.resident)

    row = session.forward(TEXT, n_logits=1)[0].copy()

    session.close()
    assert len(rows) >= at
    assert n_resident == (16 * (at - 1) if name in ("llama", "gemma3") else 0)
    expected = open_session(name, SMALL).forward(TEXT, n_logits=1)[0]
    np.testing.assert_allclose(row, expected, atol=ATOL, rtol=0)


def test_set_interrupt_stops_every_pass_until_cleared(tiny: TinyModels) -> None:
    interrupt = Interrupt()
    session = tiny["llama"].new_session(CHUNKED, interrupt)
    interrupt.set()

    for _ in range(2):
        with pytest.raises(Interrupted):
            session.forward(TEXT[:5], n_logits=1)
    was_set = interrupt.is_set
    interrupt.clear()

    assert was_set
    assert not interrupt.is_set
    assert session.forward(TEXT[:5], n_logits=1).n_decoded == 5
    session.close()


def test_interrupt_is_shared_by_the_sessions_it_was_given_to(tiny: TinyModels) -> None:
    interrupt = Interrupt()
    two = [tiny[name].new_session(CHUNKED, interrupt) for name in ("llama", "gemma3")]
    other = tiny["llama"].new_session(CHUNKED)
    interrupt.set()

    for session in two:
        with pytest.raises(Interrupted):
            session.forward(TEXT[:5], n_logits=1)

    assert other.forward(TEXT[:5], n_logits=1).n_decoded == 5
    for session in (*two, other):
        session.close()
