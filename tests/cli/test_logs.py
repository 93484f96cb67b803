import logging
from pathlib import Path

import pytest

from edgespec.cli.logs import log_to_file, log_to_stderr, show_warnings
from edgespec.cli.render import Screen

OWN = logging.getLogger("edgespec.store")
NATIVE = logging.getLogger("edgespec.llama")


def test_warning_is_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    show_warnings(Screen())

    OWN.warning("%s is slow", "it")

    assert capsys.readouterr().err == "note: it is slow\n"


def test_native_warning_and_error_are_no_notes(capsys: pytest.CaptureFixture[str]) -> None:
    show_warnings(Screen())

    NATIVE.warning("n_ctx_seq < n_ctx_train")
    OWN.error("comes as an exception too")

    assert capsys.readouterr().err == ""


def test_warning_is_shown_once_when_records_are(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("INFO", Screen())
    show_warnings(Screen())

    OWN.warning("slow")

    assert capsys.readouterr().err.count("slow") == 1


def test_native_chatter_is_kept_for_debug(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("INFO", Screen())

    NATIVE.info("general.architecture = llama")
    NATIVE.warning("n_ctx_seq < n_ctx_train")

    assert "general.architecture" not in (told := capsys.readouterr().err)
    assert "WARNING edgespec.llama: n_ctx_seq" in told


def test_lower_of_two_levels_wins(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("DEBUG", Screen())
    log_to_stderr("INFO", Screen())

    NATIVE.debug("detail")

    assert "DEBUG edgespec.llama: detail\n" in capsys.readouterr().err


def test_records_go_to_the_file_while_the_screen_is_taken(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log_to_stderr("INFO", Screen())

    log_to_file(tmp_path / "state" / "edgespec.log")
    OWN.info("loaded")

    assert capsys.readouterr().err == ""
    assert "INFO edgespec.store: loaded\n" in (tmp_path / "state" / "edgespec.log").read_text()


def test_no_file_is_made_without_v(tmp_path: Path) -> None:
    log_to_file(tmp_path / "edgespec.log")

    OWN.warning("not worth a file")
    NATIVE.error("its own sentence says so")

    assert not (tmp_path / "edgespec.log").exists()


def test_fault_is_in_the_file_without_v(tmp_path: Path) -> None:
    log_to_file(tmp_path / "state" / "edgespec.log")

    OWN.error("the screen failed")

    assert "ERROR edgespec.store: the screen failed\n" in (
        tmp_path / "state" / "edgespec.log"
    ).read_text(encoding="utf-8")


def test_folder_that_takes_no_log_stops_nobody(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    log_to_file(tmp_path / "file" / "edgespec.log")

    OWN.error("the screen failed")

    assert capsys.readouterr().err == ""
