"""How the weights of a served model are stored: a ratio between other files compares them too."""

import json
from pathlib import Path
from typing import Any

from edgespec.bench.engine import EngineFailed
from edgespec.bench.peers.http import Server


def of_mlx(server: Server, model: str) -> str:
    """Of a model in MLX's format, from its own folder or the hub's cache: the server does not tell.
    Empty where neither has it."""
    # Here, since it takes 0.3 s: only for this peer.
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        file = Path(model, "config.json")
        found = file if file.is_file() else try_to_load_from_cache(model, "config.json")
        config: dict[str, Any] = json.loads(Path(str(found)).read_text(encoding="utf-8"))
    except (HFValidationError, OSError, ValueError):
        return ""
    if bits := (config.get("quantization") or {}).get("bits"):
        return f"{bits} bits"
    return str(config.get("dtype") or config.get("torch_dtype") or "")


def of_lm_studio(server: Server, model: str) -> str:
    """Of a model of LM Studio's, as its own API tells since 0.3.6; else empty.

    Source: LM Studio's docs, developer/rest/endpoints.
    """
    try:
        models = server.get("/api/v0/models").get("data") or []
    except EngineFailed:
        return ""
    found: dict[str, Any] = next((entry for entry in models if entry.get("id") == model), {})
    told = (found.get("quantization"), found.get("compatibility_type"))
    # A GGUF file's quantisation is named as edgespec's is.
    return " ".join(str(part) for part in told if part and part != "gguf")
