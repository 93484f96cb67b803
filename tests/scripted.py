"""A language model that plays scripted answers: for the tests of the CLI, the chat and the TUI.

Times are constants, so every number on screen can be checked by hand: 82 ms per drafted step of
4 tokens, 49 ms per plain step. Texts are split at spaces; the draft is right 3, 1, 4, 2, … times.
"""

import itertools
import re
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from edgespec.api.types import Description, Message, Options, Prompt
from edgespec.errors import Busy, Closed, ContextOverflow, EdgespecError
from edgespec.events import (
    Delta,
    Done,
    DraftMode,
    Event,
    PromptProgress,
    Reply,
    Round,
    Stats,
    Step,
    TokenText,
)
from edgespec.explanation import Explanation

DRAFT_LEN = 4
ACCEPTED = (3, 1, 4, 2)
WRONG_PIECE = " it"
DESCRIPTION = Description(
    target="qwen3-14b",
    target_quant="Q4_K_M",
    draft="qwen3-0.6b",
    draft_quant="Q8_0",
    drafter="model",
    drafter_note="",
    n_ctx=8192,
    backend="CPU, 2 threads",
    can_think=True,
)


@dataclass(frozen=True, slots=True)
class Script:
    """One answer. `hold_at`: the number of events after which the stream waits for `release()`."""

    text: str = ""
    reasoning: str = ""
    hold_at: int | None = None
    error: EdgespecError | None = None
    """Raised in place of `Done`."""
    prefill_chunks: int = 2
    pace_s: float = 0.0
    """Real time per step; 0 except when a person looks at it."""


@dataclass(frozen=True, slots=True)
class Request:
    """What `chat` was asked."""

    messages: tuple[Message, ...]
    options: Options


def messages_of(prompt: Prompt) -> tuple[Message, ...]:
    """A prompt as messages."""
    if isinstance(prompt, str):
        return (Message(role="user", content=prompt),)
    return tuple(prompt)


def pieces_of(text: str) -> list[str]:
    """Words with the space before them; joined they are `text`."""
    return re.findall(r"\s*\S+|\s+$", text)


