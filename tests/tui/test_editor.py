from pathlib import Path

import pytest
from edgespec.tui.editor import edited

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
    [({"EDITOR": "no-such-editor"}, "there is no editor"), ({"EDITOR": "false"}, "failed")],
)
def test_editor_that_cannot_be_used_is_told(environ: dict[str, str], words: str) -> None:
    with pytest.raises(EdgespecError, match=words):
        edited("text", environ)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    edited("text", {"EDITOR": "true"})

    assert list(tmp_path.iterdir()) == []
