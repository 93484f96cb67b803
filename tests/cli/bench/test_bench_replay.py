"""`edgespec bench --record` and `--replay`, on a tiny model."""

from pathlib import Path

import pytest

from edgespec.replay.trace import read
from tests import tinygguf
from tests.cli.bench_command import run


def test_recording_of_all_drafters_is_replayed_without_a_model(gguf: str, tmp_path: Path) -> None:
    file = tmp_path / "kept.json.gz"

    recorded = run(
        "-t", gguf, "--draft", gguf, "--suite", "chat,short", "-n", "12", "--temp", "0",
        "--temp", "0.7", "--record", str(file),
    )  # fmt: skip
    replayed = run("--replay", str(file), "--replay", str(file))

    assert recorded.exit_code == 0, recorded.stderr
    assert replayed.exit_code == 0, replayed.stderr
    greedy, sampled = read(file).traces
    assert (greedy.temperature, sampled.temperature) == (0.0, 0.7)
    # Target and draft model are the same: every token is accepted, at any temperature.
    for trace in (greedy, sampled):
        assert trace.paid["model"].accepted == (True,) * trace.n_tokens
        assert len(trace.free["suffix"]) == len(trace.trees) == trace.n_tokens > 0
        assert trace.windows == {}
        assert len(trace.paid["model"].backing["suffix"].probs) == trace.n_tokens
    assert "auto reaches" in replayed.stdout
    assert "at temperature 0.7" in replayed.stdout
    assert "no window was run" in replayed.stdout
    assert "as many nodes as a chain or as a tree" in replayed.stdout
    assert "the controller itself takes" in replayed.stdout


def test_windows_are_run_beside_a_recording_where_lookahead_is_named(
    gguf: str, tmp_path: Path
) -> None:
    file = tmp_path / "kept.json.gz"

    recorded = run(
        "-t", gguf, "--draft", "off", "--suite", "chat,short", "-n", "6", "--temp", "0",
        "--drafters", "lookahead", "--record", str(file),
    )  # fmt: skip
    replayed = run("--replay", str(file))

    assert recorded.exit_code == 0, recorded.stderr
    (trace,) = read(file).traces
    assert set(trace.windows) == {7, 13, 29}
    assert all(len(right) == trace.n_tokens for right in trace.windows.values())
    assert "a window of 7 at every step: " in replayed.stdout


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (["--replay", "FILE", "--suite", "chat"], "--replay measures nothing, so --suite would"),
        (["--replay", "FILE", "-t", "a", "--peer", "all"], "so --target, --peer would be ignored"),
        (["--record", "new", "-t", "a", "--json", "-"], "--record measures nothing, so --json"),
        (["--record", "new", "-t", "a", "--minutes", "3"], "so --minutes would be ignored"),
        (["--record", "new", "-t", "a", "--replay", "FILE"], "--record would be ignored"),
        (["-t", "a", "--with-text"], "--with-text is for recordings"),
    ],
)
def test_flags_that_would_be_ignored_are_refused(
    tmp_path: Path, said: list[str], sentence: str
) -> None:
    file = tmp_path / "kept.json"
    file.write_text("{}", encoding="utf-8")

    result = run(*(str(file) if word == "FILE" else word for word in said))

    assert result.exit_code == 2
    assert sentence in result.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_recording_leaves_out_prompts_that_do_not_fit(tmp_path: Path) -> None:
    short = str(tinygguf.write_llama(tmp_path / "short.gguf", n_ctx=256))
    file = tmp_path / "kept.json"

    result = run(
        "-t", short, "--draft", "off", "--suite", "chat,summary,short", "-n", "2", "--temp", "0",
        "--record", str(file),
    )  # fmt: skip

    assert result.exit_code == 0, result.stderr
    assert "left out: summary-short: too long for the context" in result.stderr
    assert [trace.prompt for trace in read(file).traces] == ["chat-short"]
