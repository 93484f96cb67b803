"""What a vocabulary's coverage is measured on: the benchmark's short prompts, ten kinds of work.

Reads the files beside the benchmark; knows nothing of it.
"""

import tomllib
from importlib.resources import files

_SPECIAL = ("index-edit.toml", "records.toml")
"""More of the same kinds, for drafts of other sources."""


def texts() -> dict[str, str]:
    """English, by kind."""
    found = {}
    for file in sorted((files("edgespec") / "bench" / "prompts").iterdir(), key=lambda f: f.name):
        if not file.name.endswith(".toml") or file.name in _SPECIAL:
            continue
        for entry in tomllib.loads(file.read_text(encoding="utf-8"))["prompt"]:
            if entry.get("lang", "en") == "en" and entry.get("length", "short") == "short":
                said = (entry.get("system", ""), *entry.get("turns", ()), entry.get("text", ""))
                found[file.name.removesuffix(".toml")] = "\n".join(filter(None, said))
    return found
