"""llama-cpp-python's high-level class behind two pipes: a program of its own, run by the
interpreter that has the package. It imports nothing of edgespec, and edgespec does not import it.

Arguments: one JSON object with model, n_ctx, n_threads, lookup. Then a JSON line per request on
stdin (tokens, max_tokens, temperature, seed, forget), and JSON lines on stdout: one per token with
its id, and {"done": ...} at the end.
"""

import importlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

llama_cpp: Any = importlib.import_module("llama_cpp")


def main() -> None:
    """Load, say what this is, answer until stdin ends."""
    asked = json.loads(sys.argv[1])
    out = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # what the library prints must not come between the lines
    speculative = importlib.import_module("llama_cpp.llama_speculative")
    lookup = speculative.LlamaPromptLookupDecoding() if asked["lookup"] else None
    llm = llama_cpp.Llama(
        model_path=asked["model"],
        n_ctx=asked["n_ctx"],
        n_threads=asked["n_threads"],
        n_threads_batch=asked["n_threads"],
        flash_attn=True,
        draft_model=lookup,
        logits_all=asked["lookup"],  # else its drafts fail behind n_batch tokens
        verbose=False,
    )
    tokens_seen: list[int] = []
    generate = llm.generate

    def heard(*positional: Any, **named: Any) -> Iterator[int]:
        for token in generate(*positional, **named):
            tokens_seen.append(int(token))
            yield token

    llm.generate = heard
    system = llama_cpp.llama_print_system_info().decode("utf-8", "replace")
    out.write(json.dumps({"version": llama_cpp.__version__, "system": system}) + "\n")
    for line in sys.stdin:
        request = json.loads(line)
        tokens_seen.clear()
        if request["forget"]:
            llm.reset()
        n_told = 0
        for _ in llm.create_completion(
            prompt=request["tokens"],
            max_tokens=request["max_tokens"],
            temperature=request["temperature"],
            seed=request["seed"],
            top_k=0,
            top_p=1.0,
            min_p=0.0,
            repeat_penalty=1.0,
            stream=True,
        ):
            if tokens_seen[n_told:]:
                out.write(json.dumps({"tokens": tokens_seen[n_told:]}) + "\n")
                n_told = len(tokens_seen)
        # The token that ended the answer has no text, and comes with none.
        out.write(json.dumps({"tokens": tokens_seen[n_told:], "done": len(tokens_seen)}) + "\n")


main()
