"""Models that Ollama keeps on this machine, read in place through its manifests.

Source: Ollama's types/model/name.go and server/manifest.go (names, folders, media types).
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from edgespec.models.folders import SAFE, Found, files_below, read_json
from edgespec.paths import expanded, user_home

_HOST: Final = "registry.ollama.ai"
_NAMESPACE: Final = "library"
_MODEL_LAYER: Final = "application/vnd.ollama.image.model"
_DIGEST: Final = re.compile(r"sha256[:-]([0-9a-f]{64})")


def ollama_folders() -> tuple[Path, ...]:
    """Where Ollama keeps models: as it was told, a person's own, the system service's."""
    if told := os.environ.get("OLLAMA_MODELS", "").strip():
        return (expanded(told),)
    folders = [user_home() / ".ollama" / "models"]
    if sys.platform.startswith("linux"):
        folders.append(Path("/usr/share/ollama/.ollama/models"))
    return tuple(folders)


def find_ollama(name: str) -> Found | None:
    """The model that Ollama calls `name` ("llama3.2:1b", "user/model", "host/user/model:tag")."""
    base, _, tag = name.partition(":")
    parts = base.split("/")
    if not 1 <= len(parts) <= 3 or not all(map(SAFE.fullmatch, [*parts, tag or "latest"])):
        return None
    owner = [_HOST, _NAMESPACE][: 3 - len(parts)]
    for folder in ollama_folders():
        manifest = folder.joinpath("manifests", *owner, *parts, tag or "latest")
        if path := _blob(folder, manifest):
            return Found(name, "Ollama", path)
    return None


def all_ollama() -> Iterator[Found]:
    """Every model of every manifest."""
    for folder in ollama_folders():
        manifests = folder / "manifests"
        for manifest in sorted(files_below(manifests)):
            parts = manifest.relative_to(manifests).parts
            if len(parts) == 4 and (path := _blob(folder, manifest)):
                host, owner, model, tag = parts
                prefix = () if (host, owner) == (_HOST, _NAMESPACE) else (owner,)
                shown = (*(() if host == _HOST else (host,)), *prefix, model)
                yield Found(f"{'/'.join(shown)}:{tag}", "Ollama", path)


def _blob(folder: Path, manifest: Path) -> Path | None:
    """The model file of a manifest, where it is complete."""
    layers = read_json(manifest).get("layers")
    for layer in layers if isinstance(layers, list) else []:
        if isinstance(layer, dict) and layer.get("mediaType") == _MODEL_LAYER:
            digest = _DIGEST.fullmatch(str(layer.get("digest")))
            path = folder / "blobs" / f"sha256-{digest[1]}" if digest else folder
            return path if os.path.isfile(path) else None
    return None
