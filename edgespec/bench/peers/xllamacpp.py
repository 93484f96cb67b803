"""xllamacpp, from the Python package index: llama.cpp's server inside a Python process."""

import json

from edgespec.bench.peers.child import Child
from edgespec.bench.peers.http import Server
from edgespec.bench.peers.llama_http import LlamaHttpEngine
from edgespec.bench.peers.llama_python import LOAD_S, heard, program
from edgespec.bench.peers.llama_server import REMEMBERING, free_port
from edgespec.bench.peers.process import PeerProcess
from edgespec.bench.peers.types import REMEMBERS, Build, PeerInputs
from edgespec.hardware.cpu import features_of

NAME = "xllamacpp"
WAYS = {
    "plain": (),
    "draft": ("draft-simple",),
    "ngram-simple": ("ngram-simple",),
    "ngram-mod": ("ngram-mod",),
}


def start(python: str, way: str, inputs: PeerInputs) -> LlamaHttpEngine:
    """A server that is ready. Raises: `EngineFailed`."""
    name = f"{NAME}:{way}"
    asked = {
        "model": str(inputs.target),
        "draft": str(inputs.draft) if way == "draft" else None,
        "n_ctx": inputs.n_ctx,
        "n_threads": inputs.n_threads,
        "n_slots": inputs.n_slots,
        "types": WAYS[way],
        "port": free_port(),
    }
    process = PeerProcess(
        name, [python, program("serve_xllamacpp"), json.dumps(asked)], is_piped=True
    )
    try:
        with process.within(LOAD_S):
            told = heard(process)
        server = Server(name, told["url"])
        process.wait_for(lambda: server.is_there("/health"), LOAD_S)
    except BaseException:
        process.close()
        raise
    remembers = way in REMEMBERING
    note = REMEMBERS if remembers else ""
    build = Build(told["version"], features_of(told["system"]), inputs.n_threads, note)
    return LlamaHttpEngine(Child.of(inputs, name, process, build, remembers=remembers), server)
