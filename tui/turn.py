"""One turn on screen: the message, the folded reasoning, the answer, a line of figures.

One widget with lines, not a tree: a widget for each paragraph costs a millisecond or more to make
and to lay out, which is what a whole step of a small model takes.
"""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.content import Content
from textual.events import Click, MouseMove
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from edgespec.chat.controller import Turn
from edgespec.events import TokenText
from edgespec.text.clean import clean

from . import lines
from .blocks import MUTED, Text
from .document import Document
from .folded import folded
from .glyphs import Glyphs
from .kept import Kept, are_same, drawn
from .keys import bindings
from .provenance import TokenLines, about, line_of_token, pointed, token_at

TAIL_CHARS = 1200
"""Of growing reasoning only so much is shown at each update."""
MAX_SAID = 8
_BLANK = Content("")


class TurnView(Kept, Widget, can_focus=True):
    """Draws a `Turn`; `sync` brings it up to date, `finish` draws it for good."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("turn")
    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)
    """Follows from a layout; Textual's own asks for a second one, and a second paint."""

    def __init__(self, turn: Turn, glyphs: Glyphs) -> None:
        super().__init__(classes="turn")
        self.turn, self._glyphs = turn, glyphs
        self.is_folded = bool(turn.text)
        self.shows_tokens = False
        self.branch = (1, 1)
        """Which of how many branches this turn is."""
        self.is_left_out = False
        """The model does not see it any more."""
        self.tokens: list[TokenText] = []
        """Of the answer, without the reasoning."""
        label = f"you {glyphs.prompt} "
        said = folded(clean(turn.prompt), glyphs)
        self._user = Text(Content.assemble((label, "bold $text-accent"), said))
        self._reasoning = (-1, Text(""))
        self.document = Document(glyphs)
        self._token_lines = TokenLines()
        self._n_fed = 0
        self._is_colouring = False
        self._said: dict[str, Text] = {}
        self._lines: list[Content] = []
        self._fold_at = -1
        self.token: int | None = None
        """In the token view: the token that the keys point at."""

    # What is shown

    def sync(self) -> None:
        """Draw what came since the last call."""
        turn = self.turn
        if len(turn.text) > self._n_fed:
            if not self._n_fed:
                self.is_folded = True
            self.document.feed(turn.text[self._n_fed :])
            self._n_fed = len(turn.text)
            self._colour()
        self._redraw()

    def finish(self) -> None:
        """Draw the whole turn, its figures and its error."""
        self.sync()
        self._n_fed = len(self.turn.text)
        self.document.finish(self.turn.text)
        if self.turn.reasoning and not self.turn.text:
            self.is_folded = False
        self._redraw()
        self._colour()

    def on_mount(self) -> None:
        """What was finished before has no colours yet."""
        self._colour()

    def refresh_end(self) -> None:
        """Draw it again: something about the turn changed."""
        self._redraw()

    def fold(self, is_folded: bool) -> None:
        """Fold or unfold the reasoning."""
        self.is_folded = is_folded
        self._redraw()

    def show_tokens(self, is_on: bool) -> None:
        """Where each token came from, in place of the markdown."""
        self.shows_tokens = is_on
        self._redraw()

    @property
    def has_tokens(self) -> bool:
        """Whether it is known where the tokens came from; not so for a turn of an earlier day."""
        return bool(self.tokens)

    def _made_lines(self, width: int) -> list[Content]:
        turn = self.turn
        made = [*self._user.lines(width)]
        self._fold_at = -1
        if turn.reasoning:
            made.append(_BLANK)
            self._fold_at = len(made)
            made += [line for text in self._think() for line in text.lines(width)]
        if turn.text:
            made.append(_BLANK)
            if self.shows_tokens and self.has_tokens:
                self._token_lines.feed(self.tokens[self._token_lines.n_tokens :])
                made += self._token_lines.lines(width)
            else:
                made += self.document.lines(width)
        if turn.error is not None:
            made += [_BLANK, *self._words(lines.error_words(turn.error)).lines(width)]
        end = lines.turn_end(turn, self._glyphs, self.branch, is_left_out=self.is_left_out)
        if end.plain:
            made += [_BLANK, *self._words(end.stylize(MUTED)).lines(width)]
        return made

    def _think(self) -> list[Text]:
        turn, glyphs = self.turn, self._glyphs
        sign = glyphs.folded if self.is_folded else glyphs.unfolded
        is_growing = turn.status == "running" and not turn.text
        if is_growing:
            words = f"{sign} thinking{glyphs.ellipsis} {glyphs.dot} {turn.reasoning_tokens} tok"
        else:
            spent = f"for {turn.reasoning_s:.1f} s {glyphs.dot} {turn.reasoning_tokens} tok"
            is_known = turn.reasoning_tokens > 0  # a saved turn has the thought alone
            words = f"{sign} thought {spent if is_known else 'first'}  (Ctrl+O)"
        head = self._words(Content.styled(words, f"italic {MUTED}"))
        if self.is_folded:
            return [head]
        if self._reasoning[0] != len(turn.reasoning):
            text = clean(turn.reasoning).strip()
            shown = text[-TAIL_CHARS:] if is_growing else text
            self._reasoning = (
                len(turn.reasoning) if not is_growing else -1,
                Text(Content.styled(shown, MUTED)),
            )
        return [head, self._reasoning[1]]

    def _words(self, content: Content) -> Text:
        """A text that may be the same as before: then its lines are too."""
        if content.plain not in self._said:
            if len(self._said) > MAX_SAID:
                self._said.clear()
            self._said[content.plain] = Text(content)
        return self._said[content.plain]

    # Lines

    def _redraw(self) -> None:
        """Lay out again where the height changed, else repaint the lines that did."""
        width = self.content_size.width
        if not width:
            self._lines = []  # made when the width is known
            self.refresh(layout=True)
            return
        before, self._lines = self._lines, self._made_lines(width)
        first = _first_difference(before, self._lines)
        if len(before) != len(self._lines):
            self.lay_out(first)
        elif first < len(before):
            self.refresh(Region(0, first, self.size.width, len(before) - first))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as there are at this width."""
        if width != self.content_size.width or not self._lines:
            self._lines = self._made_lines(width)
            self._kept.clear()
        return len(self._lines)

    def look(self) -> object:
        """What all lines depend on; its height is not among it."""
        return (
            self.visual_style,
            self.app.theme,
            self.outer_size.width,
            self._selection,
            self.token,
        )

    def render_line(self, y: int) -> Strip:
        """One line of the content."""
        if y < len(self._lines):
            return self._strip(y)
        return Strip.blank(self.content_size.width, self.visual_style.rich_style)

    def _strip(self, y: int) -> Strip:
        line = self._lines[y]
        if self.shows_tokens and self.token is not None:
            line = pointed(line, self.token)
        return drawn(self, line, y, self._selection)

    @property
    def _selection(self) -> Selection | None:
        # Removed meanwhile, it is drawn for the last time without a screen.
        return self.text_selection if self.is_attached else None

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it is shown."""
        return selection.extract("\n".join(line.plain.rstrip() for line in self._lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()

    def notify_style_update(self) -> None:
        """Another theme may need other colours for code."""
        super().notify_style_update()
        self._colour()

    def _colour(self) -> None:
        """Let a thread highlight the code that is complete."""
        if self.is_attached and not self._is_colouring:
            if not self.document.colourless(self._code_theme()):
                return
            self._is_colouring = True
            self._colour_soon()

    @work(group="colour")
    async def _colour_soon(self) -> None:
        try:
            while codes := self.document.colourless(self._code_theme()):
                await asyncio.to_thread(codes[0].colour, self._code_theme())
        finally:
            self._is_colouring = False
        self.document.make_lines_again()
        self._redraw()

    def _code_theme(self) -> str:
        if not self.app.native_ansi_color:
            return ""
        return "ansi-dark" if self.app.current_theme.dark else "ansi-light"

    # Tokens

    def step_token(self, by: int) -> str:
        """Point at the next token or the one before. Returns: where it came from, in words."""
        if not (self.shows_tokens and self.tokens):
            return ""
        at = -1 if self.token is None else self.token
        self.token = min(max(0, at + by), len(self.tokens) - 1)
        self.refresh()
        if (y := line_of_token(self._lines, self.token)) is not None:
            below = self.virtual_region.y + self.styles.gutter.top + y
            assert isinstance(self.parent, Widget), self.parent
            self.parent.scroll_to_region(Region(0, below, 1, 1), animate=False)
        return about(self.tokens, self.token)

    # Mouse

    def on_click(self, event: Click) -> None:
        """A click on the reasoning's head folds or unfolds it."""
        if self._fold_at >= 0 and event.y == self._fold_at + self.styles.gutter.top:
            self.fold(not self.is_folded)

    def on_mouse_move(self, event: MouseMove) -> None:
        """In the token view: say where the token below the mouse came from."""
        index = None
        if self.shows_tokens and (offset := event.style.meta.get("offset")) is not None:
            x, y = offset
            index = token_at(self._lines[y], x) if y < len(self._lines) else None
        self.tooltip = about(self.tokens, index) if index is not None else None


def _first_difference(before: Sequence[Content], after: Sequence[Content]) -> int:
    """The first line that says something else; those that stay are the same objects, mostly."""
    n = min(len(before), len(after))
    return next((i for i in range(n) if not are_same(before[i], after[i])), n)
