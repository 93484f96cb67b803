"""Servers that are running already and speak OpenAI's chat API: mlx-lm, Ollama, LM Studio.

They have their own model files, templates and counts: what is not the same is told beside the
ratio.
"""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from edgespec.bench.energy import Energy, spent_j, unmeasured
from edgespec.bench.engine import Ask, EngineFailed, Reading, Run
from edgespec.bench.peers.http import Server
from edgespec.bench.peers.types import Build
from edgespec.bench.suite import BenchPrompt
from edgespec.core import Sampling

WAY = "served"


@dataclass(frozen=True, slots=True)
class Kind:
    """One such program."""

    name: str
    url: str
    """Where it listens unless told otherwise."""
    hint: str
    """How to have it run."""


KINDS = {
    kind.name: kind
    for kind in (
        Kind("ollama", "http://127.0.0.1:11434", "ollama serve, then --peer ollama=MODEL"),
        Kind("lmstudio", "http://127.0.0.1:1234", "lms server start, then --peer lmstudio=MODEL"),
        Kind(
            "mlx-lm",
            "http://127.0.0.1:8080",
            "mlx_lm.server --model MODEL, then --peer mlx-lm=MODEL",
        ),
    )
}


class OpenAiEngine:
    """Implements `types.Peer`: a server that is not ours to stop."""

    plain: str | None = None
    peak_bytes: int | None = None
    remembers = False
    is_batching = True

    def __init__(
        self,
        kind: Kind,
        server: Server,
        model: str,
        energy_j: Energy = unmeasured,
    ) -> None:
        self.name = f"{kind.name}:{WAY}"
        self.arms: tuple[str, ...] = (self.name,)
        self.build = Build(
            model, note="its own model file, chat template and threads; not put to sleep"
        )
        self._server = server
        self._model = model
        self._energy_j = energy_j

    def wake(self) -> None:
        """It is always ready."""

    def rest(self) -> None:
        """Nothing is asked of it; whether it then uses the processor is its own affair."""

    def close(self) -> None:
        """It was running before, and goes on."""

    def read(self, prompt: BenchPrompt) -> Reading:
        """Ask for one token; cold unless the server has seen the prompt before."""
        return Reading(0, self._run(Ask(prompt, Sampling(), 1), perf_counter()).wall_s)

    def answer(self, arm: str, ask: Ask) -> Run:
        """Answer once."""
        return self._run(ask, perf_counter())

    def one_of_many(self, arm: str, ask: Ask, began_s: float) -> Run:
        """One of several answers at once; times count from `began_s`."""
        return self._run(ask, began_s)

    def _run(self, ask: Ask, began_s: float) -> Run:
        arrivals: list[tuple[float, int]] = []
        usage: dict[str, Any] = {}
        energy_j = self._energy_j()
        for event in self._server.stream("/v1/chat/completions", self._body(ask)):
            usage = event.get("usage") or usage
            choices = event.get("choices") or [{}]
            delta = choices[0].get("delta") or {}
            if delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning"):
                arrivals.append((perf_counter() - began_s, 1))
        wall_s, after_j = perf_counter() - began_s, self._energy_j()
        n_tokens = int(usage.get("completion_tokens") or len(arrivals))
        if not n_tokens:
            raise EngineFailed(f"{self.name} answered {ask.prompt.name} with nothing")
        used_j = spent_j(energy_j, after_j)
        return Run(self.name, (), n_tokens, wall_s, tuple(arrivals), energy_j=used_j)

    def _body(self, ask: Ask) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": list(ask.prompt.messages),
            "max_tokens": ask.max_tokens,
            "temperature": ask.sampling.temperature,
            "seed": ask.sampling.seed or 0,
            "top_p": 1.0,
            "stream_options": {"include_usage": True},
        }


def connect(kind: Kind, model: str | None, energy_j: Energy = unmeasured) -> OpenAiEngine:
    """The running server. Raises: `EngineFailed` saying how to have one."""
    server = Server(kind.name, kind.url)
    if not server.is_there("/v1/models"):
        raise EngineFailed(f"nothing answers at {kind.url}", hint=kind.hint)
    served = [entry["id"] for entry in server.get("/v1/models").get("data") or []]
    if model is None:
        # Any other model would say nothing about this one.
        raise EngineFailed(
            f"{kind.name} serves {', '.join(served) or 'no model'}; which of them is the same?",
            hint=f"--peer {kind.name}=MODEL",
        )
    if model not in served:
        raise EngineFailed(f"{kind.name} has no model {model!r}, but {', '.join(served)}")
    return OpenAiEngine(kind, server, model, energy_j)
