"""What llama.cpp would die of in a vocabulary: at loading, or later at an unlucky text.

It aborts on a repeated token, on a BOS it shall add and does not have, and at the first byte of a
text that a SentencePiece vocabulary has no token for.

Source: llama.cpp src/llama-vocab.cpp (llama_vocab::impl::load, byte_to_token, tokenize).
"""

from typing import Final

from edgespec.gguf.part import GgufPart, refuse, shown

_FAMILIES: Final = frozenset(
    {"llama", "gpt2", "rwkv", "plamo2", "gemma4", "hybriddna", "whitespace"}
)
_ENCODERS: Final = {"t5": "T5", "bert": "BERT"}
_BYTE_FAMILIES: Final = frozenset({"llama", "plamo2"})
_LISTS: Final = ("tokenizer.ggml.token_type", "tokenizer.ggml.scores")
_MAX_TOKENS: Final = 300_000
"""The largest vocabularies have 262,208; beyond 314,572 a set takes twice the memory."""
_HINT: Final = "get another file of this model: this one was converted wrongly, or is damaged"


def check_family(part: GgufPart, kind: str) -> None:
    """Refuse tokenizers that llama.cpp does not have, or not for text that is written."""
    if kind == "none":
        refuse(part.path, "has no vocabulary: no text can be turned into its tokens", _HINT)
    if kind in _ENCODERS:
        refuse(
            part.path,
            f"has a {_ENCODERS[kind]} tokenizer, made for models that read and do not write",
            "give the file of a language model",
        )
    if kind not in _FAMILIES:
        refuse(
            part.path,
            f"has the tokenizer {shown(kind)}, which this llama.cpp does not know",
            "a newer llama.cpp may; until then get another model",
        )


def check_count(part: GgufPart, n_tokens: int) -> None:
    """Refuse a list that no tokenizer has before it is read into memory."""
    if n_tokens > _MAX_TOKENS:
        refuse(
            part.path,
            f"is damaged: it has {n_tokens:,} tokens, at most {_MAX_TOKENS:,} are read",
            _HINT,
        )


def check_texts(part: GgufPart, kind: str, texts: list[bytes]) -> None:
    """Lists as long as the vocabulary, no text twice, every byte writable."""
    for key in _LISTS:
        array = part.arrays.get(key)
        if array is not None and array.count < len(texts):
            refuse(
                part.path,
                f"is damaged: {shown(key)} has {array.count:,} items for {len(texts):,} tokens",
                _HINT,
            )
    names = _distinct(part, texts)
    if kind in _BYTE_FAMILIES:
        written = (b for b in range(256) if not {b"<0x%02X>" % b, bytes([b])}.isdisjoint(names))
    elif kind == "rwkv":
        written = (b for name in names if len(name) <= 4 and (b := _rwkv_byte(name)) is not None)
    else:
        return
    missing = set(range(256)).difference(written)
    if missing:
        refuse(
            part.path,
            f"has no token for the byte 0x{min(missing):02X}, and llama.cpp ends the process or "
            "never comes back at the first text that needs it",
            _HINT,
        )


def _rwkv_byte(text: bytes) -> int | None:
    """The byte that an escaped text stands for; None where it is none or several."""
    if len(text) == 1:
        return text[0]
    if text[:1] == b"\\":
        named = {b"t": 9, b"n": 10, b"r": 13}
        if len(text) == 2:
            return named.get(text[1:], text[1] if text[1:] != b"x" else None)
        if text[1:2] == b"x" and len(text) == 4:
            try:
                return int(text[2:], 16)
            except ValueError:
                return None
    return None


def check_ends(
    part: GgufPart, *, bos: int | None, eos: int | None, puts: tuple[bool, bool]
) -> None:
    """A token that shall begin or end every text has to be there."""
    for name, token, is_put in (("BOS", bos, puts[0]), ("EOS", eos, puts[1])):
        if is_put and token is None:
            refuse(part.path, f"shall put {name} around every text, but has no such token", _HINT)


def _distinct(part: GgufPart, texts: list[bytes]) -> set[bytes]:
    """The texts as llama.cpp reads them: cut at a zero byte, empty ones renamed by their id."""
    names = set(texts)
    if len(names) == len(texts) and b"" not in names and not any(b"\0" in text for text in texts):
        return names
    seen: set[bytes] = set()
    for token, text in enumerate(texts):
        name = text.partition(b"\0")[0] or b"[EMPTY_%d]" % token
        if name in seen:
            refuse(part.path, f"is damaged: token {token} repeats the text {shown(name)}", _HINT)
        seen.add(name)
    return seen
