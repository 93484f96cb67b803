"""Colours for code, by names that a theme resolves; only the ANSI themes have others."""

from textual.content import Content
from textual.highlight import (
    ANSIDarkHighlightTheme,
    ANSILightHighlightTheme,
    HighlightTheme,
    highlight,
)

_STYLES = {kind: style.replace(" underline", "") for kind, style in HighlightTheme.STYLES.items()}


class CodeTheme(HighlightTheme):
    """Textual's, without its underlines: underlined is what a draft got right."""

    STYLES = _STYLES


_THEMES: dict[str, type[HighlightTheme]] = {
    "": CodeTheme,
    "ansi-dark": ANSIDarkHighlightTheme,
    "ansi-light": ANSILightHighlightTheme,
}


def coloured_code(text: str, language: str, theme: str) -> Content:
    """Highlighted; `theme` is "", "ansi-dark" or "ansi-light"."""
    return highlight(text, language=language, theme=_THEMES[theme])
