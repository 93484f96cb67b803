"""A text that grows: what is complete keeps its lines, only its end is read again.

Owns where the end begins: the last block of the markdown, or the open code fence, whose new lines
are appended without reading it again. Knows nothing of widgets.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from edgespec.text.clean import CleanStream, clean

from .blocks import Block, Code
from .glyphs import Glyphs

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_LIST_ITEMS = 40
"""Of a longer list only the last items are read again."""
KEPT_LIST_ITEMS = 20


class Document:
    """Markdown, fed in pieces."""

    def __init__(self, glyphs: Glyphs) -> None:
        self._glyphs = glyphs
        self._cleaner = CleanStream()
        self.source = ""
        """What was fed, cleaned."""
        self._done: list[Block] = []
        self._tail: list[Block] = []
        self._tail_at = 0
        """Where in `source` the tail begins."""
        self._is_in_list = False
        self._fence: tuple[str, Code, int] | None = None
        """Of the open one: its sign, its code, and where in `source` it is read up to."""
        self._made: tuple[int, int, list[Content]] = (0, 0, [])
        """A width, how many of `_done`, and their lines."""

    def feed(self, raw: str) -> None:
        """Append a piece."""
        if text := self._cleaner.feed(raw):
            self.source += text
            if self._fence is not None:
                self._extend_fence()
            if self._fence is None:
                self._read_tail()

    def finish(self, raw: str) -> None:
        """The whole text, read at once: a tail read alone can look otherwise."""
        before = [*self._done, *self._tail]
        self.source, self._tail, self._fence, self._is_in_list = clean(raw), [], None, False
        self._done = []
        self._done = self._blocks(_parsed(self.source), self.source)
        _take_over(self._done, before)
        self._made = (0, 0, [])

    def colourless(self, theme: str) -> list[Code]:
        """The code that grows no more and lacks this theme's colours."""
        return [b for b in self._done if isinstance(b, Code) and b.lacks_colours(theme)]

    def make_lines_again(self) -> None:
        """Some block has other lines now."""
        self._made = (0, 0, [])

    @property
    def codes(self) -> list[str]:
        """The code blocks, without their fences."""
        return [block.text for block in (*self._done, *self._tail) if isinstance(block, Code)]

    def lines(self, width: int) -> Sequence[Content]:
        """Every line at a width."""
        made_width, n_blocks, lines = self._made
        if made_width != width or n_blocks > len(self._done):
            n_blocks, lines = 0, []
        for block in self._done[n_blocks:]:
            lines.extend(block.lines(width))
        self._made = (width, len(self._done), lines)
        tail = [line for block in self._tail for line in block.lines(width)]
        return lines + tail if tail else lines

    def _read_tail(self) -> None:
        text = self.source[self._tail_at :]
        tokens, before, n_done = _parsed(text), self._tail, len(self._done)
        at, n_before, starts_in_list = _last_start(tokens)
        if n_before:
            self._done += self._blocks(tokens[:n_before], text)
            self._tail_at += _offset(text, at)
            self._is_in_list = starts_in_list
            text = self.source[self._tail_at :]
            tokens = _parsed(text)
        self._tail = self._blocks(tokens, text)
        _take_over([*self._done[n_done:], *self._tail], before)
        last = tokens[-1] if tokens else None
        if last is not None and last.type == "fence" and last.level == 0:
            self._open_fence(text, last)

    def _blocks(self, tokens: "list[Token]", source: str) -> list[Block]:
        from .markdown import blocks_of

        return blocks_of(
            tokens,
            source,
            self._glyphs,
            has_before=bool(self._done),
            continues_list=self._is_in_list,
        )

    def _open_fence(self, text: str, token: "Token") -> None:
        """From now on lines are appended to the code, while its fence is open."""
        code = self._tail[-1]
        assert isinstance(code, Code)
        _, _, body = text.partition("\n")
        if not body or any(_closes(line, token.markup) for line in body.split("\n")):
            return
        if code.text != body.removesuffix("\n"):
            return  # indented: the code is not the text's own lines
        if body.endswith("\n"):
            code.extend("\n")
        self._fence = (token.markup, code, len(self.source))

    def _extend_fence(self) -> None:
        assert self._fence is not None
        sign, code, at = self._fence
        line_at = self.source.rfind("\n", 0, at) + 1
        if any(_closes(line, sign) for line in self.source[line_at:].split("\n")):
            self._fence = None
            return
        code.extend(self.source[at:])
        self._fence = (sign, code, len(self.source))


def _take_over(blocks: Sequence[Block], before: Sequence[Block]) -> None:
    """Keep what the same code, read before, has made: it is long, and the rest is short."""
    codes = (block for block in blocks if isinstance(block, Code))
    known = (block for block in before if isinstance(block, Code))
    for code, other in zip(codes, known, strict=False):
        code.take_over(other)


def _parsed(text: str) -> "list[Token]":
    # 25 ms of CPU to import; the first paint needs none of it.
    from .markdown import parser

    return parser().parse(text)


def _closes(line: str, sign: str) -> bool:
    stripped = line.strip(" ")
    return (
        len(line) - len(line.lstrip(" ")) < 4
        and len(stripped) >= len(sign)
        and not stripped.strip(sign[0])
    )


def _last_start(tokens: "list[Token]") -> tuple[int, int, bool]:
    """Line and index of the last top-level block, or of a late item of a long list."""
    starts = [
        (token.map[0], i)
        for i, token in enumerate(tokens)
        if token.level == 0 and token.map is not None and token.nesting >= 0
    ]
    if not starts:
        return 0, 0, False
    line, index = starts[-1]
    if tokens[index].type in ("bullet_list_open", "ordered_list_open"):
        items = [
            (token.map[0], i)
            for i, token in enumerate(tokens[index:], index)
            if token.type == "list_item_open" and token.level == 1 and token.map is not None
        ]
        if len(items) > MAX_LIST_ITEMS:
            return (*items[-KEPT_LIST_ITEMS], True)
    return line, index, False


def _offset(text: str, line: int) -> int:
    """Where a line begins."""
    at = 0
    for _ in range(line):
        at = text.index("\n", at) + 1
    return at
