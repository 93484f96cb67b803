"""Running servers that speak OpenAI's chat API: mlx-lm's and LM Studio's."""

from collections.abc import Iterator, Mapping
from json import JSONDecodeError
from typing import Any

from edgespec.bench.engine import Ask, EngineFailed
from edgespec.bench.peers.http import Server
from edgespec.bench.peers.openai_kinds import KINDS as KINDS
from edgespec.bench.peers.openai_kinds import Kind, named, target
from edgespec.bench.peers.served import AS_SERVED, WITH_DRAFT, Piece, ServedEngine, own_model
from edgespec.bench.peers.types import Build, PeerInputs

WAYS = (AS_SERVED, WITH_DRAFT)


class OpenAiChat:
    """A model of such a server, maybe with a draft model."""

    def __init__(self, kind: Kind, server: Server, model: str, draft: str | None = None) -> None:
        self._server, self._version = server, kind.version
        self._asked: dict[str, Any] = {"model": model, **kind.asked}
        if draft:
            self._asked["draft_model"] = draft

    def pieces(self, ask: Ask) -> Iterator[Piece]:
        """Ask, and hear the answer. Raises: `EngineFailed`."""
        is_whole = False
        for event in self._server.events("/v1/chat/completions", self._body(ask)):
            choice = (event.get("choices") or [{}])[0]
            is_whole |= bool(choice.get("finish_reason"))
            delta = choice.get("delta") or {}
            said = delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning")
            stats, usage = event.get("stats") or {}, event.get("usage") or {}
            yield Piece(
                has_text=bool(said),
                n_tokens=usage.get("completion_tokens"),
                n_drafted=stats.get("total_draft_tokens_count"),
                n_accepted=stats.get("accepted_draft_tokens_count") or 0,
                read_before=_read_before(usage),
                version=self._version(event.get("system_fingerprint") or ""),
            )
        if not is_whole:
            # mlx-lm gives no length: one that was killed has ended its answer, as far as HTTP goes.
            raise EngineFailed(f"{self._server.name} broke off in the middle of an answer")

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


def _read_before(usage: Mapping[str, Any]) -> float:
    """The share of a prompt that was in the server's cache; 0 where it does not tell."""
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return float(cached) / max(1, usage.get("prompt_tokens") or 1)


def connect(kind: Kind, way: str, where: str | None, inputs: PeerInputs) -> ServedEngine:
    """The running server; `where`: MODEL, or MODEL,DRAFT. Raises: `EngineFailed` saying how to have
    one."""
    server = Server(kind.name, kind.url)
    listed = _listed(kind, server)
    said, _, with_draft = (where or "").partition(",")
    model = target(kind, said, listed)
    if way == WITH_DRAFT and not with_draft:
        raise EngineFailed(f"no draft model is named (--peer {kind.name}=MODEL,DRAFT)")
    draft = named(kind, with_draft, listed) if way == WITH_DRAFT else None
    own = own_model(model, kind.weights(server, model), inputs)
    note = f"{own}; {kind.note}; not put to sleep" + (f"; drafts from {draft}" if draft else "")
    return ServedEngine(
        kind.name,
        way,
        OpenAiChat(kind, server, model, draft).pieces,
        Build("not told", note=note, is_served=True),
        inputs.energy_j,
        is_one_of_two=bool(with_draft),
    )


def _listed(kind: Kind, server: Server) -> list[str]:
    """Names of models. Raises: `EngineFailed`."""
    try:
        entries = server.reached("/v1/models", kind.start).get("data") or []
    except EngineFailed as failure:
        if not isinstance(failure.__cause__, JSONDecodeError):
            raise
        return []  # mlx-lm's, while the hub's cache does not exist: success, and no list
    if any(entry.get("owned_by") == "llamacpp" for entry in entries):
        # Both listen on 8080, and would answer the same questions.
        raise EngineFailed(
            f"what answers at {server.url} is llama.cpp's server, not {kind.name}",
            hint="end it, or measure it with --peer llama-server",
        )
    return [entry["id"] for entry in entries]
