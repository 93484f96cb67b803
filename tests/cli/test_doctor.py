from pathlib import Path

import pytest
from click.testing import CliRunner

from edgespec.cli.doctor import show
from edgespec.cli.main import cli
from edgespec.cli.render import Screen
from edgespec.doctor import Finding, Report, Section, report


def found_in(report: Report, title: str) -> dict[str, str]:
    section = next(section for section in report.sections if section.title == title)
    return {finding.name: finding.value for finding in section.findings}


def test_report_finds_build_devices_memory_and_no_model_yet() -> None:
    found = report()

    assert found_in(found, "build")["llama-cpp-python"] == "0.3.36"
    assert "first decode" in found_in(found, "build")
    assert "CPU" in found_in(found, "devices")
    assert "GiB available" in found_in(found, "machine")["memory"]
    assert found_in(found, "models") == {"none": "no model is on this machine yet"}


def test_report_makes_a_finding_of_what_fails(edgespec_home: Path) -> None:
    edgespec_home.mkdir()
    (edgespec_home / "models.toml").write_text("nonsense")

    found = report()

    assert [finding.name for finding in found.problems] == ["problem"]
    assert "models.toml" in found.problems[0].value


def test_report_goes_on_after_a_fault_of_any_kind(
    edgespec_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    not_a_folder = edgespec_home.with_name("a-file")
    not_a_folder.touch()
    monkeypatch.setattr(
        "edgespec.hardware.probe.linux_memory", lambda _: (not_a_folder / "meminfo").read_text()
    )

    found = report()

    assert [finding.name for finding in found.problems] == ["problem"]
    assert "NotADirectoryError" in found.problems[0].value
    assert found_in(found, "folders")["models"] == str(edgespec_home / "models")


def test_show_marks_problems_and_gives_1(capsys: pytest.CaptureFixture[str]) -> None:
    sick = Finding("first decode", "it dies", is_problem=True, hint="build it again")
    healthy = Finding("Python", "3.11")

    code = show(Screen(), Report((Section("build", (healthy, sick)),)))

    assert code == 1
    assert [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()] == [
        "build",
        "Python 3.11",
        "! first decode it dies",
        "hint: build it again",
    ]


def test_doctor_exits_with_0_when_nothing_needs_mending() -> None:
    assert CliRunner().invoke(cli, ["doctor"]).exit_code == 0
