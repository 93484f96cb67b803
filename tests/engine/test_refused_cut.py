"""A cut that llama.cpp refuses is heard: what stays in its memory is never taken for the text."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from edgespec.core import Tokens
from edgespec.engine.session import LlamaSession
from tests.engine.test_session_stateful import ATOL


def tokens_of(n: int, seed: int) -> Tokens:
    return np.random.default_rng(seed).integers(3, 360, n).astype(np.int32)


@pytest.mark.parametrize("name", ["llama", "gemma3", "mamba", "lfm2", "lfm2-window"])
@pytest.mark.parametrize("n_refused", [1, 2])
def test_refused_cut_equals_a_fresh_session(
    open_session: Callable[..., LlamaSession],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    n_refused: int,
) -> None:
    """Ignored elsewhere, it left garbage in the answer, often at the second request only."""
    session, fresh = open_session(name), open_session(name, rollback="replay")
    text, draft, turned = tokens_of(40, seed=1), tokens_of(4, seed=2), tokens_of(3, seed=3)
    context: Any = session._context
    remove, left = context.remove, [n_refused]

    def refusing(sequence: int, start: int) -> bool:
        if sequence == 0 and start > 0 and left[0]:
            left[0] -= 1
            return False
        done: bool = remove(sequence, start)
        return done

    session.forward(text, n_logits=0)
    session.forward(np.concatenate([text, draft]), n_logits=4)
    monkeypatch.setattr(context, "remove", refusing)

    for tokens in (np.concatenate([text, draft[:1], turned]), np.concatenate([text, turned])):
        row = session.forward(tokens, n_logits=1)[0].copy()
        expected = fresh.forward(tokens, n_logits=1)[0]
        np.testing.assert_allclose(row, expected, atol=ATOL, rtol=0)

    assert not left[0], "nothing was refused"
