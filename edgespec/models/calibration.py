"""What a vocabulary's coverage is measured on: the benchmark's short prompts, ten kinds of work.

One text does not do: of SmolLM2's tokens for Qwen2.5-Coder, 85 % of an edit of code are shared and
99 % of a summary. So each kind weighs the same, however long it is; with the long prompts too, the
mean is half a percent lower. What a kind has less, it loses in drafts, never in its text.

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
