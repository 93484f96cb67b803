"""The signs of the chrome: one cell wide each, with an ASCII set for terminals without UTF-8."""

import os
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Every sign that is not a letter."""

    prompt: str
    folded: str
    unfolded: str
    accepted: str
    rejected: str
    to: str
    """Between a refused draft token and the target's own."""
    dot: str
    times: str
    full: str
    empty: str
    newline: str
    space: str
    ellipsis: str
    down: str
    up: str
    quote: str
    rule: str
    mark: str
    """Before what is chosen, loaded or selected."""
    sparks: str
    """Bars of rising height."""
    bullets: tuple[str, ...]


UNICODE = Glyphs(
    prompt="▸",
    folded="▸",
    unfolded="▾",
    accepted="✓",
    rejected="✗",
    to="→",
    dot="·",
    times="×",
    full="▓",
    empty="░",
    newline="↵",
    space="␣",
    ellipsis="…",
    down="▼",
    up="▲",
    quote="▌",
    rule="─",
    mark="●",
    sparks="▁▂▃▄▅▆▇█",
    bullets=("• ", "▪ ", "‣ "),
)
ASCII = Glyphs(
    prompt=">",
    folded=">",
    unfolded="v",
    accepted="+",
    rejected="-",
    to=">",
    dot="|",
    times="x",
    full="#",
    empty=".",
    newline="\\n",
    space="_",
    ellipsis="...",
    down="v",
    up="^",
    quote="|",
    rule="-",
    mark="*",
    sparks="_.-=*#",
    bullets=("* ", "- ", "+ "),
)


def wants_ascii() -> bool:
    """Whether `EDGESPEC_ASCII` is set, or the terminal's encoding cannot show the signs."""
    encoding = getattr(sys.__stderr__, "encoding", None) or "ascii"
    is_utf = encoding.lower().replace("-", "").startswith("utf")
    return os.environ.get("EDGESPEC_ASCII", "") not in ("", "0") or not is_utf
