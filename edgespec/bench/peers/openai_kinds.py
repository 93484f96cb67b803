"""The programs that speak OpenAI's chat API and are measured as they run: what each wants to be
asked, and by which names it has models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgespec.bench.engine import EngineFailed
from edgespec.bench.peers.http import Server
from edgespec.bench.peers.served import model_among
from edgespec.bench.peers.weights import of_lm_studio, of_mlx


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
    weights: Callable[[Server, str], str]
    """How a model's weights are stored; empty: not known."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What it must be told beside the usual, to sample as edgespec does."""
    version: Callable[[str], str] = lambda _: ""
    """What an answer's fingerprint tells of it."""
    default: str | None = None
    """The name of whatever it was started with. Such a program takes folders too, and lists few of
    those that it has."""


def _mlx_version(fingerprint: str) -> str:
    """Of "0.32.2-0.32.4-macOS-...": its own, then MLX's."""
    return ", mlx ".join(fingerprint.split("-")[:2])


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "lmstudio",
            "http://127.0.0.1:1234",
            "lms server start",
            "its own template, context, threads and min-p",
            of_lm_studio,
            {"top_k": 0, "repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0},
        ),
        Kind(
            "mlx-lm",
            "http://127.0.0.1:8080",
            "mlx_lm.server --model MODEL",
            "its own model format and template",
            of_mlx,
            {"top_k": 0, "min_p": 0.0, "repetition_penalty": 0.0},
            _mlx_version,
            "default_model",
        ),
    )
}
"""Sources: LM Studio's docs (openai-compat/chat-completions, api-changelog 0.3.10 and 0.3.18);
ml-explore/mlx-lm, mlx_lm/SERVER.md and server.py."""


def named(kind: Kind, said: str, listed: list[str]) -> str:
    """A model by the name under which it is asked for. Raises: `EngineFailed` for one that is not
    here: a server may fetch what it is asked for."""
    if kind.default and said and (folder := Path(said).expanduser()).is_dir():
        return str(folder.resolve())
    return model_among(kind.name, said or None, listed)


def target(kind: Kind, said: str, listed: list[str]) -> str:
    """The same of the model that answers. Raises: `EngineFailed`."""
    if kind.default is None or not said:
        return named(kind, said, listed)
    try:
        return said if said == kind.default else named(kind, said, listed)
    except EngineFailed as failure:
        hint = f"--peer {kind.name}={kind.default} is what it was started with"
        raise EngineFailed(failure.message, hint=hint) from None
