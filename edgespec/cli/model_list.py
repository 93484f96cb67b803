"""The list of `edgespec models`: the catalogue, then what other programs have on this machine."""

import json
from typing import Any

from edgespec.api.listing import ListedModel, list_models
from edgespec.cli.render import Screen
from edgespec.sizes import gigabytes


def show_models(screen: Screen, *, only_here: bool, as_json: bool) -> None:
    """Print the list."""
    models = list_models(only_here=only_here)
    if as_json:
        screen.line(json.dumps({"models": [_as_json(model) for model in models]}, indent=1))
        return
    width = max((len(model.name) for model in models), default=0)
    quant_width = max((len(model.quant) for model in models), default=0)
    for model in models:
        screen.line(_line(model, width, quant_width))
    ours = [model for model in models if model.path and not model.program]
    total = sum(model.size_bytes or 0 for model in ours)
    screen.note(f"* on this machine: {len(ours)}, {gigabytes(total)}.  edgespec pull ID gets one.")


def _as_json(model: ListedModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "quant": model.quant,
        "size_bytes": model.size_bytes,
        "here": model.path is not None,
        "path": str(model.path) if model.path else None,
        "program": model.program or None,
        "kind": model.kind,
        "drafts": list(model.drafts),
    }


def _line(model: ListedModel, width: int, quant_width: int) -> str:
    size = gigabytes(model.size_bytes) if model.size_bytes else "?"
    if model.program:
        told = f"{model.program}'s, read in place"
    elif model.kind == "head":
        told = "a draft head"
    else:
        told = f"draft: {', '.join(model.drafts)}" if model.drafts else ""
    mark = "*" if model.path else " "
    return f"{mark} {model.name:<{width}}  {model.quant:<{quant_width}} {size:>9}  {told}".rstrip()
