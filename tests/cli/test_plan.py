"""`edgespec plan` as a person runs it: catalogue, files, refusals and their exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from edgespec.cli.main import cli
from tests.tinygguf import write_llama


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["plan", *arguments])
    assert result.exit_code == code, result.output
    return result


def as_json(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return found


def test_plan_shows_every_part_in_bytes_and_the_strategy() -> None:
    text = run("qwen3-14b", "--hardware", "rtx4090").stdout

    for part in ("target weights", "target KV f16", "target compute", "target output",
                 "draft weights", "draft KV f16", "backend overhead", "margin",
                 "needed", "free", "strategy:", "CUDA0  NVIDIA GeForce RTX 4090"):  # fmt: skip
        assert part in text
    assert "qwen3-0.6b, which drafts" in text
    assert "its sizes are the catalogue's" in text


def test_time_it_took_is_talk_and_no_part_of_the_plan() -> None:
    result = run("qwen3-14b", "--hardware", "rtx4090")

    assert "planned in " in result.stderr
    assert "planned in " not in result.stdout


def test_plan_of_a_cascade_holds_every_model() -> None:
    said = ("qwen3-32b", "--draft", "qwen3-4b,qwen3-0.6b", "--hardware", "2x-rtx4090")

    text, plan = run(*said).stdout, as_json(*said)

    assert "qwen3-4b, which drafts: " in text
    assert "qwen3-0.6b, which drafts for it: " in text
    parts = {line["what"] for line in plan["lines"]}
    assert {"draft weights", "draft 2 weights", "draft 2 KV f16"} <= parts
    assert plan["lower_ids"] == ["qwen3-0.6b"]


@pytest.mark.parametrize(
    ("machine", "places"),
    [("2x-rtx4090", {"CUDA0", "CUDA1", "CPU"}), ("m4-max-64", {"MTL0", "CPU"})],
)
def test_plan_as_json_adds_up_place_by_place(machine: str, places: set[str]) -> None:
    plan = as_json("llama-3.3-70b", "--hardware", machine)

    assert {room["where"] for room in plan["rooms"]} == places
    for room in plan["rooms"]:
        lines = [line["size_bytes"] for line in plan["lines"] if line["where"] == room["where"]]
        assert sum(lines) + room["shared_bytes"] == room["needed_bytes"] <= room["free_bytes"]
    assert sum(plan["target"]["split"]) == pytest.approx(1.0)


def test_plan_of_shared_memory_prints_parts_that_add_up() -> None:
    text = run("qwen3-8b", "--hardware", "m4-max-16").stdout

    own = text[text.index("CPU  the machine's own memory") :].splitlines()[1:]
    sizes = [int(line[22:40].replace(",", "")) for line in own[: own.index("") - 1]]
    assert any(line.strip().startswith("shared with the GPU") for line in own)
    assert sum(sizes[:-1]) == sizes[-1]


def test_plan_tells_what_gave_way() -> None:
    text = run("qwen3-32b", "--hardware", "8gb").stdout

    assert "memory is short: no draft model: qwen3-0.6b would take" in text
    assert "layers of qwen3-32b on the GPU, the others on the CPU" in text


def test_plan_of_a_file_here_needs_no_catalogue_entry(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "mine.gguf")

    plan = as_json(str(path), "--hardware", "cpu-8", "--ctx", "512")

    assert plan["target_id"] == "mine.gguf"
    assert plan["draft_id"] is None
    assert plan["notes"] == []


def test_plan_calls_a_file_of_another_program_by_its_name_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path))
    name = f"sha256-{'1' * 64}"
    (tmp_path / "blobs").mkdir()
    write_llama(tmp_path / "m.gguf").rename(tmp_path / "blobs" / name)
    manifest = tmp_path / "manifests" / "registry.ollama.ai" / "library" / "smol" / "135m"
    manifest.parent.mkdir(parents=True)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": name}
    manifest.write_text(json.dumps({"layers": [layer]}))

    plan = as_json("smol:135m", "--hardware", "cpu-8", "--ctx", "512")

    assert plan["target_id"] == "smol:135m"


def test_plan_for_this_machine_uses_what_is_really_free(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "mine.gguf")

    plan = as_json(str(path))

    assert plan["hardware"] == "this machine"
    assert all(room["free_bytes"] > room["needed_bytes"] for room in plan["rooms"])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("qwen3-14b", "--hardware", "12gb", "--gpu-layers", "41", "-c", "40960"), 4, "--ctx "),
        (("llama-3.3-70b", "--hardware", "cpu-16"), 4, "smaller"),
        (("qwen3-14b", "--hardware", "rtx409"), 2, "rtx4090"),
        (("qwen3-14b", "--hardware", "rtx4090", "-c", "99999"), 2, "trained for 40,960"),
        (("qwen3-14b", "--hardware", "rtx4090", "--draft", "smollm2-135m"), 5, "vocabulary"),
        (("qwen3-15b", "--hardware", "rtx4090"), 3, "did you mean"),
        (("qwen3-14b", "--hardware", "rtx4090", "--kv", "q9"), 2, "q8_0"),
    ],
)
def test_plan_refuses_with_the_exit_code_and_a_way_out(
    arguments: tuple[str, ...], code: int, words: str
) -> None:
    command = [sys.executable, "-m", "edgespec", "plan", *arguments]

    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode == code, result.stderr
    assert words in result.stderr
    assert result.stdout == ""


def test_planning_for_another_machine_loads_neither_llama_cpp_nor_numpy() -> None:
    script = (
        "import sys; from edgespec.cli.main import main\n"
        "try: main(['plan', 'qwen3-14b', '--hardware', '2x-rtx4090', '--json'])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = {'llama_cpp', 'numpy', 'textual', 'huggingface_hub', 'psutil'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )

    result = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)

    assert result.returncode == 0, result.stderr


def test_planning_for_this_machine_loads_neither_numpy_nor_templates(tmp_path: Path) -> None:
    target = write_llama(tmp_path / "target.gguf")
    draft = write_llama(tmp_path / "draft.gguf", seed=1)
    script = (
        "import sys; from edgespec.cli.main import main\n"
        f"try: main(['plan', {str(target)!r}, '--draft', {str(draft)!r}])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = {'numpy', 'jinja2', 'textual', 'huggingface_hub', 'edgespec.events',\n"
        "  'edgespec.engine.rpc.client', *(['psutil'] if sys.platform == 'linux' else [])}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )

    result = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)

    assert result.returncode == 0, result.stderr
