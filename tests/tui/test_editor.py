import os
import subprocess
import sys
from pathlib import Path

import pytest
from edgespec.tui.editor import edited, forget_left

from edgespec.errors import EdgespecError


def editor(folder: Path, script: str) -> str:
    path = folder / "my editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return f"'{path}' --wait"


def test_text_comes_back_from_the_persons_editor(tmp_path: Path) -> None:
    command = editor(tmp_path, 'printf "%s and more\\n" "$(cat "$2")" > "$2"')

    assert edited("ü\nline", {"EDITOR": command}) == "ü\nline and more"


def test_visual_goes_before_editor(tmp_path: Path) -> None:
    command = editor(tmp_path, 'echo visual > "$2"')

    assert edited("", {"VISUAL": command, "EDITOR": "false"}) == "visual"


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"EDITOR": "no-such-editor"}, "there is no editor"),
        ({"EDITOR": "false"}, "failed with exit status 1"),
    ],
)
def test_editor_that_cannot_be_used_is_told(environ: dict[str, str], words: str) -> None:
    with pytest.raises(EdgespecError, match=words):
        edited("text", environ)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    edited("text", {"EDITOR": "true"})

    assert list(tmp_path.iterdir()) == []


def test_editor_that_leaves_no_file_is_told() -> None:
    with pytest.raises(EdgespecError, match="left no file that can be read"):
        edited("text", {"EDITOR": "rm"})


def test_what_a_failing_editor_had_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = editor(tmp_path, 'echo "an hour of work" > "$2"; exit 1')
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with pytest.raises(EdgespecError) as caught:
        edited("text", {"EDITOR": command})

    (kept,) = tmp_path.glob("edgespec-*")
    assert kept.read_text() == "an hour of work\n"
    assert caught.value.hint == f"what it had written is in {kept}"


def test_folder_that_takes_no_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))

    with pytest.raises(EdgespecError, match="no file for the editor can be written"):
        edited("text", {"EDITOR": "true"})


def test_lent_file_is_what_the_editor_gets_and_nobody_finds_later(tmp_path: Path) -> None:
    lent = tmp_path / "home" / "unsent-1.md"
    command = editor(tmp_path, 'echo "$2" > "$2"; cp "$2" "$2~"')

    assert edited("text", {"EDITOR": command}, lent) == str(lent)
    assert list(lent.parent.iterdir()) == []


def test_lent_file_that_cannot_be_made_does_not_keep_the_editor_shut(tmp_path: Path) -> None:
    (tmp_path / "home").touch()

    assert edited("text", {"EDITOR": "true"}, tmp_path / "home" / "unsent-1.md") == "text"


def test_what_a_failing_editor_had_written_survives_the_next_message(tmp_path: Path) -> None:
    lent = tmp_path / "unsent-1.md"
    command = editor(tmp_path, 'echo "an hour of work" > "$2"; exit 1')

    with pytest.raises(EdgespecError):
        edited("text", {"EDITOR": command}, lent)
    edited("other", {"EDITOR": "true"}, lent)

    (kept,) = tmp_path.glob("*.md")
    assert kept.read_text() == "an hour of work\n"


def test_only_files_of_processes_that_are_no_more_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    dead = f"edgespec-message-{process.pid}-abc.md"
    stay = [f"edgespec-message-{os.getppid()}-abc.md", "edgespec-kept-abc.md", f"other-{dead}"]
    for name in (dead, f"{dead}~", *stay):
        (tmp_path / name).touch()

    forget_left()

    assert {path.name for path in tmp_path.iterdir()} == set(stay)
