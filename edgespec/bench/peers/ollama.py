"""A running Ollama, over its own API: only there can context, threads and sampling be set.

What drafts it makes is its model's affair: a model with a draft uses it, as its users have it.
Source: ollama/ollama, docs/api.md, api/types.go and server/routes.go.
"""

from collections.abc import Iterator
from typing import Any

from edgespec.bench.engine import Ask, EngineFailed
from edgespec.bench.peers.http import Server
from edgespec.bench.peers.served import AS_SERVED, Piece, ServedEngine, model_among, own_model
from edgespec.bench.peers.types import Build, PeerInputs

NAME = "ollama"
WAYS = (AS_SERVED,)
URL = "http://127.0.0.1:11434"
_KEEP_ALIVE = "15m"
"""It would unload the model while long turns of others run, and read the weights again in ours."""


class OllamaChat:
    """A model of a running Ollama."""

    def __init__(self, server: Server, model: str, inputs: PeerInputs) -> None:
        self._server = server
        self._model = model
        self._n_ctx, self._n_threads = inputs.n_ctx, inputs.n_threads

    def pieces(self, ask: Ask) -> Iterator[Piece]:
        """Ask, and hear the answer. Raises: `EngineFailed`."""
        for event in self._server.lines("/api/chat", self._body(ask)):
            message = event.get("message") or {}
            yield Piece(
                has_text=bool(message.get("content") or message.get("thinking")),
                n_tokens=event.get("eval_count") if event.get("done") else None,
            )

    def _body(self, ask: Ask) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": list(ask.prompt.messages),
            "keep_alive": _KEEP_ALIVE,
            # A conversation that is too long is an error, not another, shorter one.
            "truncate": False,
            "shift": False,
            "options": {
                "num_ctx": self._n_ctx,
                "num_thread": self._n_threads,
                "num_predict": ask.max_tokens,
                "temperature": ask.sampling.temperature,
                "seed": ask.sampling.seed or 0,
                # As edgespec's: nothing cut off, nothing penalised, whatever the model's own file
                # says.
                "top_k": 0,
                "top_p": 1.0,
                "min_p": 0.0,
                "typical_p": 1.0,
                "repeat_penalty": 1.0,
                "presence_penalty": 0.0,
                "frequency_penalty": 0.0,
            },
        }


def connect(model: str | None, inputs: PeerInputs, url: str = URL) -> ServedEngine:
    """The running server. Raises: `EngineFailed` saying how to have one."""
    server = Server(NAME, url)
    version = str(server.reached("/api/version", "ollama serve").get("version", "unknown"))
    models = {entry["name"]: entry for entry in server.get("/api/tags").get("models") or []}
    found = model_among(NAME, model, list(models))
    if host := models[found].get("remote_host"):
        # It would measure another machine, and send it what is asked here.
        raise EngineFailed(f"{NAME} has {found} run at {host}, not on this machine")
    quant = (models[found].get("details") or {}).get("quantization_level", "")
    note = f"{own_model(found, quant, inputs)}; its own template; not put to sleep"
    build = Build(version, n_threads=inputs.n_threads, note=note, is_served=True)
    chat = OllamaChat(server, found, inputs)
    return ServedEngine(NAME, AS_SERVED, chat.pieces, build, inputs.energy_j)
