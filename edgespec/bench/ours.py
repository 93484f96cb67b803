"""edgespec itself as an engine of the benchmark, measured from outside like any other."""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Protocol

from edgespec.api.types import LanguageModel, Options
from edgespec.bench.energy import Energy, spent_j, unmeasured
from edgespec.bench.engine import OURS, PLAIN, Ask, Reading, Run
from edgespec.bench.suite import BenchPrompt
from edgespec.errors import UsageError
from edgespec.events import PromptProgress, Round, Step


class Host(Protocol):
    """A loaded model whose caches can be emptied between answers."""

    @property
    def model(self) -> LanguageModel:
        """What answers."""
        ...

    @property
    def native_s(self) -> float:
        """Seconds spent in llama.cpp's passes so far, of target and draft model together."""
        ...

    def forget_prompt(self) -> None:
        """Empty the target's cache."""
        ...

    def forget_draft(self) -> None:
        """Empty the draft model's cache."""
        ...


def parted(arm: str) -> tuple[str, int | None]:
    """An arm's drafter and its draft length: "suffix" chooses at each step, "suffix:7" never.

    Raises: `UsageError` for a length that is no number from 1 on.
    """
    drafter, colon, said = arm.partition(":")
    if not colon:
        return drafter, None
    if drafter == PLAIN:
        raise UsageError(f"plain decoding drafts nothing, so {arm!r} has no meaning", hint=PLAIN)
    if not said.isdecimal() or int(said) < 1:
        raise UsageError(f"{arm!r} has no draft length", hint=f"for example {drafter}:7")
    return drafter, int(said)


class OurEngine:
    """Implements `measure.Engine` and `streams.Crowd`: its arms are drafters, and "auto"."""

    name = OURS
    plain: str | None = PLAIN
    is_batching = False
    remembers = False

    def __init__(
        self,
        host: Host,
        drafters: tuple[str, ...],
        energy_j: Energy = unmeasured,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.arms = (PLAIN, *(name for name in drafters if name != PLAIN))
        self._host = host
        self._energy_j = energy_j
        self._clock = clock

    def wake(self) -> None:
        """It is always ready."""

    def rest(self) -> None:
        """Its threads sleep while they have nothing to do."""

    def read(self, prompt: BenchPrompt) -> Reading:
        """Read the prompt with an empty cache."""
        self._host.forget_prompt()
        options = Options(max_tokens=1, drafter=PLAIN)
        stats = self._host.model.complete(prompt.messages, options).stats
        assert stats.ttft_s is not None, "an answer of one token has a first token"
        return Reading(stats.prompt_tokens, stats.ttft_s)

    def answer(self, arm: str, ask: Ask) -> Run:
        """Answer with the drafter `arm`."""
        host, messages = self._host, ask.prompt.messages
        # All arms find the same prompt resident, and none the draft model's work of another.
        host.model.complete(messages, Options(max_tokens=0, drafter=PLAIN))
        host.forget_draft()
        native_s, energy_j = host.native_s, self._energy_j()
        run = self._run(arm, ask, began_s=None)
        return replace(
            run,
            native_s=host.native_s - native_s,
            energy_j=spent_j(energy_j, self._energy_j()),
        )

    def forget(self) -> None:
        """Empty the caches."""
        self._host.forget_prompt()
        self._host.forget_draft()

    def one_of_many(self, arm: str, ask: Ask, began_s: float) -> Run:
        """One of several answers at once; times count from `began_s`."""
        return self._run(arm, ask, began_s)

    def _run(self, arm: str, ask: Ask, began_s: float | None) -> Run:
        """One answer; times count from the end of reading if `began_s` is None."""
        clock = self._clock
        steps: list[Step] = []
        arrivals: list[tuple[float, int]] = []
        start_s = clock() if began_s is None else began_s
        drafter, draft_len = parted(arm)
        options = Options(ask.sampling, ask.max_tokens, drafter=drafter, draft_len=draft_len)
        with self._host.model.chat(ask.prompt.messages, options) as stream:
            for event in stream:
                if isinstance(event, PromptProgress) and began_s is None:
                    start_s = clock()
                elif isinstance(event, Round):
                    steps.append(event.step)
                    arrivals.append((clock() - start_s, len(event.step.tokens)))
            wall_s = clock() - start_s
        tokens = tuple(token for step in steps for token in step.tokens)
        return Run(
            arm,
            tokens,
            len(tokens),
            wall_s,
            tuple(arrivals),
            stats=stream.stats,
            steps=tuple(steps),
        )
