"""`edgespec pair`: which drafts fit, each with its reason; real tiny files, nothing loaded."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from edgespec.api.judge import Judge
from edgespec.api.measured import Measured
from edgespec.api.samples import Samples, write
from edgespec.cli.main import cli
from edgespec.costs import PassCosts
from edgespec.gguf.header import read_header
from edgespec.hardware.types import Cpu, Device, HardwareReport, Memory
from tests.tinygguf import OTHER_VOCAB, write_gemma3, write_hybrid, write_llama

Add = Callable[..., Path]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    return folder


@pytest.fixture
def add(edgespec_home: Path) -> Add:
    """Adds an entry to the user's catalogue, and its file where `write` is given."""

    def adding(id: str, write: Callable[[Path], Path] | None = None, *, more: str = "") -> Path:
        folder = edgespec_home / "models" / id
        folder.mkdir(parents=True, exist_ok=True)
        entry = (
            f'[models."{id}"]\ntitle = "{id}"\nrepo = "owner/{id}"\nfile = "{id}.gguf"\n'
            f'quant = "F32"\nvocab = "tiny"\n{more}\n'
        )
        with (edgespec_home / "models.toml").open("a") as file:
            file.write(entry)
        return write(folder / f"{id}.gguf") if write else folder / f"{id}.gguf"

    return adding


def large(path: Path) -> Path:
    """A target that one tiny draft token is cheap beside."""
    return write_gemma3(path, vocab=_wide())


def _wide() -> Any:
    from tests.tinygguf import VOCAB

    return VOCAB.padded(4000)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["pair", *arguments], catch_exceptions=False)


def candidates(*arguments: str) -> dict[str, dict[str, Any]]:
    found = json.loads(run(*arguments, "--json").stdout)["candidates"]
    return {one["name"]: one for one in found}


def test_pair_lists_a_draft_that_fits_first_with_the_command(add: Add) -> None:
    add("small", write_llama)
    add("other", lambda path: write_llama(path, vocab=OTHER_VOCAB))
    add("target", large, more='drafts = ["small"]')

    result = run("target")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].startswith("* fits  small")
    assert "edgespec chat -t target --draft small" in result.output


def test_pair_names_the_first_differing_token(add: Add) -> None:
    add("other", lambda path: write_llama(path, vocab=OTHER_VOCAB))
    add("target", large)

    found = candidates("target")["other"]

    assert found["verdict"] == "unfit"
    assert found["reason"].startswith(f"token {found['token_id']} differs: 'x' in target.gguf, 'y'")
    assert run("target").exit_code == 5


def test_pair_says_that_a_draft_is_not_small_enough(add: Add) -> None:
    add("twin", lambda path: write_llama(path, seed=1))
    add("target", write_llama, more='drafts = ["twin"]')

    found = candidates("target")["twin"]

    assert found["verdict"] == "slow"
    assert "not small enough: a draft token costs 100% of a plain step (by size)" in found["reason"]


def test_pair_refuses_a_draft_larger_than_its_target(add: Add) -> None:
    add("large", write_gemma3)
    add("target", write_llama)

    assert "is larger than the target" in candidates("target")["large"]["reason"]


def test_pair_shows_a_draft_that_has_to_be_fetched(add: Add) -> None:
    add("far", more="size_bytes = 5_000_000")
    add("target", write_llama, more='drafts = ["far"]')

    found = candidates("target")["far"]

    assert (found["verdict"], found["here"]) == ("unknown", False)
    assert found["reason"] == "not on this machine, 5.0 MB: edgespec pull far"


def test_pair_gives_reported_gains_with_their_source(add: Add) -> None:
    add("small", write_llama)
    gain = '{ draft = "small", times = [1.5, 2.0], source = "an abacus" }'
    add("target", large, more=f'drafts = ["small"]\ngains = [{gain}]')

    result = run("target")

    assert "expect 1.50x to 2.00x (an abacus)" in result.stdout


def test_pair_reckons_a_gain_that_nobody_reported_and_says_so(add: Add) -> None:
    add("small", write_llama)
    add("target", large)

    expected = candidates("target")["small"]["expected"]

    assert not expected["is_reported"]
    assert "arithmetic: 70% of drafted tokens right, costs by size" in expected["source"]


