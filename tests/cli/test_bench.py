"""`edgespec bench` from the command line to its table, on a tiny model."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgespec.cli.main import cli
from tests import tinygguf


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("bench") / "target.gguf"
    return str(tinygguf.write_llama(path, n_ctx=2048))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["bench", *arguments])


def test_bench_measures_all_drafters_and_writes_table_and_json(gguf: str, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"

    result = run("-t", gguf, "--draft", gguf, "--quick", "-n", "6", "--json", str(file))

    found = json.loads(file.read_text(encoding="utf-8"))
    assert result.exit_code == 0, result.stderr
    assert {s["drafter"] for s in found["scores"]} == {"none", "model", "suffix", "suffix+model"}
    assert {s["temperature"] for s in found["scores"]} == {0.0, 0.7}
    assert {s["n_tokens"] for s in found["scores"]} == {6}
    assert len(found["runs"]) == 4 * 2 * 2
    assert set(found["pass_ms"]["target"]) >= {"1", "4", "16", "32"}
    assert found["memory"]["buffers"]["KV"] > 0
    assert found["is_lossless"] is True
    assert "greedy texts: all 12 equal plain decoding's" in result.stdout
    assert "slower than plain on" in result.stdout
    assert "sampling from a row of 151,936 logits" in result.stdout


def test_bench_prints_json_and_nothing_else_on_stdout(gguf: str) -> None:
    result = run(
        "-t", gguf, "--quick", "--drafters", "none", "-n", "2", "--temp", "0", "--json", "-"
    )

    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["plan"]["drafters"] == ["none"]


def test_bench_leaves_out_prompts_that_do_not_fit(tmp_path: Path) -> None:
    short = str(tinygguf.write_llama(tmp_path / "short.gguf", n_ctx=256))

    result = run("-t", short, "--quick", "--drafters", "none", "-n", "2", "--temp", "0")

    assert result.exit_code == 0, result.stderr
    assert (
        "left out, too long for a context of 256: code-edit-short, summary-short" in result.stdout
    )
    assert "chat-short" in result.stdout


def test_bench_says_so_when_no_prompt_fits(tmp_path: Path) -> None:
    short = str(tinygguf.write_llama(tmp_path / "short.gguf", n_ctx=64))

    result = run("-t", short, "--quick")

    assert result.exit_code == 7
    assert "the context holds 64" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--drafters", "sufix"), "there is no drafter 'sufix'"),
        (("--draft", "off", "--drafters", "model"), "the drafter 'model' needs a draft model"),
        (("--json", "missing/bench.json"), "missing is not a folder"),
        (("--threads", "100000"), "100000 is not in the range 1<=x<=512"),
    ],
)
def test_bench_refuses_what_cannot_be_measured(
    gguf: str, arguments: tuple[str, ...], sentence: str
) -> None:
    result = run("-t", gguf, "--quick", *arguments)

    assert result.exit_code == 2
    assert sentence in result.stderr
