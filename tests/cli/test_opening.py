"""When a chat's screen is shown before the chat is made."""

from pathlib import Path
from typing import Any

import click
import pytest

from edgespec.cli.chat import chat
from edgespec.cli.flags import Flags
from edgespec.cli.last import keep_target, last_target
from edgespec.cli.opening import MustTalk, Silent, is_unchecked, without_a_word


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))


def _flags(*arguments: str) -> Flags:
    context: click.Context = chat.make_context("chat", [*arguments])
    given: dict[str, Any] = context.params
    return Flags(**given)


def test_chat_with_the_last_target_needs_no_word() -> None:
    keep_target("smollm2-135m")

    silent = without_a_word(_flags(), set())

    assert silent is not None
    assert silent.target == "smollm2-135m"


def test_chat_with_a_file_that_is_there_needs_no_word(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")

    silent = without_a_word(_flags("--target", str(file), "--private"), {"target", "private"})

    assert silent is not None
    assert (silent.target, silent.private) == (str(file), True)


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        (set(), ()),
        ({"target"}, ("--target", "never-fetched")),
        ({"target", "temp"}, ("--target", "smollm2-135m", "--temp", "0.5")),
        ({"is_continued"}, ("--continue",)),
        ({"yes"}, ("-y",)),
    ],
)
def test_chat_that_may_need_a_word_is_opened_in_the_open(
    said: set[str], arguments: tuple[str, ...]
) -> None:
    if said:
        keep_target("smollm2-135m")

    assert without_a_word(_flags(*arguments), said) is None


def test_flags_without_a_wrong_value_are_not_checked() -> None:
    assert not is_unchecked({"target", "private", "no_color"})
    assert is_unchecked({"target", "top_p"})


def test_whoever_talks_to_a_silent_screen_ends_the_attempt() -> None:
    screen = Silent()

    for talk in (screen.note, screen.line, screen.answer, screen.status, screen.ask):
        with pytest.raises(MustTalk):
            talk("a word")


def test_last_target_is_empty_before_the_first_chat() -> None:
    assert last_target() == ""


def test_last_target_is_what_was_kept() -> None:
    keep_target("smollm2-135m")

    assert last_target() == "smollm2-135m"
