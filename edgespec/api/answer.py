"""One request on the engine thread: prefill, the loop, text, statistics; events as they happen."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from edgespec.api.drafting import Drafting
from edgespec.api.texts import Learn
from edgespec.api.types import Options
from edgespec.control.log import Log
from edgespec.control.pausable import Pausable
from edgespec.control.plain_speed import PlainSpeed
from edgespec.core import Drafter, Tokens
from edgespec.decode import Request, prefill, speculate
from edgespec.drafters import Noted
from edgespec.drafters.cascade import CascadeDrafter
from edgespec.engine.interrupt import Interrupt
from edgespec.engine.session import LlamaSession
from edgespec.engine.vocab import LlamaVocab
from edgespec.errors import Interrupted
from edgespec.events import (
    Delta,
    Done,
    DraftMode,
    Event,
    FinishReason,
    PromptProgress,
    Reply,
    Round,
    Source,
    Stats,
    TokenLogprob,
)
from edgespec.explanation import Cascade, Explanation
from edgespec.fold import StatsFold
from edgespec.sampling.sampler import RequestSampler
from edgespec.text.answer import AnswerText
from edgespec.text.memory import AnswerMemory

_log = logging.getLogger(__name__)
Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Engine:
    """What the engine thread owns; nobody else touches the sessions and drafters."""

    target: LlamaSession
    vocab: LlamaVocab
    interrupt: Interrupt
    memory: AnswerMemory
    plain: PlainSpeed
    drafting: Drafting
    learn: Learn
    """Told of complete answers that may be kept."""
    lock: threading.RLock
    """Guards who may set the interrupt: the running answer only. A signal handler may cancel while
    its own thread does."""
    reading: threading.Lock
    """Held by whoever tokenises or remembers; freeing the model waits for it."""

    @property
    def drafters(self) -> Mapping[str, Drafter]:
        """By registry name."""
        return self.drafting.drafters


class Answer:
    """Prepared by the caller's thread, run once by the engine thread, cancelled by any."""

    def __init__(
        self,
        engine: Engine,
        prompt: Tokens,
        options: Options,
        sampler: RequestSampler,
        *,
        drafter: str,
        drafter_note: str,
        controller: Pausable,
        log: Log,
        text: AnswerText,
    ) -> None:
        self._engine = engine
        self._prompt = prompt
        self._options = options
        self._sampler = sampler
        self._controller = controller
        self._log = log
        self._text = text
        self._fold = StatsFold(
            Stats(prompt_tokens=len(prompt), drafter=drafter, drafter_note=drafter_note),
            engine.plain,
        )
        self._is_cancelled = threading.Event()
        self._is_taken = False
        self._is_running = False
        self._deltas: list[Delta] = []
        self._odds: Iterator[float] = iter(())
        self._tokens: list[int] = []
        self._cascade_begun: tuple[int, int, int] | None = None
        self._cascade_ended: tuple[int, int, int] | None = None
        self._logprobs: list[TokenLogprob] = []

    def draft(self, mode: DraftMode) -> None:
        """As `types.Stream.draft`."""
        self._controller.mode = mode

    @property
    def stats(self) -> Stats:
        """So far; final once run."""
        return self._fold.stats

    def explanation(self) -> Explanation:
        """What was chosen so far, and why; for any thread."""
        told = self._log.explanation(self._notes())
        begun, found = self._cascade_begun, self._cascade_ended or self._cascade()
        if begun is None or found is None:
            return told
        drafted, passes, rows = (now - then for now, then in zip(found, begun, strict=True))
        return replace(told, cascade=Cascade(drafted, passes, rows)) if drafted else told

    @property
    def tokens(self) -> tuple[int, ...]:
        """The generated tokens so far."""
        return tuple(self._tokens)

    @property
    def reply(self) -> Reply:
        """The whole answer, once run."""
        text = self._text
        return Reply(text.text, text.reasoning, self.stats, self.tokens, tuple(self._logprobs))

    def withdraw(self) -> bool:
        """End it before the engine takes it up; False when that has happened."""
        with self._engine.lock:
            if self._is_taken:
                return False
            self._is_taken = True
            self._fold.finish("cancelled")
            return True

    def cancel(self) -> None:
        """Stop at once, or before it began; idempotent."""
        with self._engine.lock:
            self._is_cancelled.set()
            if self._is_running:
                self._engine.interrupt.set()

    def run(self, emit: Emit) -> None:
        """Run to the end, unless it was withdrawn.

        Raises what the engine raises; the statistics then say "error".
        """
        with self._engine.lock:
            if self._is_taken:
                return
            self._is_taken = self._is_running = True
        try:
            reason = self._generate(emit)
        except Interrupted:
            reason = "cancelled"
        except BaseException:
            self._end(emit, "error")
            raise
        finally:
            with self._engine.lock:
                self._is_running = False
                self._engine.interrupt.clear()
        self._end(emit, reason)
        emit(Done(self.stats))
        if self._options.learn and reason in ("stop", "length"):
            self._engine.learn(self._text.text, self._text.answer_tokens)

    def _end(self, emit: Emit, reason: FinishReason) -> None:
        """Show what was held back, remember the answer, close the statistics."""
        try:
            for delta in merged(self._deltas + self._text.finish()):
                emit(delta)
            if self._text.is_stopped and reason in ("length", "context_full"):
                reason = "stop"  # of two stop texts, the longer one could have come
            with self._engine.reading:
                self._engine.memory.remember(self._text.text, self._text.answer_tokens)
            self._engine.drafting.learn(len(self._tokens))
            self._cascade_ended = self._cascade()
        finally:
            self._fold.finish(reason, note=self._drafter_note())

    def _generate(self, emit: Emit) -> FinishReason:
        engine, vocab = self._engine, self._engine.vocab
        self._fold.begin()
        self._cascade_begun = self._cascade()
        request = Request(
            prompt=self._prompt,
            sampler=self._sampler,
            max_tokens=self._options.max_tokens,
            ends=self._ends,
            is_eog=vocab.is_eog,
            is_cancelled=self._is_cancelled.is_set,
            n_logprobs=self._options.logprobs,
            hear_odds=self._hear_odds,
        )
        cached = engine.target.retain(self._prompt[:-1])
        emit(PromptProgress(cached, len(self._prompt), cached))
        for done in prefill(engine.target, request, engine.target.n_batch):
            emit(PromptProgress(done, len(self._prompt), cached))
        if not request.is_cancelled():
            engine.target.hold()  # an answer is often taken back: its reasoning, or all of it
        self._fold.prefilled(cached)
        steps = speculate(engine.target, engine.drafting.drafters, self._controller, request)
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                reason: FinishReason = end.value
                return reason
            self._fold.add(step)
            if step.logprobs:
                step = replace(step, logprobs=self._named(step.logprobs))
                self._logprobs += step.logprobs
            for delta in merged(self._deltas):
                emit(delta)
            self._deltas.clear()
            pieces = tuple(vocab.piece(t).decode("utf-8", "replace") for t in step.draft)
            emit(Round(step, self.stats, pieces))

    def _named(self, logprobs: tuple[TokenLogprob, ...]) -> tuple[TokenLogprob, ...]:
        """With the tokens' texts, which the loop does not know."""
        piece = self._engine.vocab.piece
        return tuple(
            replace(
                one,
                text=piece(one.token, special=True).decode("utf-8", "replace"),
                top=self._named(one.top),
            )
            for one in logprobs
        )

    def _cascade(self) -> tuple[int, int, int] | None:
        """Tokens, passes and rows of the draft model's drafts since it was loaded."""
        drafter = self._engine.drafters.get(CascadeDrafter.name)
        if not isinstance(drafter, CascadeDrafter):
            return None
        tally = drafter.tally
        return tally.tokens, tally.passes, tally.rows

    def _drafter_note(self) -> str:
        """Why what was asked for is not in force; of "auto", only what is no choice of its own."""
        return self._notes().get(self.stats.drafter, "")

    def _notes(self) -> dict[str, str]:
        drafters = self._engine.drafting.drafters.items()
        noted = {name: d.note for name, d in drafters if isinstance(d, Noted)}
        return {name: note for name, note in noted.items() if note}

    def _hear_odds(self, odds: tuple[float, ...]) -> None:
        self._odds = iter(odds)

    def _ends(self, token: int, source: Source) -> bool:
        self._tokens.append(token)
        p_draft = next(self._odds, None) if source == "accepted" else None
        self._deltas += self._text.feed(token, source, p_draft)
        return self._engine.vocab.is_eog(token) or self._text.is_stopped


def merged(deltas: list[Delta]) -> list[Delta]:
    """Neighbours of one kind as one: a step of 32 tokens is one event."""
    out: list[Delta] = []
    for delta in deltas:
        if out and out[-1].kind == delta.kind:
            last = out[-1]
            out[-1] = replace(last, text=last.text + delta.text, tokens=last.tokens + delta.tokens)
        else:
            out.append(delta)
    return out
