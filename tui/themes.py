"""Themes: Textual's, one for colour-blind eyes, and one of the terminal's own sixteen colours.

Owns which one was chosen last, in a file of the state folder.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from textual.app import App
from textual.theme import Theme

from edgespec import paths

DEFAULT, SIXTEEN = "textual-dark", "ansi-dark"
SAFE = Theme(
    name="edgespec-cb",
    primary="#56b4e9",
    secondary="#e69f00",
    accent="#f0e442",
    success="#56b4e9",
    warning="#e69f00",
    error="#d55e00",
    dark=True,
)
"""Blue and orange, which all eyes tell apart (Okabe and Ito's palette)."""
_FILE = "tui.json"


def first_theme(environ: Mapping[str, str], known: Mapping[str, Theme]) -> str:
    """What to start with: the environment's, the remembered, else what the terminal can show."""
    for name in (environ.get("TEXTUAL_THEME", ""), remembered()):
        if name in known:
            return name
    return SIXTEEN if has_few_colours(environ) and SIXTEEN in known else DEFAULT


def has_few_colours(environ: Mapping[str, str]) -> bool:
    """Whether no more than sixteen colours will be drawn, by what the terminal says of itself.

    As Rich judges (rich/console.py): a theme's own colours would be mapped to some of the sixteen.
    """
    term = environ.get("TERM", "")
    has_many = environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    return bool(term) and not has_many and not term.endswith(("-256color", "-kitty"))


def remembered() -> str:
    """The theme that was chosen last; empty: none."""
    try:
        return str(json.loads(_path().read_text(encoding="utf-8")).get("theme", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def remember(theme: str) -> None:
    """Keep the choice for the next start."""
    path = _path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.with_suffix(".new")
        before.write_text(json.dumps({"theme": theme}) + "\n", encoding="utf-8")
        os.replace(before, path)
    except OSError:
        return  # a home that cannot be written to: the next start chooses again


def add_themes(app: "App[int]") -> None:
    """Make ours known."""
    app.register_theme(SAFE)


def _path() -> Path:
    return paths.state_dir() / _FILE
