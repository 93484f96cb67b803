"""Where each token of an answer came from: the token view's words, underlined or bold.

Underlined: drafted and accepted. Bold: the target's own. Rejected tokens never were in the text.
Knows nothing of widgets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content, Span
from textual.style import Style

from edgespec.events import Source, TokenText
from edgespec.text.clean import clean

from .blocks import Text
from .glyphs import Glyphs

_ACCEPTED = Style(underline=True)
_OWN = Style(bold=True)
_POINTED = Style(reverse=True)
_STYLES = {"accepted": _ACCEPTED, "recovered": _OWN, "bonus": _OWN, "plain": Style()}
MAX_TOKENS_PER_LINE = 400
"""A line of more tokens is broken: laying it out again for each of them would be quadratic."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A token, or the part of it on one line."""

    index: int
    source: Source
    text: str


class TokenLines:
    """Grows by tokens; only its last line is laid out again."""

    def __init__(self) -> None:
        self._done: list[Text] = []
        self._line: list[Piece] = []
        self._n_tokens = 0

    @property
    def n_tokens(self) -> int:
        """Tokens fed so far."""
        return self._n_tokens

    def feed(self, tokens: Sequence[TokenText]) -> None:
        """Append."""
        for token in tokens:
            first, *rest = clean(token.text).split("\n")
            self._line.append(Piece(self._n_tokens, token.source, first))
            for part in rest:
                self._end_line()
                self._line.append(Piece(self._n_tokens, token.source, part))
            self._n_tokens += 1
            if len(self._line) > MAX_TOKENS_PER_LINE:
                self._end_line()

    def _end_line(self) -> None:
        self._done.append(Text(_line_content(self._line)))
        self._line = []

    def lines(self, width: int) -> list[Content]:
        """Every line at a width."""
        lines = [line for block in self._done for line in block.lines(width)]
        if self._line:
            lines += Text(_line_content(self._line)).lines(width)
        return lines


def legend(glyphs: Glyphs) -> Content:
    """What the signs of the token view mean."""
    return Content.assemble(
        ("accepted draft", "underline"),
        f"  {glyphs.dot}  ",
        ("the target's own", "bold"),
        f"  {glyphs.dot}  without a draft",
    )


def _line_content(line: Sequence[Piece]) -> Content:
    text, spans = "", list[Span]()
    for piece in line:
        style = _STYLES[piece.source] + Style.from_meta({"token": piece.index})
        spans.append(Span(len(text), len(text) + len(piece.text), style))
        text += piece.text
    return Content(text, spans)


def pointed(line: Content, index: int) -> Content:
    """A line on which one token stands out, if it is there."""
    for start, end, style in line.spans:
        if isinstance(style, Style) and style.meta.get("token") == index:
            line = line.stylize(_POINTED, start, end)
    return line


def line_of_token(lines: Sequence[Content], index: int) -> int | None:
    """The first line on which a token stands."""
    for y, line in enumerate(lines):
        if any(isinstance(s, Style) and s.meta.get("token") == index for *_, s in line.spans):
            return y
    return None


def token_at(line: Content, x: int) -> int | None:
    """Which token a character of a line belongs to."""
    for start, end, style in line.spans:
        if start <= x < end and isinstance(style, Style):
            return style.meta.get("token")
    return None


def about(tokens: Sequence[TokenText], index: int) -> str:
    """One token in words: its round, its place in the draft, what became of it."""
    token = tokens[index]
    n_round = 1 + sum(before.source != "accepted" for before in tokens[:index])
    place = 1
    while place <= index and tokens[index - place].source == "accepted":
        place += 1
    words = {
        "accepted": f"draft token {place}, accepted",
        "recovered": f"the target's own, after {place - 1} accepted; the next was refused",
        "bonus": f"the target's own, after all {place - 1} were accepted",
        "plain": "the target's own; nothing was drafted",
    }[token.source]
    odds = f"; the draft gave it {token.p_draft:.0%}" if token.p_draft is not None else ""
    return f"step {n_round}: {words}{odds} (id {token.id})"
