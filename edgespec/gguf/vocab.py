"""A model's token list as its header gives it: texts, padding, and who puts BOS first.

Reads from disk on demand and keeps nothing; knows no tokenizing.
"""

import re
from dataclasses import dataclass
from typing import Final

from edgespec.gguf.part import GgufPart
from edgespec.gguf.tables import ADDS_BOS
from edgespec.gguf.token_check import check_count, check_ends, check_family, check_texts

_TOKENS: Final = "tokenizer.ggml.tokens"
_TYPES: Final = "tokenizer.ggml.token_type"
_UNUSED: Final = 5
_PADDING: Final = re.compile(rb"|\[PAD\d+\]|<(pad|unused|dummy)_?\d+>|<\|(unused|dummy)_?\d+\|>")


@dataclass(frozen=True, slots=True)
class TokenList:
    """The vocabulary of one file; a file without one has the kind "none" and no tokens."""

    part: GgufPart

    @property
    def kind(self) -> str:
        """The tokenizer's family: "llama" (SentencePiece), "gpt2" (byte-pair), ..."""
        kind = self.part.values.get("tokenizer.ggml.model", "none")
        tokens = self.part.arrays.get(_TOKENS)
        is_told = isinstance(kind, str) and tokens is not None and tokens.is_text
        return str(kind) if is_told else "none"

    @property
    def pre(self) -> str:
        """How text is cut before byte-pair merges."""
        return str(self.part.values.get("tokenizer.ggml.pre", "default"))

    def __len__(self) -> int:
        return self.part.arrays[_TOKENS].count if self.kind != "none" else 0

    def region(self) -> bytes:
        """All texts with their lengths, as they lie in the file."""
        return self.part.region(_TOKENS)

    def digest(self) -> str:
        """Equal digests: the same tokens with the same ids; empty without a token list."""
        return self.part.digest(_TOKENS) if _TOKENS in self.part.arrays else ""

    def texts(self) -> list[bytes]:
        """The text of every token, in the file's spelling."""
        return self.part.texts(_TOKENS)

    def first_used(self, texts: list[bytes], start: int) -> int | None:
        """The first id from `start` on that is not padding."""
        types = self.types(start)
        for i, text in enumerate(texts[start:]):
            if not (types and types[i] == _UNUSED) and not _PADDING.fullmatch(text):
                return start + i
        return None

    def types(self, start: int = 0) -> tuple[float, ...]:
        """The kind of every token from `start` on, as llama.cpp numbers them; empty where the
        file does not say."""
        array = self.part.arrays.get(_TYPES)
        if array is None or array.is_text or array.count < len(self):
            return ()
        return self.part.numbers(_TYPES, start)

    def special(self, name: str, default: int | None = None) -> int | None:
        """The id of "bos", "eos", ...; where the file names none that exists, `default` if that
        does."""
        named = self.part.values.get(f"tokenizer.ggml.{name}_token_id")
        for token in (named, default):
            if isinstance(token, int) and 0 <= token < len(self):
                return token
        return None

    @property
    def _puts_bos(self) -> bool:
        # llama.cpp src/llama-vocab.cpp, llama_vocab::impl::load: explicit, else by family.
        usual = self.kind in ("llama", "bert") or (self.kind == "gpt2" and self.pre in ADDS_BOS)
        puts = self.part.values.get("tokenizer.ggml.add_bos_token", usual)
        return bool(puts) or self.kind == "gemma4" or self.pre == "gemma4"

    @property
    def _puts_eos(self) -> bool:
        return bool(self.part.values.get("tokenizer.ggml.add_eos_token", self.kind == "t5"))

    @property
    def bos(self) -> int | None:
        """The token put first, or None when none is."""
        usual = {"llama": 1, "bert": 101, "gpt2": 11, "plamo2": 1}.get(self.kind)
        return self.special("bos", usual) if self._puts_bos else None

    @property
    def appended_eos(self) -> int | None:
        """The token put last on every text, or None when none is."""
        usual = {"llama": 2, "gpt2": 11, "t5": 1, "plamo2": 2}.get(self.kind)
        return self.special("eos", usual) if self._puts_eos else None

    def check(self) -> None:
        """Refuse what llama.cpp would die of, now or at a later text; 0.1 s for 151,936 tokens.

        Raises: `ModelFileError` naming the token, or what is missing.
        """
        check_family(self.part, self.kind)
        check_count(self.part, len(self))
        check_texts(self.part, self.kind, self.texts())
        check_ends(
            self.part,
            bos=self.bos,
            eos=self.appended_eos,
            puts=(self._puts_bos, self._puts_eos),
        )
