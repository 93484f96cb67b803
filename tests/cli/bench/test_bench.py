"""`edgespec bench` from the command line to its table, on a tiny model."""

import json
import os
import signal
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import edgespec
from edgespec import paths
from edgespec.api.experience import Experience
from edgespec.api.experience import read as read_experience
from edgespec.api.types import Options
from edgespec.bench import main as bench_main
from edgespec.bench.engine import Ask, Run
from edgespec.bench.ours import OurEngine
from edgespec.bench.result import load
from edgespec.bench.rig import Rig
from edgespec.cli.main import cli
from edgespec.index.folders import index_dir, names
from tests import tinygguf
from tests.cli.bench_command import run


@pytest.fixture(scope="module")
def measured(gguf: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """One benchmark of everything, small."""
    file = tmp_path_factory.mktemp("result") / "bench.json"
    result = run(
        "-t", gguf, "--draft", gguf, "--suite", "chat,json,short", "-n", "6", "--streams", "1,2",
        "--minutes", "0", "--json", str(file),
    )  # fmt: skip
    return result, file


def test_bench_measures_all_drafters_and_writes_json(measured: tuple[Result, Path]) -> None:
    result, file = measured

    found = json.loads(file.read_text(encoding="utf-8"))
    assert result.exit_code == 0, result.stderr
    arms = {"none", "model", "suffix", "suffix+model", "auto"}
    assert {s["arm"] for s in found["scores"]} >= arms
    assert {s["temperature"] for s in found["scores"]} == {0.0, 0.7}
    assert {s["prompt"] for s in found["scores"]} == {"chat-short", "json-short"}
    assert {s["n_tokens"] for s in found["scores"]} == {6}
    assert {len(cell["turns"]) for cell in found["cells"]} == {2}
    assert set(found["pass_costs"]["rows"]) >= {1, 4, 16, 32}
    assert found["memory"]["buffers"]["KV"] > 0
    assert found["is_lossless"] is True
    assert {s["n_streams"] for s in found["streams"]} == {1, 2}


def test_bench_prints_the_report(measured: tuple[Result, Path]) -> None:
    shown = measured[0].stdout

    greedy = [s for s in load(measured[1]).scores if s.temperature == 0 and s.arm != "none"]
    assert f"greedy texts: all {len(greedy)} equal plain decoding's" in shown
    assert "where the time went" in shown
    assert "several readers at once" in shown
    assert "sampling from a row of 151,936 logits" in shown


def test_bench_tells_after_how_many_turns_a_figure_is_what_it_is(
    measured: tuple[Result, Path],
) -> None:
    told = [line for line in measured[0].stderr.splitlines() if line.startswith("chat-short at")]

    suffix = [line for line in told if "temperature 0: suffix " in line]
    assert [line.endswith("x plain (2 turns)") for line in suffix] == [False, True]


def test_bench_counts_every_token_and_every_pass(measured: tuple[Result, Path]) -> None:
    # Public fault: acceptance over the wrong number. Each pass gives one token of the target's own.
    runs = [r for cell in load(measured[1]).cells for turn in cell.turns for r in turn]

    for found in runs:
        stats = found.stats
        assert stats is not None
        assert 0 <= stats.accepted <= stats.drafted
        assert stats.accepted + stats.passes == stats.generated_tokens == found.n_tokens
        assert sum(n for _, n in found.arrivals) == found.n_tokens


def test_acceptance_is_all_for_the_same_model_and_next_to_nothing_for_a_stranger(
    gguf: str, tmp_path: Path
) -> None:
    # Public fault: acceptance shown as 100 % whatever the draft.
    stranger = str(tinygguf.write_llama(tmp_path / "stranger.gguf", seed=9, n_ctx=2048))
    rates = []
    for draft in (gguf, stranger):
        file = tmp_path / "bench.json"
        run(
            "-t", gguf, "--draft", draft, "--drafters", "model:3", "--suite", "chat,short",
            "-n", "48", "--temp", "0", "--minutes", "0", "--json", str(file),
        )  # fmt: skip
        (rate,) = (score.acceptance for score in load(file).scores if score.arm == "model:3")
        assert rate is not None
        rates.append(rate)

    same, other = rates
    assert same > 0.95  # a near-tie may go either way
    assert other < 0.05


def test_show_gives_the_same_report_from_the_file(measured: tuple[Result, Path]) -> None:
    again = run("show", str(measured[1]))

    assert again.exit_code == 0, again.stderr
    assert again.stdout == measured[0].stdout


def test_show_gives_the_readmes_table(measured: tuple[Result, Path]) -> None:
    shown = run("show", str(measured[1]), "--readme").stdout

    assert "| arm | chat | json | all | 95 % |" in shown
    assert "| suffix |" in shown


def test_show_and_compare_take_their_own_logging_flags(measured: tuple[Result, Path]) -> None:
    # What an unexpected error advises: the same command with --debug.
    file = str(measured[1])

    ended = [run("show", file, "--debug"), run("compare", file, file, "--debug")]

    assert [result.exit_code for result in ended] == [0, 0]


def test_flags_before_a_subcommand_are_refused_as_it_would_ignore_them(
    measured: tuple[Result, Path],
) -> None:
    result = run("--quick", "--temp", "0", "show", str(measured[1]))

    assert result.exit_code == 2
    assert "show measures nothing, so --quick, --temp would be ignored" in result.stderr


def test_show_refuses_files_beside_the_readmes_table(measured: tuple[Result, Path]) -> None:
    result = run("show", str(measured[1]), "--readme", "--markdown", "report.md")

    assert result.exit_code == 2
    assert "--readme prints a table and writes nothing" in result.stderr


def test_show_says_in_a_sentence_that_a_file_cannot_be_written(
    measured: tuple[Result, Path], tmp_path: Path
) -> None:
    result = run("show", str(measured[1]), "--markdown", str(tmp_path / "missing" / "report.md"))

    assert result.exit_code == 1
    assert "report.md cannot be written: No such file or directory\nhint: " in result.stderr


def test_show_writes_markdown_with_plots(measured: tuple[Result, Path], tmp_path: Path) -> None:
    document, plots = tmp_path / "report.md", tmp_path / "plots"

    result = run("show", str(measured[1]), "--markdown", str(document), "--plots", str(plots))

    assert result.exit_code == 0, result.stderr
    names = {file.name for file in plots.iterdir()}
    assert {f"{n}.{e}" for n in ("speedup", "curve", "time") for e in ("svg", "png")} <= names
    assert "](plots/speedup.svg)" in document.read_text(encoding="utf-8")


def test_compare_finds_nothing_between_a_result_and_itself(
    measured: tuple[Result, Path],
) -> None:
    file = str(measured[1])

    result = run("compare", file, file)

    assert result.exit_code == 0, result.stderr
    assert "+0.0%" in result.stdout
    assert "no turn was repeated often enough to tell what is noise" in result.stdout
    assert "no greedy text changed" in result.stdout


def test_bench_prints_json_and_nothing_else_on_stdout(gguf: str) -> None:
    result = run(
        "-t", gguf, "--quick", "--suite", "chat,short", "--drafters", "none", "-n", "2",
        "--json", "-",
    )  # fmt: skip

    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["asked"]["arms"] == ["none"]


def test_bench_measures_a_users_own_prompts(gguf: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text('{"prompt": "Hello", "max_tokens": 3}\n{"prompt": "Bye"}', encoding="utf-8")

    result = run("-t", gguf, "--prompts", str(mine), "--drafters", "none", "-n", "2", "--quick")

    assert result.exit_code == 0, result.stderr
    assert "mine-1" in result.stdout
    assert "mine-2" in result.stdout


def test_bench_drafts_from_an_index_of_the_suites_files(
    gguf: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, aside = tmp_path / "result.json", tmp_path / "aside"
    aside.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(aside))

    result = run(
        "-t", gguf, "--suite", "index-edit,short", "--drafters", "index,auto", "-n", "3",
        "--temp", "0", "--json", str(file),
    )  # fmt: skip

    assert result.exit_code == 0, result.stderr
    assert {score.arm for score in load(file).scores} == {"none", "index", "auto"}
    assert names() == ()
    assert list(aside.iterdir()) == []


def test_bench_never_reads_the_users_own_index(gguf: str, tmp_path: Path) -> None:
    own = tmp_path / "letter.txt"
    own.write_text("Dear Ana, thank you for your letter.", encoding="utf-8")
    CliRunner().invoke(cli, ["index", "add", str(own)])
    kept = {f: f.read_bytes() for f in index_dir().rglob("*") if f.is_file()}

    result = run("-t", gguf, "--suite", "chat,short", "--drafters", "index", "-n", "2")

    assert result.exit_code == 2
    assert "cannot be built" in result.stderr
    assert "--suite index-edit" in result.stderr
    assert {f: f.read_bytes() for f in index_dir().rglob("*") if f.is_file()} == kept != {}


def test_bench_neither_uses_nor_changes_what_the_users_answers_taught(gguf: str) -> None:
    with edgespec.load(gguf, n_threads=1) as model:
        model.complete("ha ha ha ha ha ha", Options(max_tokens=24))
    (kept,) = (paths.state_dir() / "drafting").glob("*.json")
    before = kept.read_bytes()

    result = run("-t", gguf, "--suite", "chat,short", "--drafters", "suffix,auto", "-n", "8")
    rig = Rig.load(gguf, None, 1, lambda phase, share: None)
    begins_with = rig.model._engine.drafting._earlier
    rig.close()

    assert result.exit_code == 0, result.stderr
    assert kept.read_bytes() == before
    assert begins_with == Experience() != read_experience(kept)


def test_one_wrong_token_of_our_own_is_found_and_fails_the_benchmark(
    gguf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wrong(OurEngine):
        def answer(self, arm: str, ask: Ask) -> Run:
            run = super().answer(arm, ask)
            if arm != "suffix":
                return run
            tokens = (*run.tokens[:5], run.tokens[5] ^ 1, *run.tokens[6:])
            return replace(run, tokens=tokens)

    monkeypatch.setattr(bench_main, "OurEngine", Wrong)

    result = run(
        "-t", gguf, "--suite", "chat,short", "--drafters", "suffix,auto", "-n", "8", "--temp", "0"
    )

    assert result.exit_code == 1
    assert "chat-short, suffix: greedy text differs from token 6: " in result.stdout
    assert "NOT LOSSLESS" in result.stdout
    assert "chat-short, auto" not in result.stdout


def test_ctrl_c_ends_the_benchmark_with_what_it_measured(
    gguf: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(OurEngine):
        def answer(self, arm: str, ask: Ask) -> Run:
            if ask.prompt.name == "chat-short":
                os.kill(os.getpid(), signal.SIGINT)
                for thread in threading.enumerate():
                    if thread.name == "edgespec-stop":
                        thread.join()
            return super().answer(arm, ask)

    monkeypatch.setattr(bench_main, "OurEngine", Stopped)
    file = tmp_path / "result.json"

    result = run(
        "-t", gguf, "--suite", "chat,json,short", "--drafters", "none", "-n", "4", "--temp", "0",
        "--seed", "0", "--json", str(file),
    )  # fmt: skip

    assert result.exit_code != 0
    assert [cell.prompt for cell in load(file).cells] == ["json-short"]
    assert "what was not reached: stopped on request" in result.stdout


def test_bench_measures_prompts_in_other_languages(gguf: str) -> None:
    result = run(
        "-t", gguf, "--quick", "--suite", "chat,short", "--lang", "es", "--lang", "zh",
        "--drafters", "none", "-n", "2",
    )  # fmt: skip

    assert "chat-short-es" in result.stdout
    assert "chat-short-zh" in result.stdout


def test_bench_leaves_out_prompts_that_do_not_fit(tmp_path: Path) -> None:
    short = str(tinygguf.write_llama(tmp_path / "short.gguf", n_ctx=256))

    result = run(
        "-t", short, "--quick", "--suite", "chat,summary,short", "--drafters", "none", "-n", "2"
    )

    assert result.exit_code == 0, result.stderr
    assert "left out: summary-short: too long for the context" in result.stdout
    assert "chat-short" in result.stdout


def test_bench_says_so_when_no_prompt_fits(tmp_path: Path) -> None:
    short = str(tinygguf.write_llama(tmp_path / "short.gguf", n_ctx=64))

    result = run("-t", short, "--quick")

    assert result.exit_code == 7
    assert "the context holds 64" in result.stderr


def test_llama_cpp_python_takes_part_and_says_the_same(gguf: str, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"

    result = run(
        "-t", gguf, "--quick", "--suite", "chat,short", "--drafters", "none", "-n", "6",
        "--peer", "llama-cpp-python", "--json", str(file),
    )  # fmt: skip

    assert result.exit_code == 0, result.stderr
    found = load(file)
    peers = {s.arm: s for s in found.scores if s.arm != "none"}
    assert set(peers) == {"llama-cpp-python:plain", "llama-cpp-python:lookup"}, found.left_out
    assert all(s.differs_at is None and s.is_comparable for s in peers.values())
    assert {note.build.n_threads for note in found.arms} == {found.asked.n_threads}


def test_lookup_of_llama_cpp_python_answers_long_prompts_too(tmp_path: Path) -> None:
    """As it comes, it fails behind 512 tokens."""
    wide = str(tinygguf.write_llama(tmp_path / "wide.gguf", n_ctx=4096))
    file = tmp_path / "bench.json"

    result = run(
        "-t", wide, "--quick", "--suite", "summary,long", "--drafters", "none", "-n", "2",
        "--peer", "llama-cpp-python:lookup", "--json", str(file),
    )  # fmt: skip

    assert result.exit_code == 0, result.stderr
    found = load(file)
    assert found.cells[0].prompt_tokens > 512
    assert found.left_out == {}
    assert "llama-cpp-python:lookup" in {score.arm for score in found.scores}


def test_peer_that_is_not_here_is_explained(gguf: str) -> None:
    result = run(
        "-t", gguf, "--quick", "--suite", "chat,short", "--drafters", "none", "-n", "2",
        "--peer", "llama-server=/nowhere/llama-server", "--peer", "ollama",
    )  # fmt: skip

    assert result.exit_code == 0, result.stderr
    assert "left out: llama-server: /nowhere/llama-server is not a program" in result.stdout
    assert "left out: ollama: " in result.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--drafters", "sufix"), "there is no drafter 'sufix'"),
        (("--draft", "off", "--drafters", "model"), "the drafter 'model' needs a draft model"),
        (("--drafters", "none:3"), "plain decoding drafts nothing, so 'none:3' has no meaning"),
        (("--json", "missing/bench.json"), "missing is not a folder"),
        (("--json", ""), ". is a folder"),
        (("--markdown", "missing/report.md"), "missing is not a folder"),
        (("--plots", f"{__file__}/plots"), "test_bench.py is not a folder"),
        (("--record", "r.json", "--drafters", "suffix"), "so --drafters suffix has no use in it"),
        (("--minutes", "nan"), "'--minutes': nan is not a number from 0 on"),
        (("--temp", "inf"), "'--temp': inf is not a number from 0 on"),
        (("--temp", "-1"), "'--temp': -1 is not a number from 0 on"),
        (("--rounds", "0"), "'--rounds': 0 is not from 1 to 1,000"),
        (("--threads", "100000"), "100000 is not from 1 to 512"),
        (("--suite", "poetry"), "there is no suite 'poetry'"),
        (("--streams", "1,two"), "--streams 1,two are no numbers"),
        (("--streams", "0"), "--streams 0 are not all from 1 to 64"),
        (("--peer", "vllm"), "there is no peer 'vllm'"),
        (("--peer", "llama-server:magic"), "llama-server has no way 'magic'"),
    ],
)
def test_bench_refuses_what_cannot_be_measured(
    gguf: str, arguments: tuple[str, ...], sentence: str
) -> None:
    result = run("-t", gguf, "--quick", *arguments)

    assert result.exit_code == 2
    assert sentence in result.stderr


def test_bench_without_a_model_says_what_is_missing() -> None:
    result = run("--quick")

    assert result.exit_code == 2
    assert "which model is to be measured" in result.stderr
