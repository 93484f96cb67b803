import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.text.clean import CleanStream, clean


@pytest.mark.parametrize(
    ("dirty", "shown"),
    [
        ("\x1b]0;pwn\x07text", "]0;pwntext"),
        ("\x1b[2J\x1b[H", "[2J[H"),
        ("\x1b]52;c;AAAA\x1b\\", "]52;c;AAAA\\"),
        ("a\x9b31mb", "a31mb"),
        ("a\x7fb\x00c\x08", "abc"),
        ("user\u202etxt.exe\u2066x\u2069", "usertxt.exex"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("日本 🦙 é \u200d", "日本 🦙 é \u200d"),
        ("half \ud83e", "half \ufffd"),
    ],
)
def test_clean_leaves_only_what_a_terminal_may_see(dirty: str, shown: str) -> None:
    assert clean(dirty) == shown


@pytest.mark.parametrize("separator", ["\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029"])
def test_clean_makes_every_separator_a_newline(separator: str) -> None:
    assert clean(f"a{separator}b{separator}{separator}c") == "a\nb\n\nc"


@settings(deadline=None)
@given(st.text())
def test_clean_leaves_lines_that_python_and_markdown_agree_on(text: str) -> None:
    assert len(clean(text + "x").splitlines()) == clean(text + "x").count("\n") + 1


@settings(deadline=None)
@given(st.lists(st.text("\r\n\x1b\u2028ab", max_size=3)))
def test_clean_stream_equals_cleaning_the_whole(pieces: list[str]) -> None:
    stream = CleanStream()

    assert "".join(map(stream.feed, pieces)) == clean("".join(pieces))


def test_clean_stream_makes_one_newline_of_a_line_end_split_over_pieces() -> None:
    stream = CleanStream()

    assert [stream.feed("a\r"), stream.feed("\nb")] == ["a\n", "b"]
