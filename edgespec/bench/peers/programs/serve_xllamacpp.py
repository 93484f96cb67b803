"""xllamacpp's server: a program of its own, run by the interpreter that has the package. It imports
nothing of edgespec, and edgespec does not import it.

Arguments: one JSON object with model, draft, n_ctx, n_threads, n_slots, types. Prints one JSON line
with url, version and system, then serves until stdin ends.
"""

import importlib
import json
import os
import sys
from importlib.metadata import version
from typing import Any

xllamacpp: Any = importlib.import_module("xllamacpp")


def main() -> None:
    """Serve."""
    asked = json.loads(sys.argv[1])
    out = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # what the library prints must not come between the lines
    params = xllamacpp.CommonParams()
    params.model.path = asked["model"]
    params.n_ctx = asked["n_ctx"]
    params.n_parallel = asked["n_slots"]
    params.kv_unified = True
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = asked["n_threads"]
    params.cpuparams_batch.n_threads = asked["n_threads"]
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.port = asked["port"]
    if asked["types"]:
        known = xllamacpp.common_speculative_type
        params.speculative.types = [
            getattr(known, "COMMON_SPECULATIVE_TYPE_" + name.upper().replace("-", "_"))
            for name in asked["types"]
        ]
    if asked["draft"]:
        params.speculative.draft.mparams.path = asked["draft"]
        params.speculative.draft.cpuparams.n_threads = asked["n_threads"]
        params.speculative.draft.cpuparams_batch.n_threads = asked["n_threads"]
    server = xllamacpp.Server(params)
    told = {
        "url": server.listening_address,
        "version": version("xllamacpp"),
        "system": xllamacpp.get_system_info(),
    }
    out.write(json.dumps(told) + "\n")
    sys.stdin.read()
    out.close()
    os._exit(0)  # nothing of it is worth an orderly end


main()
