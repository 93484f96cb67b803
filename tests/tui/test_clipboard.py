import stat
from pathlib import Path

import pytest
from edgespec.tui.clipboard import copy


def fake_tool(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_copy_uses_the_desktops_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_tool(tmp_path / "bin", "xclip", f"cat > {tmp_path}/copied")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    sent: list[str] = []

    said = copy("**raw** ü", sent.append, {"DISPLAY": ":0"})

    assert (tmp_path / "copied").read_text() == "**raw** ü"
    assert said == "copied 9 characters with xclip and OSC 52"
    assert sent == ["**raw** ü"]


@pytest.mark.parametrize("environ", [{}, {"SSH_CONNECTION": "1", "DISPLAY": ":0"}])
def test_copy_asks_the_terminal_and_saves_a_file_without_a_tool(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_tool(tmp_path / "bin", "xclip", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sent: list[str] = []

    said = copy("text", sent.append, environ)

    assert sent == ["text"]
    assert Path(said.rpartition(" ")[2]).read_text() == "text"


def test_copy_falls_back_when_the_tool_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_tool(tmp_path / "bin", "xclip", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sent: list[str] = []

    copy("text", sent.append, {"DISPLAY": ":0"})

    assert sent == ["text"]


def test_copy_asks_every_tool_until_one_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgespec.tui.clipboard.TIMEOUT_S", 1.5)  # enough to start xsel
    fake_tool(tmp_path / "bin", "wl-copy", "exit 1")
    fake_tool(tmp_path / "bin", "xclip", "exec sleep 30")
    fake_tool(tmp_path / "bin", "xsel", f"cat > {tmp_path}/copied")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    said = copy("text", lambda text: None, {"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"})

    assert said == "copied 4 characters with xsel and OSC 52"
    assert (tmp_path / "copied").read_text() == "text"


def test_copy_says_which_tools_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_tool(tmp_path / "bin", "xclip", "exit 1")
    fake_tool(tmp_path / "bin", "xsel", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    said = copy("text", lambda text: None, {"DISPLAY": ":0"})

    assert said.startswith("sent 4 characters to the terminal (OSC 52), as xclip and xsel failed;")


def test_copy_of_a_private_text_is_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    said = copy("secret", lambda text: None, {}, may_save=False)

    assert said.endswith("in no file, as this chat is private")
    assert list(tmp_path.iterdir()) == []


def test_copy_says_that_no_file_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))

    said = copy("text", lambda text: None, {})

    assert said.endswith("in no file either (No such file or directory)")


def test_copy_of_a_text_too_long_for_the_terminal_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sent: list[str] = []

    said = copy("x" * 80_000, sent.append, {})

    assert sent == []
    assert Path(said.rpartition(" ")[2]).read_text() == "x" * 80_000
