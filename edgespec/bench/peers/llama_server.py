"""llama-server: the binary on PATH, one process for every way it can decode."""

import shutil
import socket
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from edgespec.bench.engine import EngineFailed
from edgespec.bench.peers.child import Child
from edgespec.bench.peers.http import Server
from edgespec.bench.peers.llama_http import LlamaHttpEngine
from edgespec.bench.peers.process import PeerProcess
from edgespec.bench.peers.types import REMEMBERS, Build, PeerInputs
from edgespec.hardware.cpu import features_of

NAME = "llama-server"
_LOAD_S = 300.0
_TELL_S = 20.0


@dataclass(frozen=True, slots=True)
class _Way:
    flags: tuple[str, ...]
    needs_draft: bool = False
    remembers: bool = False
    """One pool of n-grams for all requests (common/speculative.cpp: begin() clears nothing)."""


REMEMBERING = ("ngram-mod", "ngram-cache")
WAYS = {
    "plain": _Way(("--spec-type", "none")),
    "default": _Way(("--spec-default",), remembers=True),
    "draft": _Way(("--spec-type", "draft-simple"), needs_draft=True),
    **{
        kind: _Way(("--spec-type", kind), remembers=kind in REMEMBERING)
        for kind in ("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache")
    },
}
"""Its kinds of drafts with its own defaults; "default" is what its --spec-default switches on."""


def binary(where: str | None) -> Path:
    """The program. Raises: `EngineFailed` saying how to name it."""
    found = shutil.which(where or NAME)
    if found is None:
        raise EngineFailed(
            f"{where} is not a program" if where else f"there is no {NAME} on PATH",
            hint="--llama-server PATH names it",
        )
    return Path(found)


def start(program: Path, way: str, inputs: PeerInputs) -> LlamaHttpEngine:
    """A server that is ready. Raises: `EngineFailed`."""
    name, port = f"{NAME}:{way}", free_port()
    remembers = WAYS[way].remembers
    process = PeerProcess(name, [str(program), *arguments(way, inputs, port)])
    server = Server(name, f"http://127.0.0.1:{port}")
    try:
        process.wait_for(lambda: server.is_there("/health"), _LOAD_S)
        version = str(server.get("/props").get("build_info", "unknown"))
        note = REMEMBERS if remembers else ""
        build = Build(version, _features(str(program)), inputs.n_threads, note)
    except BaseException:
        process.close()
        raise
    return LlamaHttpEngine(Child.of(inputs, name, process, build, remembers=remembers), server)


def arguments(way: str, inputs: PeerInputs, port: int) -> list[str]:
    """What the server is started with."""
    threads = str(inputs.n_threads)
    said = [
        *("--model", str(inputs.target), "--host", "127.0.0.1", "--port", str(port)),
        *("--ctx-size", str(inputs.n_ctx), "--threads", threads, "--threads-batch", threads),
        *("--parallel", str(inputs.n_slots), "--kv-unified", "--cache-ram", "0"),
        *("--flash-attn", "on", "--no-ui"),
        *WAYS[way].flags,
    ]
    if WAYS[way].needs_draft:
        said += ["--spec-draft-model", str(inputs.draft), "--spec-draft-threads", threads]
        said += ["--spec-draft-threads-batch", threads]
    return said


@cache
def _features(program: str) -> tuple[str, ...]:
    """What the binary was built with.

    It tells when it is talkative, before it looks for a model; a server that is measured is not
    made to talk.
    """
    command = [program, "--model", "no-such-file.gguf", "--log-verbosity", "5"]
    command += ["--host", "127.0.0.1", "--port", str(free_port())]
    try:
        ended = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_TELL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    told = (ended.stdout + ended.stderr).decode("utf-8", "replace")
    systems = [line for line in told.splitlines() if "system_info" in line]
    return features_of(systems[-1]) if systems else ()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
