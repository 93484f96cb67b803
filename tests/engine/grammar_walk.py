"""A tiny vocabulary for grammar tests, and texts walked through a grammar byte by byte."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from edgespec.core import Mask
from edgespec.engine.binding import lib
from edgespec.engine.grammar import Grammars, GrammarState
from tests.tinygguf import EOS, FIRST_BYTE, IM_END, VOCAB, write_llama

N_EXTRA = 1000
"""Unused tokens: enough that a question about the whole vocabulary is a large one."""
ALL = np.arange(len(VOCAB) + N_EXTRA, dtype=np.int32)
ENDS = {EOS, IM_END}


@contextmanager
def native_vocab(folder: Path) -> Iterator[Any]:
    """The native vocabulary of a tiny model without weights."""
    path = write_llama(folder / "vocabulary.gguf", n_vocab_extra=N_EXTRA)
    params = lib().llama_model_default_params()
    params.vocab_only = True
    model = lib().llama_model_load_from_file(str(path).encode(), params)
    yield lib().llama_model_get_vocab(model)
    lib().llama_model_free(model)


def tokens_of(text: str) -> list[int]:
    """`text` in byte tokens."""
    return [FIRST_BYTE + byte for byte in text.encode()]


def mask_of(state: GrammarState) -> Mask:
    """[n_vocab]: what `state` allows."""
    return state.allowed(ALL)


def allowed_bytes(state: GrammarState) -> bytes:
    """The single bytes that `state` allows."""
    mask = mask_of(state)
    return bytes(byte for byte in range(256) if mask[FIRST_BYTE + byte])


def allows_end(state: GrammarState) -> bool:
    return bool(mask_of(state)[EOS])


def after(state: GrammarState, text: str) -> GrammarState | None:
    """The state after `text`; None when it is refused."""
    for token in tokens_of(text):
        if not state.allowed(np.array([token], np.int32))[0]:
            return None
        state = state.advanced(token)
    return state


def accepts(grammars: Grammars, gbnf: str, text: str) -> bool:
    """Whether `text` as a whole is in the grammar's language."""
    state = after(grammars.start(gbnf), text)
    return state is not None and allows_end(state)
