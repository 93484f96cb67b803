"""What is wrong with a catalogue, as far as the catalogue alone can tell: no file, no network.

The main check is arithmetic: a shape and a quantisation give a file's size to 0.3 %, so a wrong
width, layer count or size cannot stay unnoticed.
"""

import re
from collections.abc import Iterator

from edgespec.models.catalogue import Catalogue
from edgespec.models.spec import HubSource, ModelSpec, Shape
from edgespec.models.tensors import n_params
from edgespec.models.weights import estimate, knows

TOLERANCE = 0.02


def problems(catalogue: Catalogue) -> dict[str, list[str]]:
    """The complaints about each entry that has some, by id."""
    found = {spec.id: problems_of(spec, catalogue) for spec in catalogue}
    return {id: complaints for id, complaints in found.items() if complaints}


def problems_of(spec: ModelSpec, catalogue: Catalogue) -> list[str]:
    """The complaints about one entry."""
    return list(_problems(spec, catalogue))


def size_error(spec: ModelSpec) -> float | None:
    """By how much the estimate from the shape misses the size, as a share; None: not known."""
    if spec.shape is None or spec.planning_bytes is None or not knows(spec.quant):
        return None
    return estimate(spec.shape, spec.quant).size_bytes / spec.planning_bytes - 1


def _problems(spec: ModelSpec, catalogue: Catalogue) -> Iterator[str]:
    yield from _size(spec)
    if spec.kind == "head":
        if spec.method is None:
            yield "is a head, but has no method"
        if not any(spec.id in other.drafts for other in catalogue):
            yield "is a head that no model names as its draft"
    else:
        yield from _whole(spec, catalogue)
    for hub in spec.sources:
        if isinstance(hub, HubSource):
            shared = [
                other.id for other in catalogue if other.id != spec.id and hub in other.sources
            ]
            if shared:
                yield f"has the same file as {shared[0]}"


def _size(spec: ModelSpec) -> Iterator[str]:
    if spec.size_bytes and spec.about_bytes:
        yield "has both size_bytes and about_bytes"
    error = size_error(spec)
    if error is None:
        return
    if abs(error) > TOLERANCE and not spec.size_note:
        yield (
            f"has {spec.planning_bytes:,} bytes, but shape and {spec.quant} give "
            f"{error:+.1%}: correct one of them, or say why in size_note"
        )
    if abs(error) <= TOLERANCE and spec.size_note:
        yield "has a size_note, but its size is what shape and quantisation give"


def _whole(spec: ModelSpec, catalogue: Catalogue) -> Iterator[str]:
    for key in ("licence", "vocab", "shape", "planning_bytes"):
        if not getattr(spec, key):
            yield f"lacks {key}"
    if not knows(spec.quant):
        yield f"has the quantisation {spec.quant}, whose size is not known"
    if not re.search(_letters(spec.quant.removeprefix("UD-")), _letters(spec.file)):
        yield f"says {spec.quant}, but its file is called {spec.file}"
    if spec.shape:
        yield from _shape(spec.shape)
    for draft in catalogue.drafts_of(spec):
        if draft.shape and spec.shape and n_params(draft.shape) >= n_params(spec.shape):
            yield f"has the draft {draft.id}, which is not smaller"


def _shape(shape: Shape) -> Iterator[str]:
    if shape.n_head % shape.n_kv_head:
        yield f"has {shape.n_head} heads, no multiple of its {shape.n_kv_head} key-value heads"
    n_layer_kv = shape.n_layer if shape.n_layer_kv is None else shape.n_layer_kv
    if n_layer_kv + shape.n_layer_swa > shape.n_layer:
        yield f"has more layers with a cache than its {shape.n_layer}"
    if bool(shape.window) != bool(shape.n_layer_swa):
        yield "has a window without layers that slide it, or the reverse"
    if len({bool(shape.n_expert), bool(shape.n_expert_used), bool(shape.n_ff_expert)}) > 1:
        yield "lacks one of n_expert, n_expert_used and n_ff_expert"
    if not shape.n_ff and not shape.n_expert:
        yield "has neither n_ff nor experts"


def _letters(text: str) -> str:
    return text.lower().replace("-", "_")
