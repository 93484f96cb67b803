"""Running servers that speak OpenAI's chat API: mlx-lm's and LM Studio's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from edgespec.bench.energy import Energy, unmeasured
from edgespec.bench.engine import Ask, EngineFailed
from edgespec.bench.peers.http import Server
from edgespec.bench.peers.served import (
    AS_SERVED,
    WITH_DRAFT,
    Piece,
    ServedEngine,
    model_among,
)
from edgespec.bench.peers.types import Build

WAYS = (AS_SERVED, WITH_DRAFT)


@dataclass(frozen=True, slots=True)
class Kind:
    """One such program."""

    name: str
    url: str
    """Where it listens unless told otherwise."""
    start: str
    """What has it run."""
    note: str
    """What of it cannot be made the same."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What it must be told beside the usual, to sample as edgespec does."""


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "lmstudio",
            "http://127.0.0.1:1234",
            "lms server start",
            "its own template, context, threads, top-k and min-p",
            {"repeat_penalty": 1.0},
        ),
        Kind(
            "mlx-lm",
            "http://127.0.0.1:8080",
            "mlx_lm.server --model MODEL",
            "its own model format and template",
            {"top_k": 0, "min_p": 0.0, "repetition_penalty": 0.0},
        ),
    )
}
"""Sources: LM Studio's docs (openai-compat/chat-completions, api-changelog 0.3.10 and 0.3.18);
ml-explore/mlx-lm, mlx_lm/SERVER.md and server.py."""


class OpenAiChat:
    """A model of such a server, maybe with a draft model."""

    def __init__(self, kind: Kind, server: Server, model: str, draft: str | None = None) -> None:
        self._server = server
        self._asked: dict[str, Any] = {"model": model, **kind.asked}
        if draft:
            self._asked["draft_model"] = draft

    def pieces(self, ask: Ask) -> Iterator[Piece]:
        """Ask, and hear the answer. Raises: `EngineFailed`."""
        for event in self._server.events("/v1/chat/completions", self._body(ask)):
            choices = event.get("choices") or [{}]
            delta = choices[0].get("delta") or {}
            said = delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning")
            stats = event.get("stats") or {}
            yield Piece(
                has_text=bool(said),
                n_tokens=(event.get("usage") or {}).get("completion_tokens"),
                n_drafted=stats.get("total_draft_tokens_count"),
                n_accepted=stats.get("accepted_draft_tokens_count") or 0,
            )

    def _body(self, ask: Ask) -> dict[str, Any]:
        return {
            **self._asked,
            "messages": list(ask.prompt.messages),
            "max_tokens": ask.max_tokens,
            "temperature": ask.sampling.temperature,
            "seed": ask.sampling.seed or 0,
            "top_p": 1.0,
            "stream_options": {"include_usage": True},
        }


def connect(kind: Kind, way: str, where: str | None, energy_j: Energy = unmeasured) -> ServedEngine:
    """The running server; `where`: MODEL, or MODEL,DRAFT. Raises: `EngineFailed` saying how to have
    one."""
    server = Server(kind.name, kind.url)
    if not server.is_there("/v1/models"):
        hint = f"{kind.start}, then --peer {kind.name}=MODEL"
        raise EngineFailed(f"nothing answers at {kind.url}", hint=hint)
    served = [entry["id"] for entry in server.get("/v1/models").get("data") or []]
    said, _, draft = (where or "").partition(",")
    model = model_among(kind.name, said or None, served)
    if way == AS_SERVED:
        draft = ""
    elif not draft:
        raise EngineFailed(f"no draft model is named (--peer {kind.name}=MODEL,DRAFT)")
    note = f"{kind.note}; not put to sleep" + (f"; drafts from {draft}" if draft else "")
    chat = OpenAiChat(kind, server, model, draft or None)
    return ServedEngine(kind.name, way, chat.pieces, Build(model, note=note), energy_j)
