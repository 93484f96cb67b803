"""A tokenizer alone: the vocabulary of a file without its weights."""

import os
from pathlib import Path
from typing import Self

from edgespec.engine import binding
from edgespec.engine.vocab import LlamaVocab
from edgespec.errors import ModelFileError


class Tokenizer:
    """Owns a model of which only the vocabulary was read; `close` frees it."""

    def __init__(self, path: Path) -> None:
        """The header must have been read and checked before. Raises: `ModelFileError`."""
        self._lib = binding.lib()
        params = self._lib.llama_model_default_params()
        params.vocab_only = True
        binding.forget_errors()
        self._handle = self._lib.llama_model_load_from_file(os.fsencode(path), params)
        if not self._handle:
            said = binding.error_tail() or "no reason given"
            raise ModelFileError(f"llama.cpp could not read the vocabulary of {path.name} ({said})")
        self.vocab = LlamaVocab(self._lib.llama_model_get_vocab(self._handle))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Free it; idempotent."""
        if self._handle:
            self._lib.llama_model_free(self._handle)
            self._handle = None
