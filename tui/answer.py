"""An answer as markdown, streamed: every character of the source stays visible.

Owns the parser's rules and the code fences. HTML, links, images and entities are shown as they
were written: a model's HTML-like text must not vanish, a link must not hide its address.
"""

from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from textual.content import Content
from textual.highlight import (
    ANSIDarkHighlightTheme,
    ANSILightHighlightTheme,
    HighlightTheme,
    highlight,
)
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from edgespec.text.clean import CleanStream, clean

MAX_HIGHLIGHTED_LINES = 2000
TAB_SIZE = 4
_VERBATIM = ["link", "image", "autolink", "entity", "reference"]
_ESCAPABLE = set("*_`~#|")


def parser() -> MarkdownIt:
    """GitHub's markdown without what hides text; line breaks are the source's own."""
    built = MarkdownIt("gfm-like", {"html": False, "linkify": False}).disable(_VERBATIM)
    built.inline.ruler.at("escape", _escape)
    built.core.ruler.after("inline", "breaks", _keep_breaks)
    return built


def _escape(state: StateInline, silent: bool) -> bool:
    r"""A backslash hides only before a markdown sign; `\(x\)` and `\[x\]` are LaTeX."""
    at = state.pos
    if state.src[at : at + 1] != "\\" or state.src[at + 1 : at + 2] not in _ESCAPABLE:
        return False
    if not silent:
        state.pending += state.src[at + 1]
    state.pos += 2
    return True


def _keep_breaks(state: StateCore) -> None:
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"


class Fence(MarkdownFence):
    """Code: plain while it grows, highlighted once when it is complete.

    Pygments reads the whole fence every time, so highlighting each append is quadratic.
    """

    def __init__(self, markdown: Markdown, token: Token, code: str) -> None:
        super().__init__(markdown, token, code.expandtabs(TAB_SIZE))
        self._coloured_by: type[HighlightTheme] | None = None
        if isinstance(markdown, Answer) and not markdown.is_streaming:
            self.complete()

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:
        """The code without colours: what the base class shows while it grows."""
        return Content(code)

    def complete(self) -> None:
        """The fence is closed: highlight it, once."""
        if self._coloured_by is self._theme():
            return
        self._coloured_by = self._theme()
        language = (self.lexer or "").split(" ")[0]
        if language and self.code.count("\n") < MAX_HIGHLIGHTED_LINES:
            self._highlighted_code = highlight(
                self.code, language=language, theme=self._coloured_by
            )
            self.set_content(self._highlighted_code)

    def notify_style_update(self) -> None:
        """Colours are names that a theme resolves; only the ANSI themes have others."""
        if self._coloured_by is not None:
            self.complete()
        # not MarkdownFence's own: it would highlight at every change of any style
        super(MarkdownFence, self).notify_style_update()

    def _theme(self) -> type[HighlightTheme]:
        if not self.app.native_ansi_color:
            return CodeTheme
        return ANSIDarkHighlightTheme if self.app.current_theme.dark else ANSILightHighlightTheme


_STYLES = {kind: style.replace(" underline", "") for kind, style in HighlightTheme.STYLES.items()}


class CodeTheme(HighlightTheme):
    """Textual's, without its underlines: underlined is what a draft got right."""

    STYLES = _STYLES


_BLOCKS: dict[str, type[MarkdownBlock]] = {**Markdown.BLOCKS, "fence": Fence, "code_block": Fence}


class Answer(Markdown):
    """One answer's text."""

    BLOCKS = _BLOCKS

    def __init__(self, bullets: tuple[str, ...]) -> None:
        super().__init__(parser_factory=parser, open_links=False)
        self.BULLETS = list(bullets)
        self.is_streaming = True
        self._cleaner = CleanStream()
        self._n_complete = 0

    async def feed(self, raw: str) -> None:
        """Append a piece of the model's text."""
        if text := self._cleaner.feed(raw):
            await self.append(text)
            self._complete_fences()

    async def finish(self, raw: str) -> None:
        """Show the whole text; appending can leave another tree than parsing it at once."""
        self.is_streaming = False
        await self.update(clean(raw))

    def _complete_fences(self) -> None:
        """Highlight fences that have a block after them: they grow no more."""
        for block in self.children[self._n_complete : -1]:
            if isinstance(block, Fence):
                block.complete()
        self._n_complete = max(0, len(self.children) - 1)

    def unhandled_token(self, token: Token) -> MarkdownBlock | None:
        """Show the text of a block that has no widget, rather than nothing."""
        if not token.content:
            return None
        block = self.BLOCKS["paragraph_open"](self, token)
        block.set_content(Content(token.content))
        return block

    def on_markdown_table_of_contents_updated(self, message: Any) -> None:
        """Nobody lists the headings; spare the screen the message."""
        message.stop()