class ScriptedStream:
    """One running answer; cancel it from any thread."""

    def __init__(self, model: "ScriptedLM", script: Script, request: Request) -> None:
        self._model, self._script = model, script
        prompt_tokens = model.count(request.messages, request.options)
        self.stats = Stats(prompt_tokens=prompt_tokens, plain_tokens_per_s=20.4)
        is_plain = (request.options.drafter or model.description.drafter) == "none"
        self._wants_thought = request.options.think is not False
        self._cancelled = threading.Event()
        self._is_open = True
        self.modes: list[DraftMode] = ["off" if is_plain else "auto"]
        """How it began, then what else `draft` was told."""
        self._events = self._play()

    def __enter__(self) -> "ScriptedStream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def cancel(self) -> None:
        self._cancelled.set()
        self._model.gate.set()

    def close(self) -> None:
        self.cancel()
        if self._is_open:
            self._is_open = False
            self._finish("cancelled")
            self._model.busy.release()

    def _finish(self, reason: Literal["stop", "length", "cancelled", "error"]) -> None:
        if self.stats.finish_reason is None:
            self.stats = replace(self.stats, finish_reason=reason)

    def _play(self) -> Iterator[Event]:
        try:
            for i, event in enumerate(self._scripted_events()):
                if i == self._script.hold_at:
                    self._model.is_holding.set()
                    while not self._model.gate.wait(0.1):
                        pass  # in pieces, so that no signal is missed in the main thread
                if self._script.pace_s and isinstance(event, PromptProgress | Round):
                    self._cancelled.wait(self._script.pace_s)
                if self._cancelled.is_set():
                    break
                yield event
            if self._script.error and not self._cancelled.is_set():
                self._finish("error")
                raise self._script.error
            self._finish("cancelled" if self._cancelled.is_set() else "stop")
            yield Done(self.stats)
        finally:
            self.close()

    def _scripted_events(self) -> Iterator[Event]:
        total = self.stats.prompt_tokens
        for chunk in range(1, self._script.prefill_chunks + 1):
            yield PromptProgress(total * chunk // self._script.prefill_chunks, total, 0)
        if self._wants_thought:
            yield from self._steps("reasoning", self._script.reasoning)
        yield from self._steps("text", self._script.text)

    def draft(self, mode: DraftMode) -> None:
        if mode != self.modes[-1]:
            self.modes.append(mode)

    def _steps(self, kind: Literal["text", "reasoning"], text: str) -> Iterator[Event]:
        pieces = pieces_of(text)
        for right in itertools.cycle(ACCEPTED):
            if not pieces:
                return
            is_plain = self.modes[-1] == "off"
            right = 0 if is_plain else right
            accepted = min(right, len(pieces) - 1)
            committed, pieces = pieces[: accepted + 1], pieces[accepted + 1 :]
            drafted = [] if is_plain else committed[:accepted]
            drafted += [WRONG_PIECE] * (0 if is_plain else DRAFT_LEN - accepted)
            step = _step(drafted, committed, accepted, self.stats)
            self.stats = folded(self.stats, step)
            tokens = map(TokenText, step.tokens, committed, step.sources)
            yield Delta(kind, "".join(committed), tuple(tokens))
            yield Round(step, self.stats, tuple(drafted))


def _step(drafted: list[str], committed: list[str], accepted: int, before: Stats) -> Step:
    return Step(
        drafter="model" if drafted else "none",
        draft=tuple(zlib.crc32(p.encode()) % 32_000 for p in drafted),
        tokens=tuple(zlib.crc32(p.encode()) % 32_000 for p in committed),
        accepted=accepted,
        discarded=0,
        rows=1 + len(drafted),
        draft_s=0.014 if drafted else 0.0,
        target_s=0.067 if drafted else 0.0485,
        verify_s=0.0005,
        step_s=0.082 if drafted else 0.049,
        context=before.prompt_tokens + before.generated_tokens,
    )


def folded(stats: Stats, step: Step) -> Stats:
    """`stats` with one more step."""
    width = max(len(stats.accepted_at), step.drafted)
    at = [*stats.accepted_at, *[0] * (width - len(stats.accepted_at))]
    return replace(
        stats,
        generated_tokens=stats.generated_tokens + len(step.tokens),
        passes=stats.passes + 1,
        rounds=stats.rounds + bool(step.draft),
        drafted=stats.drafted + step.drafted,
        accepted=stats.accepted + step.accepted,
        accepted_at=tuple(n + (i < step.accepted) for i, n in enumerate(at)),
        ttft_s=0.31,
        prefill_s=0.31,
        decode_s=stats.decode_s + step.step_s,
        draft_s=stats.draft_s + step.draft_s,
        target_s=stats.target_s + step.target_s,
        verify_s=stats.verify_s + step.verify_s,
        drafter=step.drafter,
    )


@dataclass
class ScriptedLM:
    """Implements `LanguageModel`: the n-th `chat` plays the n-th script, then the last again.

    `is_holding` is set when a stream reached its script's `hold_at`; `release` lets it go on.
    """

    scripts: Sequence[Script | str] = ("An answer.",)
    description: Description = DESCRIPTION
    explanation: Explanation | None = None
    n_tokens: int | None = None
    """What `count` says; None: the words of the messages and 4 for each message."""
    requests: list[Request] = field(default_factory=list)
    streams: list[ScriptedStream] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    is_holding: threading.Event = field(default_factory=threading.Event)
    busy: threading.Semaphore = field(default_factory=threading.Semaphore)
    is_closed: bool = False

    def chat(
        self, prompt: Prompt, options: Options | None = None, *, wait: bool = True
    ) -> ScriptedStream:
        if self.is_closed:
            raise Closed("the model was closed")
        request = Request(messages_of(prompt), options or Options())
        needed = self.count(request.messages, request.options)
        if needed >= self.description.n_ctx:
            raise ContextOverflow(needed, self.description.n_ctx, hint="try: --ctx 16384")
        if not self.busy.acquire(blocking=wait):
            raise Busy("another request holds the model")
        script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
        self.requests.append(request)
        playable = Script(script) if isinstance(script, str) else script
        self.streams.append(ScriptedStream(self, playable, request))
        return self.streams[-1]

    def complete(self, prompt: Prompt, options: Options | None = None) -> Reply:
        text, reasoning = "", ""
        with self.chat(prompt, options) as stream:
            for event in stream:
                if isinstance(event, Delta) and event.kind == "text":
                    text += event.text
                elif isinstance(event, Delta):
                    reasoning += event.text
        return Reply(text, reasoning, stream.stats)

    def explain(self) -> Explanation | None:
        return self.explanation

    def count(self, prompt: Prompt, options: Options | None = None) -> int:
        if self.n_tokens is not None:
            return self.n_tokens
        return sum(4 + len(m["content"].split()) for m in messages_of(prompt))

    def close(self) -> None:
        self.is_closed = True
        for stream in self.streams:
            stream.cancel()

    def release(self) -> None:
        """Let a held stream go on."""
        self.gate.set()


class StuckLM(ScriptedLM):
    """Its streams hear no cancelling; closing it does nothing either."""

    def chat(self, *args: object, **given: object) -> object:  # type: ignore[override]
        stream = super().chat(*args, **given)  # type: ignore[arg-type]
        stream.cancel = lambda: None  # type: ignore[method-assign]
        return stream

    def close(self) -> None:
        self.is_closed = True
