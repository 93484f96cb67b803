"""The growing text: whatever the pieces, the end is the whole text read at once."""

import re

import pytest
from edgespec.tui.blocks import PAD, Code, Text
from edgespec.tui.document import Document
from edgespec.tui.glyphs import UNICODE
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.content import Content

EVERYTHING = """\
# Title

A *soft* **hard** `code` line, [x](y), <b>tag</b> &lt;
second line

- a
- b
  - c

1. one

2. two

   ```python
   x = 1
   ```
> quote
> - inner

| a | b |
|---|---|
| 1 | long cell text that has to wrap somewhere in the middle |

---
```python
def f(x):
\treturn x  # 日本語
```
~~~
``` not closed by this
~~~
the end
"""
SNIPPETS = st.sampled_from(
    ["```", "~~~", "\n", "\n\n", "    ", "- ", "1. ", "> ", "# ", "|a|b|", "|-|-|", "**", "`", "_",
     "word ", "漢字", "\N{WOMAN}\u200d\N{GIRL}", "\\", "[x](y)", "<div>", "&amp;", "\t", "---",
     "\r\n", "\u2028", "\x1b["]
)  # fmt: skip


def shown(document: Document, width: int = 40) -> list[str]:
    return [line.plain for line in document.lines(width)]


def whole(text: str, width: int = 40) -> list[str]:
    document = Document(UNICODE)
    document.finish(text)
    return shown(document, width)


def grown(text: str, size: int) -> Document:
    """Fed in pieces of `size`, its lines asked for after each."""
    document = Document(UNICODE)
    for at in range(0, len(text), size):
        document.feed(text[at : at + size])
        document.lines(40)
    return document


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1000])
def test_document_looks_the_same_in_pieces_and_at_once(size: int) -> None:
    assert shown(grown(EVERYTHING, size)) == whole(EVERYTHING)


@settings(max_examples=60, deadline=None)
@given(st.lists(SNIPPETS, max_size=40), st.integers(1, 9))
def test_no_piece_of_any_text_is_lost_or_too_wide(snippets: list[str], size: int) -> None:
    text = "".join(snippets)

    document = grown(text, size)
    document.finish(text)

    assert shown(document) == whole(text)
    for line in document.lines(40):
        assert line.cell_length <= 40
        assert not [c for c in line.plain if ord(c) < 32 or 0x7F <= ord(c) < 0xA0]
    everything = "".join("".join(shown(document)).split())
    said = re.sub(r"```[^\n]*", "", text)  # the language of a fence is not a part of its text
    for word in ("word", "漢", "<div>", "&amp;", "[x](y)"):
        assert everything.count(word) >= min(1, said.count(word))


def test_open_fence_is_not_read_again() -> None:
    document = Document(UNICODE)
    document.feed("```python\nfirst = 1\n")
    document.feed("second = 2\n")
    lines = document.lines(40)

    document.feed("third")

    assert [line.plain.strip() for line in document.lines(40)] == [
        "first = 1",
        "second = 2",
        "third",
    ]
    assert all(a is b for a, b in zip(lines, document.lines(40), strict=False))


def test_long_fence_keeps_its_lines_when_it_closes_and_at_the_end() -> None:
    text = "```python\n" + "".join(f"line_{i} = {i}\n" for i in range(500))
    document = grown(text, 40)
    before = [*document.lines(40)]
    known = {id(line) for line in before}

    document.feed("```\n\nThat is all.\n")
    closed = document.lines(40)
    document.finish(f"{text}```\n\nThat is all.\n")
    finished = document.lines(40)

    assert len(before) == 500
    assert len([line for line in closed if id(line) not in known]) <= 3
    assert len([line for line in finished if id(line) not in known]) <= 3
    assert [line.plain for line in finished] == [line.plain for line in closed]


def test_code_of_another_text_is_not_taken_over() -> None:
    document = grown("```\none\ntwo\nthree\n```\n", 4)
    document.lines(40)

    document.finish("```\none\nother\nthree\n```\n")

    assert [line.strip() for line in shown(document)] == ["one", "other", "three"]


def test_code_that_was_taken_over_whole_may_still_grow() -> None:
    other, code = Code("", "one\ntwo\n"), Code("", "one\ntwo")
    other.lines(40)

    code.take_over(other)
    taken = [line.plain.strip() for line in code.lines(40)]
    code.extend(" and more")

    assert taken == ["one", "two"]
    assert [line.plain.strip() for line in code.lines(40)] == ["one", "two and more"]


def test_colours_are_there_with_the_lines() -> None:
    code = Code("python", "x = 1\ny = 2")
    plain = [line.plain for line in code.lines(40)]

    code.colour("")
    coloured = code.lines(40)

    assert [line.plain for line in coloured] == plain
    assert all(len(line.spans) > 1 for line in coloured)
    assert code.lines(40)[0] is coloured[0]


def test_codes_are_the_source_without_the_fences() -> None:
    document = Document(UNICODE)

    document.finish(EVERYTHING)

    assert document.codes == ["x = 1", "def f(x):\n\treturn x  # 日本語", "``` not closed by this"]


def test_long_list_is_read_again_from_a_late_item_only() -> None:
    text = "".join(f"{i}. item {i}\n" for i in range(1, 200))

    document = grown(text, 500)

    assert shown(document) == whole(text)
    assert document._tail_at > len(text) - 900


def test_empty_item_keeps_its_sign_and_quotes_nest() -> None:
    assert whole("- \n- b") == ["•", "• b"] or whole("- \n- b") == ["• ", "• b"]
    assert whole("> a\n>\n> > b")[-1].startswith("▌ ▌ b")


def test_table_wraps_the_widest_column() -> None:
    rows = whole("|a|b|\n|-|-|\n|1|" + "word " * 20 + "|", 30)

    assert rows[0].startswith("a  b")
    assert all(Content(row).cell_length <= 30 for row in rows)
    assert "".join(rows).count("word") == 20


def test_code_wider_than_the_screen_is_folded_and_whole() -> None:
    code = Code("", "x" * 100 + "\n漢" * 3)

    lines = code.lines(30)

    assert sum(line.plain.count("x") for line in lines) == 100
    assert all(line.cell_length == 30 and line.plain.startswith(PAD) for line in lines)


def test_spaces_at_a_line_end_never_make_it_too_wide() -> None:
    lines = Text("漢字漢字 and 漢字 more   words").lines(9)

    assert all(line.cell_length <= 9 for line in lines)


def test_text_without_spaces_is_cut_by_cells() -> None:
    lines = Text("漢" * 50).lines(21)

    assert [line.cell_length for line in lines] == [20] * 5
