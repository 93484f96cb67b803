import errno
import io
import os

import pytest

from edgespec.cli.render import ReaderGone, Screen
from edgespec.errors import EdgespecError


class Terminal(io.TextIOWrapper):
    """A stream that a person watches, in the given encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding=encoding, newline="")

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        return self.bytes.getvalue().decode(self.encoding)


class Pipe(Terminal):
    def isatty(self) -> bool:
        return False


class ClosedPipe(Pipe):
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("pieces", [["one"], ["one\n"], ["one\n", "\n"], ["o", "ne\n\n\n"]])
def test_answer_ends_with_exactly_one_newline(pieces: list[str]) -> None:
    out = Pipe()
    screen = Screen(out, Pipe())

    for piece in pieces:
        screen.answer(piece)
    screen.end_answer()

    assert out.shown == "one\n"


def test_answer_keeps_newlines_inside() -> None:
    out = Pipe()
    screen = Screen(out, Pipe())

    for piece in ["a\n", "\nb"]:
        screen.answer(piece)
    screen.end_answer()

    assert out.shown == "a\n\nb\n"


def test_answer_shows_every_piece_at_once() -> None:
    out = Pipe()
    screen = Screen(out, Pipe())

    screen.answer("so far")

    assert out.shown == "so far"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("ascii", "caf\\xe9 \\U0001f999\n"), ("cp1252", "café \\U0001f999\n")],
)
def test_answer_escapes_what_the_encoding_lacks(encoding: str, shown: str) -> None:
    out = Pipe(encoding)
    screen = Screen(out, Pipe(encoding))

    screen.answer("café 🦙")
    screen.end_answer()

    assert out.shown == shown


def test_answer_loses_control_characters_on_a_terminal() -> None:
    out = Terminal()

    Screen(out, Pipe()).answer("\x1b]52;c;aGk=\x07ok\x9b")

    assert out.shown == "]52;c;aGk=ok"


def test_answer_is_untouched_in_a_pipe() -> None:
    out = Pipe()

    Screen(out, Pipe()).answer("\x1b[1mok")

    assert out.shown == "\x1b[1mok"


def test_reader_gone_is_told_when_the_pipe_is_closed() -> None:
    with pytest.raises(ReaderGone):
        Screen(ClosedPipe(), Pipe()).answer("text")


class Full(Pipe):
    """A file on a disk without room."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_answer_that_cannot_be_written_is_told() -> None:
    with pytest.raises(EdgespecError, match="cannot be written: No space left on device"):
        Screen(Full(), Pipe()).answer("text")


def test_answer_goes_on_where_nobody_can_be_told_anything() -> None:
    out = Pipe()
    screen = Screen(out, Full())

    screen.note("so slow")
    screen.answer("text")

    assert out.shown == "text"


def test_status_is_erased_before_the_answer() -> None:
    err = Terminal()
    screen = Screen(Terminal(), err)

    screen.status("loading 10%")
    screen.status("loading 20%")
    screen.answer("hi")

    assert err.shown == "loading 10%\r\x1b[Kloading 20%\r\x1b[K"


def test_status_is_not_shown_when_nobody_watches() -> None:
    err = Pipe()

    Screen(Terminal(), err).status("loading")

    assert err.shown == ""


def test_status_is_not_shown_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    err = Terminal()
    monkeypatch.setenv("TERM", "dumb")

    Screen(Terminal(), err).status("loading")

    assert err.shown == ""


def test_error_is_a_sentence_and_a_hint() -> None:
    err = Pipe()

    Screen(Pipe(), err).error("it broke", "mend it")

    assert err.shown == "edgespec: it broke\nhint: mend it\n"


@pytest.mark.parametrize(
    ("typed", "agrees"), [("\n", True), ("Y\n", True), ("yes\n", True), ("n\n", False), ("", False)]
)
def test_ask_takes_enter_as_yes_and_the_end_as_no(
    typed: str, agrees: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))

    assert Screen(Pipe(), Pipe()).ask("Fetch it?") is agrees


def test_output_is_unread_once_its_reader_has_closed_the_pipe() -> None:
    reading, writing = os.pipe()
    with open(writing, "w") as out:
        screen = Screen(out, Pipe())
        before = screen.is_unread

        os.close(reading)

        assert (before, screen.is_unread) == (False, True)
