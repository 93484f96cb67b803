"""A model's tokenizer: implements `core.Vocab` over llama.cpp's vocabulary."""

import ctypes
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Any

from edgespec.engine import binding

_ATTR_UNKNOWN = 1 << 0
_ATTR_CONTROL = 1 << 3
_ATTR_USER_DEFINED = 1 << 4


class LlamaVocab:
    """Valid while its model is open; any thread."""

    def __init__(self, handle: Any) -> None:
        self._lib = binding.lib()
        self.handle = handle
        self._pieces: dict[int, tuple[bytes, bytes]] = {}
        self.is_eog: Callable[[int], bool]
        """Whether a token ends a generation; a model may have several such tokens."""
        self.is_eog = cache(partial(self._lib.llama_vocab_is_eog, handle))  # asked at every step
        self.n_tokens = int(self._lib.llama_vocab_n_tokens(handle))
        self.add_bos = bool(self._lib.llama_vocab_get_add_bos(handle))
        self.bos = int(self._lib.llama_vocab_bos(handle))
        self.eos = int(self._lib.llama_vocab_eos(handle))

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The token's bytes, of any length; control tokens are empty unless `special`."""
        known = self._pieces.get(token)
        if known is None:
            plain = self._read(token, False)
            known = self._pieces[token] = (plain, plain or self._read(token, True))
        return known[special]

    def _read(self, token: int, special: bool) -> bytes:
        assert 0 <= token < self.n_tokens, f"token {token} of {self.n_tokens}"
        size = 64
        while True:
            buffer = (ctypes.c_char * size)()
            n = self._lib.llama_token_to_piece(self.handle, token, buffer, size, 0, special)
            if n >= 0:
                return buffer.raw[:n]
            size = -n  # the piece is longer than the buffer: llama.cpp gives the size it needs

    def tokenize(self, text: str, *, parse_special: bool, add_special: bool = False) -> list[int]:
        """Token ids; `parse_special` reads control tokens in the text, `add_special` adds BOS."""
        raw = text.encode("utf-8", "replace")
        size = len(raw) + 2
        while True:
            ids = (ctypes.c_int32 * size)()
            n = self._lib.llama_tokenize(
                self.handle, raw, len(raw), ids, size, add_special, parse_special
            )
            if n >= 0:
                return ids[:n]
            size = -n

    @cached_property
    def _marked(self) -> tuple[int, ...]:
        """Tokens that are read whole from a text; one native call per token of the vocabulary."""
        attr, handle = self._lib.llama_vocab_get_attr, self.handle
        wanted = _ATTR_UNKNOWN | _ATTR_CONTROL | _ATTR_USER_DEFINED
        return tuple(t for t in range(self.n_tokens) if attr(handle, t) & wanted)

    def control_texts(self) -> tuple[str, ...]:
        """Texts that `parse_special` reads as one token, longest first."""
        return self._control_texts

    @cached_property
    def _control_texts(self) -> tuple[str, ...]:
        texts = {self.piece(t, special=True).decode("utf-8", "replace") for t in self._marked}
        return tuple(sorted((text for text in texts if text.strip()), key=lambda t: (-len(t), t)))
