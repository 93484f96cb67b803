"""Pieces of a text that know their lines at a width: paragraphs, code, tables, rules.

Lines are made once for a width and kept. Colours are names (`$text-accent`), resolved where a
line is drawn, so that another theme needs no new lines. Knows nothing of markdown or widgets.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from rich._wrap import divide_line
from textual.content import Content, Span

MAX_HIGHLIGHTED_LINES = 2000
TAB_SIZE = 4
MIN_WIDTH = 8
PAD = "  "
"""Before a line of code: where there are no colours, nothing else sets it apart."""
CODE = "on $surface"
MUTED = "$foreground 65%"
"""`$text-muted` is made for stylesheets: in a text it loses its percentage and turns white."""
INLINE_CODE = "bold $text-secondary"


class Block(Protocol):
    """A piece of a text."""

    def lines(self, width: int) -> Sequence[Content]:
        """Its lines, none wider than `width` cells."""
        ...


class Margin:
    """What stands left of a block: a list's sign before its first line, a quote's bar."""

    __slots__ = ("first", "rest", "style")

    def __init__(self, first: str = "", rest: str = "", style: str = MUTED) -> None:
        self.first, self.rest, self.style = first, rest, style

    def applied(self, lines: Iterable[Content]) -> list[Content]:
        """The lines with the margin before them."""
        if not self.rest and not self.first:
            return list(lines)
        return [
            Content.assemble((self.rest if i else self.first, self.style), line)
            for i, line in enumerate(lines)
        ]


class Text:
    """Words that wrap."""

    __slots__ = ("_content", "_made", "_margin")

    def __init__(self, content: Content | str, margin: Margin | None = None) -> None:
        self._content = Content(content) if isinstance(content, str) else content
        self._margin = margin or Margin()
        self._made: tuple[int, list[Content]] = (0, [])

    def lines(self, width: int) -> Sequence[Content]:
        """The wrapped lines."""
        if self._made[0] != width:
            room = max(MIN_WIDTH, width - len(self._margin.rest))
            parts = self._content.expand_tabs(TAB_SIZE).split(allow_blank=True)
            wrapped = (line for part in parts for line in wrap(part, room))
            self._made = (width, self._margin.applied(wrapped))
        return self._made[1]


def wrap(line: Content, width: int) -> list[Content]:
    """One line without breaks, cut between words where it can be."""
    if len(line.plain) <= width // 2 or line.cell_length <= width:
        return [line]
    offsets = divide_line(line.plain, width, fold=True)
    parts = line.divide(offsets)
    return [part.rstrip() if part.cell_length > width else part for part in parts]


class Blank:
    """An empty line."""

    __slots__ = ("_line",)

    def __init__(self, margin: Margin | None = None) -> None:
        rest = margin.rest.rstrip() if margin else ""
        self._line = [Content.styled(rest, MUTED) if rest else Content("")]

    def lines(self, width: int) -> Sequence[Content]:
        """One."""
        return self._line


class Rule:
    """A line across."""

    __slots__ = ("_sign",)

    def __init__(self, sign: str) -> None:
        self._sign = sign

    def lines(self, width: int) -> Sequence[Content]:
        """One."""
        return [Content.styled(self._sign * width, MUTED)]


class Code:
    """Lines of code: plain while they grow, highlighted once by `colour`.

    Pygments reads the whole text every time, so highlighting each piece would be quadratic.
    """

    def __init__(self, language: str, text: str, margin: Margin | None = None) -> None:
        self.language = language.split(" ")[0]
        self._margin = margin or Margin()
        self._rows = text.split("\n")
        self._styled: list[Content] | None = None
        self._theme: str | None = None
        """Of the colours; None: none yet."""
        self._made: tuple[int, list[Content]] = (0, [])
        self._n_fixed = (0, 0)
        """How many rows grow no more, and the lines they have in `_made`."""

    @property
    def text(self) -> str:
        """The source, without the fence."""
        return "\n".join(self._rows)

    def extend(self, text: str) -> None:
        """Append; the last line may still grow."""
        if self._n_fixed[0] == len(self._rows):  # taken over whole, and grows nevertheless
            self._made = (0, [])
        first, *rest = text.split("\n")
        self._rows[-1] += first
        self._rows += rest

    def take_over(self, other: "Code") -> None:
        """The lines and colours that the same code, read before, has made as far as it goes."""
        sides = (other._margin.first, other._margin.rest)
        if self.language != other.language or sides != (self._margin.first, self._margin.rest):
            return
        n_rows, n_lines = other._n_fixed
        width, made = other._made
        if self._rows == other._rows:
            self._styled, self._theme = other._styled, other._theme
        elif other._styled is not None:
            return
        has_all = n_rows < len(self._rows) or (n_rows == len(self._rows) and self._rows[-1])
        if has_all and self._rows[:n_rows] == other._rows[:n_rows]:  # an empty end has no line
            self._made, self._n_fixed = (width, made[:n_lines]), (n_rows, n_lines)

    def lacks_colours(self, theme: str) -> bool:
        """Whether there is a language and no colours of this theme yet."""
        is_short = len(self._rows) <= MAX_HIGHLIGHTED_LINES
        return bool(self.language) and is_short and self._theme != theme

    def colour(self, theme: str) -> None:
        """Highlight it and make its lines: it grows no more. May run in any thread.

        A third of a millisecond for each line.
        """
        # Pygments takes 20 ms of CPU to import; the first paint needs none of it.
        from .colours import coloured_code

        coloured = coloured_code(self.text.expandtabs(TAB_SIZE), self.language, theme)
        rows = coloured.split("\n", allow_blank=True)
        self._theme = theme
        if len(rows) == len(self._rows):  # else a lexer took lines away: plain is right
            self._styled = rows
        again = Code(self.language, self.text, self._margin)
        again._styled = self._styled
        if width := self._made[0]:
            again.lines(width)
        self._made, self._n_fixed = again._made, again._n_fixed

    def lines(self, width: int) -> Sequence[Content]:
        """The lines, folded at the width, on a ground of their own."""
        if self._made[0] != width:
            self._made, self._n_fixed = (width, []), (0, 0)
        made = self._made[1]
        n_rows, n_lines = self._n_fixed
        del made[n_lines:]
        room = max(MIN_WIDTH, width - len(self._margin.rest) - len(PAD) - 1)
        for i in range(n_rows, len(self._rows)):
            self._n_fixed = (i, len(made))
            if self._rows[i] or i + 1 < len(self._rows) or not i:
                made += self._row_lines(i, room, is_first=not made)
        return made

    def _row_lines(self, i: int, room: int, *, is_first: bool) -> list[Content]:
        row = self._styled[i] if self._styled else Content(self._rows[i].expandtabs(TAB_SIZE))
        folded = row.fold(room) if row.cell_length > room else [row]
        margin = Margin(self._margin.first if is_first else self._margin.rest, self._margin.rest)
        grounded = [_on_ground(line, room + len(PAD) + 1) for line in folded]
        return margin.applied(grounded)


def _on_ground(line: Content, width: int) -> Content:
    n = len(PAD)
    padded = PAD + line.plain + " " * (width - n - line.cell_length)
    spans = [Span(start + n, end + n, style) for start, end, style in line.spans]
    return Content(padded, [Span(0, len(padded), CODE), *spans])


class Table:
    """Rows of cells; columns shrink where the width is short."""

    def __init__(self, rows: list[list[Content]], rule: str, margin: Margin | None = None) -> None:
        self._rows, self._rule, self._margin = rows, rule, margin or Margin()
        self._made: tuple[int, list[Content]] = (0, [])

    def lines(self, width: int) -> Sequence[Content]:
        """A header, a rule, the rows."""
        if self._made[0] != width:
            self._made = (width, self._margin.applied(self._drawn(width - len(self._margin.rest))))
        return self._made[1]

    def _drawn(self, width: int) -> list[Content]:
        n_columns = max(map(len, self._rows), default=0)
        wanted = [
            max((row[c].cell_length for row in self._rows if c < len(row)), default=1)
            for c in range(n_columns)
        ]
        widths = _shrunk(wanted, width - 2 * (n_columns - 1))
        drawn: list[Content] = []
        for i, row in enumerate(self._rows):
            drawn += _table_row(row, widths, is_header=i == 0)
            if i == 0:
                rules = "  ".join(self._rule * column for column in widths)
                drawn.append(Content.styled(rules, MUTED))
        return drawn


def _shrunk(wanted: list[int], room: int) -> list[int]:
    """Widths that fit: the widest columns give way first."""
    widths = [max(1, width) for width in wanted]
    while sum(widths) > room and max(widths, default=1) > 3:
        widths[widths.index(max(widths))] -= 1
    return widths


def _table_row(row: list[Content], widths: list[int], *, is_header: bool) -> list[Content]:
    cells = [
        wrap(row[c].stylize("bold") if is_header else row[c], width) if c < len(row) else []
        for c, width in enumerate(widths)
    ]
    lines = []
    for y in range(max(map(len, cells), default=0)):
        parts: list[Content | str] = []
        for cell, width in zip(cells, widths, strict=True):
            part = cell[y] if y < len(cell) else Content("")
            parts += [part, " " * (width - part.cell_length + 2)]
        lines.append(Content.assemble(*parts[:-1]))
    return lines
