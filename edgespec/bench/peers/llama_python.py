"""llama-cpp-python's high-level class, with and without its prompt lookup, in a child process."""

import json
from collections.abc import Iterator
from importlib.resources import files
from time import perf_counter
from typing import Any

from edgespec.bench.energy import spent_j
from edgespec.bench.engine import Ask, EngineFailed, Reading, Run
from edgespec.bench.peers.child import Child, ChildEngine
from edgespec.bench.peers.process import PeerProcess
from edgespec.bench.peers.types import Build, PeerInputs
from edgespec.bench.suite import BenchPrompt
from edgespec.core import Sampling
from edgespec.hardware.cpu import features_of

NAME = "llama-cpp-python"
WAYS = ("plain", "lookup")
LOAD_S = 300.0
"""Longest that a child may take to say its first line."""
_ANSWER_S = 600.0


def program(name: str) -> str:
    """The path of a peer's own program."""
    return str(files("edgespec.bench.peers") / "programs" / f"{name}.py")


class LlamaPythonEngine(ChildEngine):
    """Implements `types.Peer`. One arm, named as the engine; its child has said its first line."""

    def __init__(self, child: Child, *, answer_s: float = _ANSWER_S) -> None:
        """Take ownership of the child's process; it is ended if an answer takes longer than
        `answer_s`."""
        super().__init__(child)
        self._answer_s = answer_s

    def read(self, prompt: BenchPrompt) -> Reading:
        """Read the prompt with an empty cache."""
        run = self._run(Ask(prompt, Sampling(), 1), is_cold=True)
        return Reading(len(self._tokens_of(prompt)), run.wall_s)

    def answer(self, arm: str, ask: Ask) -> Run:
        """Answer once."""
        return self._run(ask, is_cold=False)

    def _run(self, ask: Ask, *, is_cold: bool) -> Run:
        request = {
            "tokens": self._tokens_of(ask.prompt),
            "max_tokens": ask.max_tokens,
            "temperature": ask.sampling.temperature,
            "seed": ask.sampling.seed or 0,
            "forget": is_cold,
        }
        tokens: list[int] = []
        arrivals: list[tuple[float, int]] = []
        with self._process.within(self._answer_s):
            energy_j, began_s = self._energy_j(), perf_counter()
            for event in self._events(request):
                if told := event.get("tokens"):
                    tokens += told
                    arrivals.append((perf_counter() - began_s, len(told)))
            wall_s, after_j = perf_counter() - began_s, self._energy_j()
        used_j = spent_j(energy_j, after_j)
        # It goes on past the end until its last character is whole.
        said = tuple(tokens[: ask.max_tokens])
        return Run(self.name, said, len(tokens), wall_s, tuple(arrivals), energy_j=used_j)

    def _events(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        send(self._process, request)
        while True:
            event = heard(self._process)
            yield event
            if "done" in event:
                return


def start(python: str, way: str, inputs: PeerInputs) -> LlamaPythonEngine:
    """A child that is ready. Raises: `EngineFailed`."""
    name = f"{NAME}:{way}"
    asked = {
        "model": str(inputs.target),
        "n_ctx": inputs.n_ctx,
        "n_threads": inputs.n_threads,
        "lookup": way == "lookup",
    }
    process = PeerProcess(
        name, [python, program("serve_llama_cpp_python"), json.dumps(asked)], is_piped=True
    )
    try:
        with process.within(LOAD_S):
            told = heard(process)
    except BaseException:
        process.close()
        raise
    build = Build(told["version"], features_of(told["system"]), inputs.n_threads)
    return LlamaPythonEngine(Child.of(inputs, name, process, build))


def send(process: PeerProcess, request: dict[str, Any]) -> None:
    """Ask a piped child. Raises: `EngineFailed`."""
    assert process.child.stdin is not None, "the child has pipes"
    try:
        process.child.stdin.write(json.dumps(request).encode() + b"\n")
        process.child.stdin.flush()
    except OSError as error:
        raise EngineFailed(f"{process.name} broke off: {error}") from error


def heard(process: PeerProcess) -> dict[str, Any]:
    """The next line of a piped child. Raises: `EngineFailed` when there is none."""
    assert process.child.stdout is not None, "the child has pipes"
    line = process.child.stdout.readline()
    if not line:
        process.child.wait()
        process.check()
    told: dict[str, Any] = json.loads(line)
    return told
