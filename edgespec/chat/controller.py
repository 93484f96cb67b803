"""The conversation behind every chat front end: sending, stopping, branches, options, loading.

Owns what was said and with which options. The front end's thread is the only one that changes a
turn (`drain`). Knows neither widgets nor terminals, so the TUI and the line mode show the same
conversation. `chats` leads to the saved ones, `branches` to the other answers of this one.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

from edgespec.api.types import LanguageModel, Message, Options
from edgespec.chat.asking import Asking
from edgespec.chat.branches import Branches
from edgespec.chat.chats import Chats
from edgespec.chat.choices import choose, left_out
from edgespec.chat.conversation import Conversation
from edgespec.chat.hearing import heard
from edgespec.chat.journal import Journal
from edgespec.chat.measures import context_usage, fullness, reading_of
from edgespec.chat.shelf import ModelChange, Shelf
from edgespec.chat.trouble import Trouble
from edgespec.chat.turns import (
    ChoiceKind,
    ContextFull,
    ContextUsage,
    Loaded,
    LoadFailed,
    LoadProgress,
    LoadStopped,
    Notice,
    OfTurn,
    Reading,
    Returned,
    State,
    Summarised,
    Turn,
    TurnEnded,
    Update,
)
from edgespec.chat.workers import OpenModel, Run, Workers
from edgespec.errors import EdgespecError, UsageError
from edgespec.events import Delta, PromptProgress, Round
from edgespec.history.library import Library

__all__ = ["ChatController", "LoadFailed", "LoadProgress", "OpenModel", "Turn", "Update"]


class ChatController(Asking):
    """A conversation with one model. Call it from one thread; its workers are its own."""

    def __init__(
        self,
        options: Options | None = None,
        *,
        system: str | None = None,
        journal: Journal | None = None,
        library: Library | None = None,
        shelf: Shelf | None = None,
    ) -> None:
        """Take over `journal`; without one every chat is private."""
        super().__init__(options)
        self.conversation = Conversation(system=system, is_private=journal is None)
        self.state: State = "BOOT"
        self.progress = LoadProgress("starting")
        self.model: LanguageModel | None = None
        self.load_error: EdgespecError | None = None
        self.failed: Turn | None = None
        """The turn whose answer failed, in ERROR."""
        self.full: ContextFull | None = None
        """A message waits in FULL: `choose` says what becomes of it."""
        self.shelf = shelf
        self.chats = Chats(self, journal, library)
        self.branches = Branches(self)
        self.trouble = Trouble(self)
        self.opener: OpenModel | None = None  # what was loaded last, or failed to
        self._before: OpenModel | None = None  # what was there when another was asked for
        self._run: Run | None = None
        self._workers, self._was_near_full = Workers(), False
        if journal is not None:
            journal.listen(self._workers.hear)

    def load(self, open_model: OpenModel) -> None:
        """Start loading; messages sent meanwhile wait."""
        self.opener, self._before = open_model, None
        self.state, self.load_error = "LOADING", None
        self._workers.load(open_model)

    def attach(self, model: LanguageModel) -> None:
        """Talk to a model that is loaded already."""
        self.model, self.description, self.state = model, model.description, "READY"
        self._workers.hold(model)

    def switch(self, change: ModelChange) -> None:
        """Load another model, draft or context in place of this one, which is freed first.

        If that fails, the one before is loaded again; `trouble` then has the ways on. Raises:
        `EdgespecError` with nothing changed; `UsageError` during an answer.
        """
        if self._run is not None:
            raise UsageError("an answer is under way", hint="stop it first, or wait for its end")
        if self.shelf is None:
            raise UsageError("there is no other model to go to")
        opener = self.shelf.take(change)
        if self.state != "LOADING":
            self._before = self.opener if self.model is not None else None
        before, self.opener = self._before, opener
        self.state, self._refusal = "LOADING", ""
        self.load_error = self.model = self.full = None
        self._workers.load(self.trouble.watched(opener, change) if before else opener, before)

    @property
    def turns(self) -> list[Turn]:
        """The branch that is shown."""
        return self.conversation.tree.path

    @property
    def is_answering(self) -> bool:
        """Whether a turn is under way."""
        return self._run is not None

    @property
    def is_busy(self) -> bool:
        """Whether updates may still come."""
        return self.is_answering or self.state == "LOADING"

    @property
    def can_send(self) -> bool:
        """Whether a message would be answered now, or once the model is loaded."""
        return not self.is_answering and self.can_queue

    @property
    def can_queue(self) -> bool:
        """Whether `send` may be called: one message may wait for the answer before it."""
        return self.conversation.waiting is None

    def under_way(self, turn: Turn) -> Run | None:
        """The answer of a turn, while it is written."""
        return self._run if self._run is not None and self._run.turn is turn else None

    def send(self, text: str) -> Turn:
        """Add a message and start its answer, or queue it behind what is under way.

        It is kept before anything is decoded. After a failed load it loads again.
        """
        return self._send(text, self.conversation.tree.head)

    def regenerate(self, turn: Turn | None = None) -> Turn | None:
        """Answer a turn's message again (the last one's) as a new branch; the old one stays.

        A turn without any answer is answered in its place. Returns: None when it cannot be now.
        """
        turn = turn or self.conversation.tree.head
        if turn is None or not self.can_send:
            return None
        if turn.text or turn.reasoning or turn not in self.conversation.tree.turns:
            return self.edit(turn, turn.prompt)
        self.conversation.tree.show(turn)
        turn.status, turn.error = "queued", None
        return self._enqueue(turn)

    def edit(self, turn: Turn, text: str) -> Turn:
        """Ask something else in a turn's place, beside it; a turn of another chat has none here."""
        is_here = turn in self.conversation.tree.turns
        return self._send(text, turn.parent if is_here else self.conversation.tree.head)

    def stop(self) -> bool:
        """Stop the answer, its reading or its summary, whose text is kept; or stop loading.

        False: nothing to stop.
        """
        if self._run is None and self.state == "LOADING":
            self._workers.give_up_loading()
            self.progress = LoadProgress("giving up loading")
            return True
        if self._run is None:
            return False
        self.state = "STOPPING"
        self._run.stop()
        return True

    @property
    def can_force(self) -> bool:
        """Whether the answer was told to stop and did not, so that `force` may help."""
        return self._run is not None and self._run.is_stuck and self.opener is not None

    def force(self) -> None:
        """Leave the answer behind with the text it has, drop the model, load it anew."""
        assert self._run is not None
        assert self.opener is not None
        self._run.leave()
        self._run = self.model = None
        self._workers.leave_behind()
        self.load(self.opener)

    def set_drafter(self, name: str | None, *, is_forced: bool = False) -> None:
        """Off, on again, or at every step, also in the answer that is under way."""
        super().set_drafter(name, is_forced=is_forced)
        if self._run is not None:
            self._run.draft(self.draft.mode)

    @property
    def draft_acts_now(self) -> bool:
        """Whether `set_drafter` acted on the answer under way; not so where another is to draft."""
        run = self._run
        return run is not None and (run.mode != "auto" or run.drafter == self._usual_drafter)

    def withdraw(self) -> str:
        """Take back the message that waits. Returns: its text; empty: none waits."""
        if (waiting := self.conversation.waiting) is None:
            return ""
        self._take_out(waiting)
        return waiting.prompt

    def clear(self, *, is_private: bool | None = None) -> None:
        """Begin a new chat; an answer under way is stopped, and kept as far as it came.

        `is_private`: whether the new one is never written to the disk; None: as this one.
        """
        private = self.conversation.is_private if is_private is None else is_private
        private = private or not self.chats.can_save
        self.take(Conversation(system=self.conversation.system, is_private=private))

    def take(self, conversation: Conversation) -> None:
        """Show and continue another chat; an answer under way is stopped."""
        if self._run is not None:
            self._run.stop()
        self._run, self.full, self._was_near_full = None, None, False
        if self.state != "LOADING":
            self.state = "READY" if self.model is not None else self.state
        self.conversation = conversation

    def messages(self, until: Turn | None = None) -> list[Message]:
        """The conversation as the model sees it, up to and with `until`'s message."""
        return self.conversation.window(until).messages()

    def _send(self, text: str, parent: Turn | None) -> Turn:
        assert self.can_queue, f"one message waits already; {self.state}"
        turn = Turn(text, parent=parent)
        self.conversation.tree.add(turn)
        return self._enqueue(turn)

    def _enqueue(self, turn: Turn) -> Turn:
        self.chats.keep(turn)
        if self._run is not None:
            return turn
        if self.model is not None and self.state != "LOADING":
            self.start(turn)
        elif self.state != "LOADING" and self.opener is not None:
            self.load(self.opener)
        return turn

    def start(self, turn: Turn, *, is_tight: bool = False, n_to_summarise: int = 0) -> None:
        """Answer a turn that waits; for `choose`, which knows how."""
        self.trouble.forget()
        self.full = None
        assert self.model is not None
        assert self.description is not None
        turn.status, turn.error, turn.progress = "running", None, None
        turn.target, turn.draft = self.description.target, self.description.draft or ""
        turn.reading_from_s = time.monotonic()
        self.state = "SUMMARISING" if n_to_summarise else "PREFILL"
        self._run = Run(
            turn,
            self.conversation.window(turn),
            replace(self.options, learn=not self.conversation.is_private),
            self.chats.record(turn),
            self.chats.journal,
            self.shelf.larger_context if self.shelf is not None else (lambda needed: None),
            must_fit=not is_tight,
            n_to_summarise=n_to_summarise,
            drafter=self._usual_drafter,
            mode=self.draft.mode,
        )
        self._workers.answer(self._run, self.model)

    def choose(self, kind: ChoiceKind) -> Turn | None:
        """What becomes of the message that waits in FULL. Returns: the turn that goes on.

        After "cancel" the message comes back in a `Returned` update. Raises: `UsageError` for
        what is no choice now; what `switch` raises.
        """
        return choose(self, self.conversation.waiting, kind)

    def give_back(self, turn: Turn) -> None:
        """Return a message that waits to the prompt."""
        self._take_out(turn)
        self._workers.tell(None, Returned(turn, turn.prompt))

    def tell(self, notice: Notice) -> None:
        """Tell the person, in order with what else happens."""
        self._workers.tell(None, notice)

    @property
    def usage(self) -> ContextUsage:
        """Tokens of the conversation as last decoded; no call into the engine."""
        return context_usage(self.turns, self.description.n_ctx if self.description else 0)

    @property
    def reading(self) -> Reading | None:
        """How far the prompt is read; None when none is being read."""
        is_reading = self.state in ("PREFILL", "SUMMARISING")
        return reading_of(self._run.turn) if self._run is not None and is_reading else None

    def drain(self) -> list[Update]:
        """Every update since the last call, applied to the turns; never blocks."""
        drained = []
        for turn, update in self._workers.take():
            if turn is None or (self._run is not None and turn is self._run.turn):
                self._apply(update)
                drained.append(update)
        return drained

    def follow(self) -> Iterator[Update]:
        """Updates until nothing is under way, waiting for each; for front ends without a loop.

        After a `KeyboardInterrupt` call `stop` and follow again: the turn keeps every text.
        """
        while self.is_busy:
            self._workers.wait()
            yield from self.drain()

    def _apply(self, update: Update) -> None:
        run = self._run
        match update:
            case LoadProgress():
                self.progress = update
            case Loaded():
                self.attach(update.model)
                if update.is_before:
                    self.opener = self._before
                else:
                    self.trouble.forget()
                self.options = self.shelf.advised(self.options) if self.shelf else self.options
                self._start_waiting()
            case LoadFailed():
                self.load_error, self.state = update.error, "ERROR"
                if (turn := self.conversation.waiting) is not None:
                    turn.error = update.error
                    self._take_out(turn)
            case LoadStopped():
                self.state = "BOOT"
                self.progress = LoadProgress("loading was stopped: Enter or F2 loads a model")
                if (turn := self.conversation.waiting) is not None:
                    self.give_back(turn)
            case Notice() | Returned():
                pass
            case _:
                assert run is not None, update
                self._apply_to(run.turn, update)

    def _apply_to(self, turn: Turn, update: OfTurn) -> None:
        match update:
            case PromptProgress() | Delta() | Round():
                self.state = heard(turn, update, self.state)
                if isinstance(update, Round):
                    self._see_drafter(update.stats)
            case Summarised():
                self.conversation.leave_out(update.turns, turn, update.text)
                turn.progress, turn.reading_from_s = None, time.monotonic()
                self.tell(left_out(update.turns, "replaced by a summary in"))
                if self.state == "SUMMARISING":
                    self.state = "PREFILL"
                self.chats.keep()
            case ContextFull():
                if (waiting := self.conversation.waiting) is not None:
                    self.give_back(waiting)  # it was written in the belief of an answer to this
                turn.status, self.full, self.state, self._run = "queued", update, "FULL", None
            case TurnEnded():
                self._end(turn, update)

    def _end(self, turn: Turn, ended: TurnEnded) -> None:
        turn.status, turn.stats, turn.error = ended.status, ended.stats, ended.error
        self.state = "ERROR" if ended.error else "READY"
        self._run, self.failed = None, turn if ended.error else None
        if told := fullness(self.usage, turn.stats, was_near_full=self._was_near_full):
            self.tell(Notice(told))
        self._was_near_full = self.usage.is_near_full
        waiting = self.conversation.waiting
        if waiting is not None and ended.error is not None:
            self.give_back(waiting)  # it was written in the belief that this would be answered
        else:
            self._start_waiting()

    def _start_waiting(self) -> None:
        if (turn := self.conversation.waiting) is not None:
            self.start(turn)

    def _take_out(self, turn: Turn) -> None:
        """Out of the conversation: it has no answer. What came after it stays."""
        removed = self.conversation.take_out(turn)
        self.chats.forget(turn, *removed.children)
        if self.state == "FULL":
            self.full, self.state = None, "READY"

    def close(self, timeout_s: float = 1.5) -> None:
        """Free the model, or let a load under way do so at its end; write what is unwritten."""
        self.stop()
        self._workers.close(timeout_s)
        self.chats.close()
