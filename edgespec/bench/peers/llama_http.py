"""llama.cpp's own server, whoever brings it: token ids in and out, over its `/completion`."""

from dataclasses import replace
from time import perf_counter
from typing import Any

from edgespec.bench.energy import spent_j
from edgespec.bench.engine import Ask, EngineFailed, Reading, Run
from edgespec.bench.peers.child import Child, ChildEngine
from edgespec.bench.peers.http import Server
from edgespec.bench.suite import BenchPrompt
from edgespec.core import Sampling
from edgespec.events import Stats


class LlamaHttpEngine(ChildEngine):
    """Implements `types.Peer` and `streams.Crowd`. One arm, named as the engine."""

    is_batching = True

    def __init__(self, child: Child, server: Server) -> None:
        """Take ownership of the child's process, which serves."""
        super().__init__(child)
        self._server = server

    def read(self, prompt: BenchPrompt) -> Reading:
        """Read the prompt with nothing of it cached."""
        n_tokens = len(self._tokens_of(prompt))
        ask = Ask(prompt, Sampling(), 1)
        run = self._run(ask, perf_counter(), {"cache_prompt": False, "id_slot": 0})
        return Reading(n_tokens, run.wall_s)

    def answer(self, arm: str, ask: Ask) -> Run:
        """Answer once."""
        self._tokens_of(ask.prompt)  # known from here on: it takes none of the measured time
        energy_j = self._energy_j()
        run = self._run(ask, perf_counter(), {"id_slot": 0})
        return replace(run, energy_j=spent_j(energy_j, self._energy_j()))

    def forget(self) -> None:
        """Each of many is asked with nothing cached."""

    def one_of_many(self, arm: str, ask: Ask, began_s: float) -> Run:
        """One of several answers at once; times count from `began_s`."""
        return self._run(ask, began_s, {"cache_prompt": False})

    def _run(self, ask: Ask, began_s: float, how: dict[str, Any]) -> Run:
        tokens: list[int] = []
        arrivals: list[tuple[float, int]] = []
        timings: dict[str, Any] = {}
        for event in self._server.events("/completion", {**self._body(ask), **how}):
            timings = event.get("timings", timings)
            told = event.get("tokens") or []
            # The last event repeats the whole answer.
            if told and not event.get("stop"):
                tokens += told
                arrivals.append((perf_counter() - began_s, len(told)))
        self._process.check()
        wall_s = perf_counter() - began_s
        n_tokens = int(timings.get("predicted_n", len(tokens)))
        if not n_tokens:
            raise EngineFailed(f"{self.name} answered {ask.prompt.name} with nothing")
        # Of a character in several tokens, the server tells the last one only.
        is_told = len(tokens) == n_tokens
        return Run(
            self.name,
            tuple(tokens) if is_told else (),
            n_tokens,
            wall_s,
            tuple(arrivals),
            stats=_stats(timings),
        )

    def _body(self, ask: Ask) -> dict[str, Any]:
        sampling = ask.sampling
        return {
            "prompt": self._tokens_of(ask.prompt),
            "n_predict": ask.max_tokens,
            "temperature": sampling.temperature,
            "seed": sampling.seed or 0,
            "samplers": ["temperature"],  # as edgespec's: nothing cut off, nothing penalised
            "cache_prompt": True,
            "return_tokens": True,
        }


def _stats(timings: dict[str, Any]) -> Stats:
    """What the server counts; it tells nothing of rounds and positions."""
    n_tokens, accepted = (int(timings.get(k, 0)) for k in ("predicted_n", "draft_n_accepted"))
    return Stats(
        prompt_tokens=int(timings.get("prompt_n", 0)),
        generated_tokens=n_tokens,
        passes=n_tokens - accepted,  # each gives one token of the target's own
        drafted=int(timings.get("draft_n", 0)),
        accepted=accepted,
    )
