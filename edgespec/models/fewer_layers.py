"""A model with layers left out, as a file of its own: the drafter that needs no second model.

llama.cpp has no way to skip layers in one call, so a model that drafts for itself by fewer layers
takes a second file and a second cache. `edgespec/drafters/README.md` tells what that brings.
"""

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import gguf

from edgespec.errors import UsageError
from edgespec.files import PARTIAL

_BLOCK = re.compile(r"blk\.(\d+)\.(.*)", re.DOTALL)
_SPAN = re.compile(r"(\d+)(?:-(\d+))?")


def layers_of(said: str, n_layer: int) -> tuple[int, ...]:
    """The layers that "0-13,24-27" means, ascending. Raises: `UsageError`."""
    kept: set[int] = set()
    for part in said.split(","):
        span = _SPAN.fullmatch(part.strip())
        if span is None:
            raise UsageError(f"{said!r} are no layers", hint="for example 0-13,24-27")
        first, last = int(span[1]), int(span[2] or span[1])
        if not first <= last < n_layer:
            raise UsageError(
                f"layers {part.strip()} are not among the model's, which are 0-{n_layer - 1}"
            )
        kept.update(range(first, last + 1))
    return tuple(sorted(kept))


def write_with_layers(source: Path, kept: Sequence[int], path: Path) -> None:
    """Copy the GGUF `source` to `path` with these of its layers, renumbered, and nothing else.

    The bytes of every kept tensor are the source's. Raises: `UsageError` for a split file;
    `OSError`, then nothing is left at `path`.
    """
    reader = gguf.GGUFReader(source)
    if "split.count" in reader.fields and reader.fields["split.count"].contents() > 1:
        raise UsageError(f"{source.name} is one file of several", hint="join them first")
    number = {layer: i for i, layer in enumerate(kept)}
    partial = path.with_name(path.name + PARTIAL)
    architecture = str(reader.fields["general.architecture"].contents())
    try:
        with closing(gguf.GGUFWriter(partial, architecture)) as writer:
            _copy_metadata(reader, writer, kept)
            for tensor in reader.tensors:
                if (name := _renumbered(tensor.name, number)) is not None:
                    writer.add_tensor(name, tensor.data, raw_dtype=tensor.tensor_type)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _renumbered(name: str, number: dict[int, int]) -> str | None:
    """The tensor's new name; None: its layer is left out."""
    block = _BLOCK.fullmatch(name)
    if block is None:
        return name
    layer = number.get(int(block[1]))
    return None if layer is None else f"blk.{layer}.{block[2]}"


def _copy_metadata(reader: gguf.GGUFReader, writer: gguf.GGUFWriter, kept: Sequence[int]) -> None:
    architecture = writer.arch
    n_layer = int(reader.fields[f"{architecture}.block_count"].contents())
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue  # the writer's own
        value: Any = field.contents()
        if key == f"{architecture}.block_count":
            value = len(kept)
        elif key.startswith(f"{architecture}.") and isinstance(value, list):
            value = [value[i] for i in kept] if len(value) == n_layer else value  # one per layer
        elif key == "general.name":
            value = f"{value}, {len(kept)} of {n_layer} layers"
        is_list = isinstance(value, list)
        writer.add_key_value(key, value, field.types[0], field.types[-1] if is_list else None)
