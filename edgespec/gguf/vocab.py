"""A model's token list as its header gives it: texts, padding, and who puts BOS first.

Reads from disk on demand and keeps nothing; knows no tokenizing.
"""

import re
from dataclasses import dataclass
from typing import Final

from edgespec.gguf.part import GgufPart, refuse, shown
from edgespec.gguf.tables import ADDS_BOS

_TOKENS: Final = "tokenizer.ggml.tokens"
_TYPES: Final = "tokenizer.ggml.token_type"
_SCORES: Final = "tokenizer.ggml.scores"
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
        return kind if isinstance(kind, str) and _TOKENS in self.part.arrays else "none"

    @property
    def pre(self) -> str:
        """How text is cut before byte-pair merges."""
        return str(self.part.values.get("tokenizer.ggml.pre", "default"))

    def __len__(self) -> int:
        return self.part.arrays[_TOKENS].count if self.kind != "none" else 0

    def region(self) -> bytes:
        """All texts with their lengths, as they lie in the file."""
        return self.part.region(_TOKENS)

    def texts(self) -> list[bytes]:
        """The text of every token, in the file's spelling."""
        return self.part.texts(_TOKENS)

    def first_used(self, texts: list[bytes], start: int) -> int | None:
        """The first id from `start` on that is not padding."""
        types = self._types(start)
        for i, text in enumerate(texts[start:]):
            if not (types and types[i] == _UNUSED) and not _PADDING.fullmatch(text):
                return start + i
        return None

    def _types(self, start: int) -> tuple[float, ...]:
        array = self.part.arrays.get(_TYPES)
        if array is None or array.is_text or array.count < len(self):
            return ()
        return self.part.numbers(_TYPES, start)

    def special(self, name: str, default: int | None = None) -> int | None:
        """The id of "bos", "eos", ...; None when the file names none."""
        token = self.part.values.get(f"tokenizer.ggml.{name}_token_id", default)
        return token if isinstance(token, int) and 0 <= token < len(self) else None

    @property
    def bos(self) -> int | None:
        """The token put first, or None when none is."""
        # llama.cpp src/llama-vocab.cpp, llama_vocab::impl::load: explicit, else by family.
        usual = self.kind in ("llama", "bert") or (self.kind == "gpt2" and self.pre in ADDS_BOS)
        puts = self.part.values.get("tokenizer.ggml.add_bos_token", usual)
        if not puts and self.kind != "gemma4" and self.pre != "gemma4":
            return None
        return self.special("bos", {"llama": 1, "bert": 101, "gpt2": 11}.get(self.kind))

    @property
    def appended_eos(self) -> int | None:
        """The token put last on every text, or None when none is."""
        puts = self.part.values.get("tokenizer.ggml.add_eos_token", self.kind == "t5")
        return (
            self.special("eos", {"llama": 2, "gpt2": 11, "t5": 1}.get(self.kind)) if puts else None
        )

    def check(self) -> None:
        """Find what llama.cpp would die of: it aborts the process on a repeated token.

        Raises: `ModelFileError` naming the token, or the list that is too short.
        """
        if self.kind == "none":
            return
        for key in (_TYPES, _SCORES):
            array = self.part.arrays.get(key)
            if array is not None and array.count < len(self):
                refuse(
                    self.part.path,
                    f"is damaged: {shown(key)} has {array.count:,} items for {len(self):,} tokens",
                )
        texts = self.texts()
        if len(set(texts)) == len(texts) and b"\0" not in b"".join(texts):
            return
        seen: set[bytes] = set()
        for token, text in enumerate(texts):
            # llama.cpp cuts texts at a zero byte, and renames empty ones by their id.
            name = text.partition(b"\0")[0] or b"[EMPTY_%d]" % token
            if name in seen:
                refuse(self.part.path, f"is damaged: token {token} repeats the text {shown(name)}")
            seen.add(name)
