"""Other engines: a server and a child that play a script, and all that can be wrong with them."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from time import sleep
from typing import Any

import psutil
import pytest

from edgespec.bench.engine import Ask, EngineFailed
from edgespec.bench.peers import find, llama_python
from edgespec.bench.peers.child import Child
from edgespec.bench.peers.find import PeerWish, parse
from edgespec.bench.peers.http import Server
from edgespec.bench.peers.llama_http import LlamaHttpEngine
from edgespec.bench.peers.llama_server import WAYS, arguments, binary
from edgespec.bench.peers.process import PeerProcess
from edgespec.bench.peers.types import Build, PeerInputs
from edgespec.core import Sampling
from edgespec.errors import UsageError
from tests.unit.bench_world import prompt
from tests.unit.played_server import Played, played_server

ASK = Ask(prompt("a"), Sampling(0.5, seed=9), 4)
SLEEPER = [sys.executable, "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def played() -> Iterator[Played]:
    with played_server() as found:
        yield found


@pytest.fixture
def process() -> Iterator[PeerProcess]:
    child = PeerProcess("peer", SLEEPER, is_piped=True)
    yield child
    child.close()


def eventually(is_so: Callable[[], bool]) -> bool:
    """Whether it becomes so: the system stops a process when it gets to it."""
    for _ in range(1000):
        if is_so():
            return True
        sleep(0.01)
    return False


def inputs(tmp_path: Path, *, has_draft: bool = False) -> PeerInputs:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    return PeerInputs(file, file if has_draft else None, 512, 2, 1, lambda p: [1, 2, 3])


def child(name: str, process: PeerProcess) -> Child:
    return Child(name, process, Build("1"), lambda p: [1, 2, 3])


def llama(played: Played, process: PeerProcess) -> LlamaHttpEngine:
    server = Server("llama-server:plain", played.url)
    return LlamaHttpEngine(child("llama-server:plain", process), server)


def told(*tokens: int, n: int | None = None) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"tokens": [token], "stop": False} for token in tokens]
    timings = {"predicted_n": n or len(tokens), "draft_n": 6, "draft_n_accepted": 3, "prompt_n": 1}
    return [*events, {"tokens": [], "stop": True, "timings": timings}]


def test_llama_server_gets_our_tokens_and_our_sampling(
    played: Played, process: PeerProcess
) -> None:
    played.events = told(7, 8, 9, 10)

    llama(played, process).answer("llama-server:plain", ASK)

    asked = played.body
    assert asked["prompt"] == [1, 2, 3]
    assert (asked["temperature"], asked["seed"], asked["n_predict"]) == (0.5, 9, 4)
    assert asked["samplers"] == ["temperature"]
    assert asked["cache_prompt"] is True


def test_llama_servers_answer_is_its_tokens_and_counts(
    played: Played, process: PeerProcess
) -> None:
    played.events = told(7, 8, 9, 10)

    run = llama(played, process).answer("llama-server:plain", ASK)

    assert run.tokens == (7, 8, 9, 10)
    assert [n for _, n in run.arrivals] == [1, 1, 1, 1]
    assert run.stats is not None
    assert (run.stats.drafted, run.stats.acceptance_rate, run.stats.passes) == (6, 0.5, 1)


def test_tokens_that_the_server_swallowed_are_not_compared(
    played: Played, process: PeerProcess
) -> None:
    played.events = told(7, 8, n=4)

    run = llama(played, process).answer("llama-server:plain", ASK)

    assert (run.tokens, run.n_tokens) == ((), 4)


def test_answer_of_nothing_is_a_failure(played: Played, process: PeerProcess) -> None:
    played.events = told()

    with pytest.raises(EngineFailed, match="with nothing"):
        llama(played, process).answer("llama-server:plain", ASK)


def test_prompt_is_read_with_nothing_cached(played: Played, process: PeerProcess) -> None:
    played.events = told(7)

    reading = llama(played, process).read(ASK.prompt)

    assert reading.n_tokens == 3
    assert (played.body["cache_prompt"], played.body["n_predict"]) == (False, 1)


def test_servers_refusal_is_told_with_its_words(played: Played, process: PeerProcess) -> None:
    played.status = 503

    with pytest.raises(EngineFailed, match="answered with status 503"):
        llama(played, process).answer("llama-server:plain", ASK)


def test_resting_peer_is_stopped_and_goes_on_when_woken(process: PeerProcess) -> None:
    seen = psutil.Process(process.child.pid)

    process.sleep()
    is_stopped = eventually(lambda: seen.status() == psutil.STATUS_STOPPED)
    process.wake()

    assert is_stopped
    assert eventually(lambda: seen.status() != psutil.STATUS_STOPPED)


def test_stopped_peer_can_be_ended(process: PeerProcess) -> None:
    process.sleep()

    process.close()
    process.close()

    assert process.child.poll() is not None
    assert process.peak_bytes


STARTS_A_PEER = """
import sys, time
from edgespec.bench.peers.process import PeerProcess
peer = PeerProcess("peer", [sys.executable, "-c", "import time; time.sleep(600)"])
peer.sleep()
print(peer.child.pid, flush=True)
time.sleep(600)
"""


def test_sleeping_peer_ends_when_its_benchmark_is_killed() -> None:
    command = [sys.executable, "-c", STARTS_A_PEER]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as bench:
        assert bench.stdout is not None
        peer = psutil.Process(int(bench.stdout.readline()))

        bench.kill()

    assert eventually(lambda: not peer.is_running() or peer.status() == psutil.STATUS_ZOMBIE)


def test_peer_that_ended_well_has_no_warden_left() -> None:
    before = set(psutil.Process().children())
    child = PeerProcess("peer", SLEEPER, is_piped=True)

    child.close()

    assert set(psutil.Process().children()) <= before


def test_peer_that_died_is_told_with_its_last_words() -> None:
    code = "import sys; print('loading'); sys.exit('error: no such tensor')"
    child = PeerProcess("peer", [sys.executable, "-c", code])
    child.child.wait()

    with pytest.raises(EngineFailed, match="exit code 1: error: no such tensor"):
        child.wait_for(lambda: False, timeout_s=5)
    child.close()


def test_peer_that_was_killed_names_the_signal() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
    child = PeerProcess("peer", [sys.executable, "-c", code])
    child.child.wait()

    with pytest.raises(EngineFailed, match="was ended by SIGILL"):
        child.check()
    child.close()


def test_program_that_cannot_be_started_is_told() -> None:
    with pytest.raises(EngineFailed, match="could not be started"):
        PeerProcess("peer", ["/nowhere/program"])


CHILD = """
import json, sys
print(json.dumps({"version": "1", "system": "CPU : AVX2 = 1 | FMA = 0 | "}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    for token in range(asked["max_tokens"]):
        print(json.dumps({"tokens": [token]}), flush=True)
    print(json.dumps({"tokens": [99], "done": 5}), flush=True)
"""


def test_child_answers_line_by_line() -> None:
    process = PeerProcess("peer", [sys.executable, "-c", CHILD], is_piped=True)
    llama_python.heard(process)
    engine = llama_python.LlamaPythonEngine(child("peer", process))

    run = engine.answer("peer", ASK)
    reading = engine.read(ASK.prompt)
    engine.close()

    # The last ends the answer and has no text; beyond --max-tokens nothing is compared.
    assert (run.tokens, run.n_tokens) == ((0, 1, 2, 3), 5)
    assert reading.n_tokens == 3


def test_child_that_dies_is_a_failed_engine() -> None:
    child = PeerProcess("peer", [sys.executable, "-c", "raise SystemExit(3)"], is_piped=True)

    with pytest.raises(EngineFailed, match="exit code 3"):
        llama_python.heard(child)
    child.close()


def test_child_that_never_answers_is_ended_and_told() -> None:
    code = "import sys; print('{}', flush=True); sys.stdin.readline(); sys.stdin.read()"
    process = PeerProcess("peer", [sys.executable, "-c", code], is_piped=True)
    llama_python.heard(process)
    engine = llama_python.LlamaPythonEngine(child("peer", process), answer_s=0.2)

    with pytest.raises(EngineFailed, match=r"said nothing more for 0\.2 s and was ended"):
        engine.answer("peer", ASK)
    engine.close()


def test_programs_of_the_children_come_along() -> None:
    for name in ("serve_llama_cpp_python", "serve_xllamacpp"):
        compile(Path(llama_python.program(name)).read_text(encoding="utf-8"), name, "exec")


def test_peers_that_are_not_here_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    wishes = [PeerWish("llama-server"), PeerWish("xllamacpp", where="/nowhere/python")]

    found = find.find(wishes, inputs(tmp_path))

    assert found.peers == ()
    assert "there is no llama-server on PATH (--llama-server PATH" in found.missing["llama-server"]
    assert "/nowhere/python cannot be run" in found.missing["xllamacpp:plain"]


def test_package_that_is_not_installed_is_named_with_the_command() -> None:
    with pytest.raises(EngineFailed, match="the package a-peer is not installed") as missing:
        find.require_package(sys.executable, "a-peer", "no_such_module")

    assert "pip install a-peer here or anywhere, then --peer a-peer=PYTHON" in missing.value.hint


def test_draft_ways_need_a_draft_model(tmp_path: Path) -> None:
    wish = [PeerWish("llama-server", way="draft", where="/nowhere/llama-server")]

    without = find.find(wish, inputs(tmp_path))
    with_draft = find.find(wish, inputs(tmp_path, has_draft=True))

    assert without.missing == {"llama-server:draft": "there is no draft model"}
    assert "is not a program" in with_draft.missing["llama-server"]


def test_peer_that_would_not_fit_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Memory:
        available = 2**20

    monkeypatch.setattr(psutil, "virtual_memory", Memory)

    found = find.find([PeerWish("llama-server", way="plain")], inputs(tmp_path))

    assert "512 MiB of memory, and 1 MiB are free" in found.missing["llama-server:plain"]


def test_wishes_name_a_peer_its_way_and_its_place() -> None:
    assert parse("llama-server:ngram-mod=/bin/ls") == (
        PeerWish("llama-server", "ngram-mod", "/bin/ls"),
    )
    assert {wish.name for wish in parse("all")} == set(find.NAMES)


@pytest.mark.parametrize("name", ["lmstudio", "mlx-lm"])
def test_served_peers_draft_needs_no_draft_model_of_ours(tmp_path: Path, name: str) -> None:
    found = find.find([PeerWish(name, "draft", "a-model,a-draft")], inputs(tmp_path))

    assert "there is no draft model" not in str(found.missing)


def test_peer_from_two_places_at_once_is_refused() -> None:
    wishes = [PeerWish("xllamacpp", "plain", "/a/python"), PeerWish("xllamacpp", where="/b/python")]

    with pytest.raises(UsageError, match="xllamacpp:plain is named more than once"):
        find.check_once(wishes)


@pytest.mark.parametrize("wished", ["vllm", "llama-server:magic", "ollama:draft"])
def test_wish_for_what_does_not_exist_is_refused(wished: str) -> None:
    with pytest.raises(UsageError):
        parse(wished)


def test_llama_server_has_plain_default_draft_and_every_ngram_kind() -> None:
    kinds = ("simple", "map-k", "map-k4v", "mod", "cache")

    assert set(WAYS) == {"plain", "default", "draft", *(f"ngram-{kind}" for kind in kinds)}


@pytest.mark.parametrize("way", WAYS)
def test_llama_server_gets_our_threads_file_and_context(tmp_path: Path, way: str) -> None:
    # Public fault: as many threads as logical cores, twice, for target and draft model.
    said = arguments(way, inputs(tmp_path, has_draft=True), 9000)

    given = dict(pairwise(said))
    assert {v for k, v in given.items() if "threads" in k} == {"2"}
    assert given["--ctx-size"] == "512"
    assert given["--model"] == str(tmp_path / "model.gguf")
    assert ("--spec-draft-model" in given) == (way == "draft")


def test_binary_is_found_by_its_path(tmp_path: Path) -> None:
    program = tmp_path / "llama-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    assert binary(str(program)) == program
