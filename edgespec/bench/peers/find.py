"""Which peers take part: those that are asked for and here; of the others, why they are not."""

import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import psutil

from edgespec.bench.engine import EngineFailed
from edgespec.bench.peers import llama_python, llama_server, ollama, openai_http, xllamacpp
from edgespec.bench.peers.types import Peer, PeerInputs
from edgespec.errors import UsageError
from edgespec.sizes import gibibytes

ALL = "all"
PYTHON_PEERS = {"llama-cpp-python": "llama_cpp", "xllamacpp": "xllamacpp"}
"""Peers that are packages, and what to import."""
SERVED = (ollama.NAME, *openai_http.KINDS)
"""Peers that run already, with models of their own."""
NAMES = (llama_server.NAME, *PYTHON_PEERS, *SERVED)
_IMPORT_S = 60.0


@dataclass(frozen=True, slots=True)
class PeerWish:
    """A peer that is wanted."""

    name: str
    way: str | None = None
    """Of its ways to decode, only this one; None: all."""
    where: str | None = None
    """A program, the Python that has the package, or the name of a served model; MODEL,DRAFT for
    one with a draft model."""


def parse(wished: str) -> tuple[PeerWish, ...]:
    """`NAME`, `NAME:WAY`, either with `=WHERE`; or "all". Raises: `UsageError`."""
    said, _, where = wished.partition("=")
    name, _, way = said.partition(":")
    if name == ALL:
        return tuple(PeerWish(each) for each in NAMES)
    if name not in NAMES:
        raise UsageError(
            f"there is no peer {name!r}", hint=f"choose from: {ALL}, {', '.join(NAMES)}"
        )
    if way and way not in ways(name):
        raise UsageError(f"{name} has no way {way!r}", hint=f"choose from: {', '.join(ways(name))}")
    return (PeerWish(name, way or None, where or None),)


def ways(name: str) -> tuple[str, ...]:
    """How a peer can decode."""
    if name == llama_server.NAME:
        return tuple(llama_server.WAYS)
    if name == xllamacpp.NAME:
        return tuple(xllamacpp.WAYS)
    if name == ollama.NAME:
        return ollama.WAYS
    return llama_python.WAYS if name == llama_python.NAME else openai_http.WAYS


def check_once(wishes: Sequence[PeerWish]) -> None:
    """Raises: `UsageError` when two peers would bear the same name."""
    labels = [f"{wish.name}:{way}" for wish, way in _ways(wishes)]
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise UsageError(
            f"--peer {twice} is named more than once, from different places",
            hint="measure one of them at a time",
        )


@dataclass(frozen=True, slots=True)
class Found:
    """The peers that run, asleep, and why others do not, by arm or name."""

    peers: tuple[Peer, ...]
    missing: dict[str, str]

    def close(self) -> None:
        """End them all."""
        for peer in self.peers:
            peer.close()


def find(
    wishes: Iterable[PeerWish], inputs: PeerInputs, tell: Callable[[str], None] = lambda _: None
) -> Found:
    """Start every peer that is wished for and can run; each sleeps once it is ready."""
    peers: list[Peer] = []
    missing: dict[str, str] = {}
    try:
        for wish, way in _ways(wishes):
            label = f"{wish.name}:{way}"
            tell(f"starting {label}")
            try:
                if way == "draft" and inputs.draft is None and wish.name not in SERVED:
                    raise EngineFailed("there is no draft model")
                _check_memory(wish, way, inputs)
                peer = _start(wish, way, inputs)
                peers.append(peer)
                peer.rest()
            except EngineFailed as failure:
                key = wish.name if failure.hint else label
                missing[key] = failure.message + (f" ({failure.hint})" if failure.hint else "")
    except BaseException:
        Found(tuple(peers), missing).close()
        raise
    return Found(tuple(peer for peer in peers if peer.name not in missing), missing)


def _ways(wishes: Iterable[PeerWish]) -> Iterable[tuple[PeerWish, str]]:
    return dict.fromkeys(
        (wish, way) for wish in wishes for way in ((wish.way,) if wish.way else ways(wish.name))
    )


def _check_memory(wish: PeerWish, way: str, inputs: PeerInputs) -> None:
    """Raises: `EngineFailed` rather than let the machine swap in the middle of a measurement."""
    if wish.name in SERVED:
        return
    files = [inputs.target, *([inputs.draft] if inputs.draft and way == "draft" else [])]
    # Weights may lie in memory twice: as read, and repacked for the processor's kernels.
    needed = 2 * sum(file.stat().st_size for file in files) + 2**29
    free = psutil.virtual_memory().available
    if needed > free:
        raise EngineFailed(
            f"it may need {gibibytes(needed)} of memory, and {gibibytes(free)} are free"
        )


def _start(wish: PeerWish, way: str, inputs: PeerInputs) -> Peer:
    if wish.name == llama_server.NAME:
        return llama_server.start(llama_server.binary(wish.where), way, inputs)
    if wish.name in openai_http.KINDS:
        kind = openai_http.KINDS[wish.name]
        return openai_http.connect(kind, way, wish.where, inputs)
    if wish.name == ollama.NAME:
        return ollama.connect(wish.where, inputs)
    python = wish.where or sys.executable
    require_package(python, wish.name, PYTHON_PEERS[wish.name])
    if wish.name == xllamacpp.NAME:
        return xllamacpp.start(python, way, inputs)
    return llama_python.start(python, way, inputs)


def require_package(python: str, name: str, module: str) -> None:
    """Raises: `EngineFailed` when the interpreter lacks the package."""
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    command: Sequence[str] = [python, "-c", code]
    try:
        ended = subprocess.run(command, capture_output=True, timeout=_IMPORT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineFailed(f"{python} cannot be run: {error}") from error
    if ended.returncode:
        raise EngineFailed(
            f"the package {name} is not installed",
            hint=f"pip install {name} here or anywhere, then --peer {name}=PYTHON",
        )
