r"""Markdown as blocks: every character of the source that says something stays visible.

HTML, links, images and entities are shown as they were written: a model's HTML-like text must not
vanish, a link must not hide its address. Line breaks are the source's own.
"""

import re
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from textual.content import Content, Span

from .blocks import INLINE_CODE, MUTED, Blank, Block, Code, Margin, Rule, Table, Text
from .glyphs import Glyphs

_VERBATIM = ["link", "image", "autolink", "entity", "reference"]
_LANGUAGE = re.compile(r"[\w+#.-]*")
_CELLS = re.compile(r"(?<!\\)\|")
_ESCAPABLE = set("*_`~#|")
_MARKS = {"em": "italic", "strong": "bold", "s": "strike"}


@cache
def parser() -> MarkdownIt:
    """GitHub's markdown without what hides text."""
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


def blocks_of(
    tokens: list[Token],
    source: str,
    glyphs: Glyphs,
    *,
    has_before: bool = False,
    continues_list: bool = False,
) -> list[Block]:
    """The blocks of parsed markdown, empty lines between them.

    `source`: what was parsed. `has_before`: something stands above. `continues_list`: it is a
    list that goes on here.
    """
    walk = _Walk(source, glyphs, has_before=has_before, is_inside=continues_list)
    for i, token in enumerate(tokens):
        walk.take(token, tokens[i - 1] if i else None, tokens[i + 1 :])
    return walk.blocks


@dataclass(slots=True)
class _List:
    """A list around what is being read."""

    count: int | None
    """The next item's number; None: no numbers."""
    is_tight: bool
    is_begun: bool


class _Walk:
    """Through the tokens, with the margins of the lists and quotes around."""

    def __init__(self, source: str, glyphs: Glyphs, *, has_before: bool, is_inside: bool) -> None:
        self.blocks: list[Block] = []
        self._rows, self._glyphs = source.split("\n"), glyphs
        self._has_before, self._is_inside = has_before, is_inside
        self._margins: list[Margin] = []
        self._margins_above: list[Margin] = []
        """Of the block before."""
        self._lists: list[_List] = []
        self._table: list[list[Content]] = []
        self._tr_line: int | None = None

    def take(self, token: Token, before: Token | None, after: list[Token]) -> None:
        """Read one token."""
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._open_list(token, after)
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                self._open_item()
            case "list_item_close":
                if self._margins[-1].first.strip():  # an item without a text
                    self._add(Text("", self._margin()))
                self._margins.pop()
            case "blockquote_open":
                self._margins.append(Margin(*[f"{self._glyphs.quote} "] * 2))
            case "blockquote_close":
                self._margins.pop()
            case _:
                self._take_leaf(token, before)

    def _take_leaf(self, token: Token, before: Token | None) -> None:
        match token.type:
            case "inline" if before is not None and before.type in ("th_open", "td_open"):
                self._table[-1].append(inline_content(token))
            case "inline":
                content = inline_content(token)
                is_heading = before is not None and before.type == "heading_open"
                heading = content.stylize("bold $text-primary") if is_heading else content
                self._add(Text(heading, self._margin()))
            case "fence" | "code_block":
                info, text = token.info.strip(), token.content.removesuffix("\n")
                if not _LANGUAGE.fullmatch(info):
                    self._add(Text(Content.styled(info, MUTED), self._margin()))
                self._add(Code(info, text, self._margin()))
            case "hr":
                self._add(Rule(self._glyphs.rule))
            case "tr_open":
                self._table.append([])
                self._tr_line = token.map[0] if token.map is not None else None
            case "tr_close":
                self._add_surplus()
            case "table_close":
                self._add(Table(self._table, self._glyphs.rule, self._margin()))
                self._table = []
            case _ if token.content:
                self._add(Text(token.content, self._margin()))

    def _add_surplus(self) -> None:
        """Cells beyond the header's columns, which the parser leaves out."""
        row, n_columns = self._table[-1], len(self._table[0])
        if len(row) == n_columns and self._tr_line is not None and len(self._table) > 1:
            cells = _CELLS.split(self._rows[self._tr_line].strip().strip("|"))
            row += [Content(cell.strip()) for cell in cells[n_columns:]]

    def _open_list(self, token: Token, after: list[Token]) -> None:
        is_numbered = token.type == "ordered_list_open"
        first = next((t for t in after if t.type == "paragraph_open"), None)
        self._lists.append(
            _List(
                count=int(token.attrGet("start") or 1) if is_numbered else None,
                is_tight=first is not None and first.hidden,
                is_begun=bool(self._lists) or self._is_inside,
            )
        )

    def _open_item(self) -> None:
        around = self._lists[-1]
        if around.count is None:
            depth = sum(each.count is None for each in self._lists) - 1
            sign = self._glyphs.bullets[depth % len(self._glyphs.bullets)]
        else:
            sign, around.count = f"{around.count}. ", around.count + 1
        self._margins.append(Margin(sign, " " * len(sign)))

    def _add(self, block: Block) -> None:
        """Add a block; a list's sign stands before its first line only."""
        around = self._lists[-1] if self._lists else None
        is_close = around is not None and around.is_tight and around.is_begun
        if (self.blocks or self._has_before) and not is_close:
            common = zip(self._margins, self._margins_above, strict=False)
            rest = "".join(mine.rest for mine, other in common if mine is other)
            self.blocks.append(Blank(Margin(rest, rest)))
        self._margins_above = [*self._margins]
        self.blocks.append(block)
        if around is not None:
            around.is_begun = True
        for margin in self._margins:
            if not margin.first.startswith(self._glyphs.quote):
                margin.first = margin.rest

    def _margin(self) -> Margin:
        first = "".join(margin.first for margin in self._margins)
        return Margin(first, "".join(margin.rest for margin in self._margins))


def inline_content(token: Token) -> Content:
    """A paragraph's text with its marks as styles."""
    text, spans = "", list[Span]()
    opened: list[tuple[str, int]] = []
    for child in token.children or ():
        kind, _, side = child.type.rpartition("_")
        if side == "open" and kind in _MARKS:
            opened.append((_MARKS[kind], len(text)))
        elif side == "close" and kind in _MARKS:
            style, start = opened.pop()
            spans.append(Span(start, len(text), style))
        elif child.type == "code_inline":
            spans.append(Span(len(text), len(text) + len(child.content), INLINE_CODE))
            text += child.content
        elif child.type == "hardbreak":
            text += "\n"
        else:
            text += child.content
    return Content(text, spans)
