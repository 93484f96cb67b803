"""A name for a vocabulary: token ids mean the same texts in all files that share it."""

import hashlib

from edgespec.gguf.header import GgufHeader

_MERGES = "tokenizer.ggml.merges"


def vocabulary_of(header: GgufHeader) -> str:
    """64 hexadecimal digits. Weights, quantisation and chat templates do not matter."""
    tokens = header.tokens
    digest = hashlib.sha256(f"{tokens.kind}\0{tokens.pre}\0{len(tokens)}\0".encode())
    digest.update(tokens.region())
    if _MERGES in tokens.part.arrays:
        digest.update(tokens.part.region(_MERGES))
    return digest.hexdigest()
