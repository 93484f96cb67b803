"""Quantisations in file names, and which file of several a person means.

Looks at names only.
"""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from edgespec.gguf.shards import is_later_shard

_QUANT: Final = re.compile(
    r"(?:^|[-_. /])((?:UD[-_])?(?:I?Q\d(?:_[A-Z0-9]+)*|TQ\d_\d|MXFP4(?:_MOE)?|NVFP4|BF16|F16|F32))"
    r"(?=$|[-_. /])",
    re.IGNORECASE,
)
_PREFERRED: Final = ("Q4_K_M", "UD-Q4_K_XL", "Q4_K_S", "Q4_0", "MXFP4", "Q5_K_M", "Q8_0")
"""What is taken where nobody said: as llama.cpp's -hf does, Q4_K_M first."""
_COMPANIONS: Final = re.compile(
    r"(^|[-_.])(mmproj|mtp|dflash|eagle\d?|imatrix|lora|adapter|dspark)([-_.]|$)", re.IGNORECASE
)


def quant_of(name: str) -> str:
    """The quantisation that a file's name tells, in capitals; empty when it tells none."""
    stem = re.sub(r"(-\d{5}-of-\d{5})?\.gguf$", "", name, flags=re.IGNORECASE)
    found = _QUANT.findall(stem)
    return found[-1].upper().replace("UD_", "UD-") if found else ""


def model_files(names: Sequence[str]) -> list[str]:
    """Those of the names that are models by themselves: no projectors, heads, later shards."""
    found = []
    for name in names:
        path = PurePosixPath(name)
        is_gguf = path.suffix.lower() == ".gguf" and not _COMPANIONS.search(path.stem)
        if is_gguf and not is_later_shard(path):
            found.append(name)
    return found


def same_quant(a: str, b: str) -> bool:
    """Whether two spellings mean one quantisation."""
    return _plain(a) == _plain(b)


def choose(names: Sequence[str], quant: str) -> str | None:
    """The model file that `quant` means, or the usual one where it is empty; None: there is none.

    A quantisation as the publisher spells it counts before the same without his prefix.
    """
    files = model_files(names)
    if quant:
        exact = [name for name in files if same_quant(quant_of(name), quant)]
        near = [name for name in files if _plain(quant_of(name)).endswith(_plain(quant))]
        return min(exact or near, key=len, default=None)
    for wanted in _PREFERRED:
        if found := [name for name in files if quant_of(name) == wanted]:
            return min(found, key=len)
    return min(files, default=None)


def quants_in(names: Sequence[str]) -> list[str]:
    """The quantisations there are, each once."""
    return list(dict.fromkeys(quant_of(name) or name for name in model_files(names)))


def _plain(quant: str) -> str:
    return quant.upper().replace("-", "_").replace(".", "_")