def test_pair_shows_what_was_measured_on_this_machine(add: Add, edgespec_home: Path) -> None:
    draft, target = add("small", write_llama), add("target", large)
    names = [(path.name, path.stat().st_size) for path in (target, draft)]
    kept = edgespec_home / "cache" / "pace" / "abc.json"
    write(kept, Samples({1: (0.04,), 8: (0.05,)}, draft_s=0.004), names)

    result = run("target")

    assert "measured here: 4.0 ms for a draft token, 40.0 ms for a plain step: " in result.stdout
    assert candidates("target")["small"]["measured"]["step_s"] == 0.04


@pytest.mark.parametrize("kept", ["", "[]", '{"files": [["a", 1]], "draft_s": 1}', '{"files": 3}'])
def test_pair_takes_a_measurement_that_makes_no_sense_for_none(
    add: Add, edgespec_home: Path, kept: str
) -> None:
    add("small", write_llama)
    add("target", large)
    file = edgespec_home / "cache" / "pace" / "abc.json"
    file.parent.mkdir(parents=True)
    file.write_text(kept)

    assert candidates("target")["small"]["measured"] is None


def test_pair_says_how_a_hybrid_target_takes_drafts_back(add: Add) -> None:
    add("target", write_hybrid)

    assert "note: the target is hybrid (lfm2)" in run("target").output


def test_pair_looks_at_files_of_other_programs(add: Add, home: Path) -> None:
    add("target", large)
    folder = home / ".lmstudio/models/pub/small"
    folder.mkdir(parents=True)
    write_llama(folder / "small-F32.gguf")

    found = candidates("target")["pub/small@F32"]

    assert (found["verdict"], found["program"], found["here"]) == ("fits", "LM Studio", True)


def test_pair_judges_files_as_they_are_now(add: Add) -> None:
    path = add("small", lambda path: write_llama(path, vocab=OTHER_VOCAB))
    add("target", large)
    before = candidates("target")["small"]["verdict"]
    write_llama(path)

    after = candidates("target")["small"]["verdict"]

    assert (before, after) == ("unfit", "fits")


def test_pair_tells_what_is_wrong_with_a_candidates_file(add: Add) -> None:
    add("broken", write_llama).write_bytes(b"<!doctype html>")
    add("target", large)

    found = candidates("target")["broken"]

    assert (found["verdict"], found["here"]) == ("unfit", True)
    assert "is a web page, not a model" in found["reason"]


def test_pair_of_a_file_of_ones_own_finds_its_vocabularys_drafts(add: Add, tmp_path: Path) -> None:
    add("far")
    add("known", write_llama, more='drafts = ["far"]')
    mine = write_llama(tmp_path / "mine.gguf", seed=7)

    found = candidates(str(mine))

    assert found["far"]["verdict"] == "unknown"
    assert found["known"]["here"]


def test_pair_of_a_head_is_refused(add: Add) -> None:
    add("a-head", more='kind = "head"\nmethod = "mtp"')

    result = run("a-head")

    assert result.exit_code == 2
    assert "drafts for another model" in result.output


def test_pair_of_a_damaged_target_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")

    result = run(str(path))

    assert result.exit_code == 1
    assert "is truncated" in result.output


def machine(memory_bytes: int) -> HardwareReport:
    cpu = Cpu("a CPU", "x86_64", 2, 2, None, 2, ())
    device = Device("CPU", "a CPU", "CPU", memory_bytes, memory_bytes)
    return HardwareReport("a test", cpu, Memory(memory_bytes, memory_bytes, ""), (device,))


def test_draft_that_does_not_fit_the_memory_is_refused_with_the_numbers(tmp_path: Path) -> None:
    target = read_header(large(tmp_path / "target.gguf"))
    draft = read_header(write_llama(tmp_path / "draft.gguf"))

    opinion = Judge(target, None, {}, machine(3 << 20)).of("draft", None, draft)

    assert opinion.verdict == "unfit"
    assert opinion.reason.startswith("does not fit the memory: ")
    assert "MiB" in opinion.reason


def test_measured_costs_decide_whether_a_draft_is_small_enough(tmp_path: Path) -> None:
    target = read_header(large(tmp_path / "target.gguf"))
    draft = read_header(write_llama(tmp_path / "draft.gguf"))
    files = tuple((h.path.name, h.shape.size_bytes) for h in (target, draft))
    measured = {files: Measured(PassCosts((1, 8), (0.01, 0.02)), 0.009)}

    opinion = Judge(target, None, measured, machine(1 << 34)).of("draft", None, draft)

    assert opinion.verdict == "slow"
    assert "costs 90% of a plain step (as measured here)" in opinion.reason
