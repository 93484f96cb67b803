"""The types of caches and the ways to split a model: words that flags, plans and the engine share.

Apart from `plan.types`, whose many classes a command line needs nothing of.
"""

from typing import Final, Literal

KvType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
SplitMode = Literal["none", "layer", "tensor"]
QUANT_BLOCK: Final = 32
"""Values that every quantised type of cache packs together; a head must hold whole blocks."""


def is_quantised(kv_type: KvType) -> bool:
    """Whether the type needs flash attention, and heads of whole blocks."""
    return kv_type not in ("f32", "f16", "bf16")
