"""The conversation behind every chat front end: turns, options, loading, stopping, usage.

Owns what was said and with which options. The front end's thread is the only one that changes a
turn (`drain`). Knows neither widgets nor terminals, so the TUI and the line mode show the same
conversation.
"""

from collections.abc import Iterator
from dataclasses import replace

from edgespec.api.types import Description, LanguageModel, Message, Options
from edgespec.chat.turns import (
    ContextUsage,
    DraftState,
    Loaded,
    LoadFailed,
    LoadProgress,
    State,
    Turn,
    TurnEnded,
    Update,
)
from edgespec.chat.workers import OpenModel, Run, Workers
from edgespec.errors import EdgespecError
from edgespec.events import Delta, PromptProgress, Round

__all__ = [
    "ChatController",
    "ContextUsage",
    "DraftState",
    "LoadFailed",
    "LoadProgress",
    "Loaded",
    "OpenModel",
    "State",
    "Turn",
    "TurnEnded",
    "Update",
]


class ChatController:
    """A conversation with one model. Call it from one thread; its workers are its own."""

    def __init__(self, options: Options | None = None, *, system: str | None = None) -> None:
        self.options = options or Options()
        self.system = system
        self.turns: list[Turn] = []
        self.state: State = "BOOT"
        self.progress = LoadProgress("starting")
        self.model: LanguageModel | None = None
        self.description: Description | None = None
        self.load_error: EdgespecError | None = None
        self._open_model: OpenModel | None = None
        self._run: Run | None = None
        self._workers = Workers()
        self._drafter_in_force = ""
        self._draft_note = ""

    # Loading

    def load(self, open_model: OpenModel) -> None:
        """Start loading; messages sent meanwhile wait."""
        self._open_model = open_model
        self.state, self.load_error = "LOADING", None
        self._workers.load(open_model)

    def attach(self, model: LanguageModel) -> None:
        """Talk to a model that is loaded already."""
        self.model, self.description, self.state = model, model.description, "READY"

    # Talking

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
        """Whether `send` may be called: one answer, or one queued message, at a time."""
        return not self.is_answering and not any(t.status == "queued" for t in self.turns)

    def send(self, text: str) -> Turn:
        """Add a message and start its answer, or queue it while the model loads.

        The turn is in `turns` before anything is decoded. After a failed load it loads again.
        """
        assert self.can_send, f"one message at a time; {self.state}"
        turn = Turn(text)
        self.turns.append(turn)
        if self.model is not None:
            self._start(turn)
        elif self.state != "LOADING" and self._open_model is not None:
            self.load(self._open_model)
        return turn

    def regenerate(self) -> Turn | None:
        """Answer the last message again; the old answer stays, marked as replaced."""
        last = next((turn for turn in reversed(self.turns) if not turn.is_replaced), None)
        if last is None or not self.can_send:
            return None
        last.is_replaced = True
        return self.send(last.prompt)

    def stop(self) -> bool:
        """Stop the answer; its text so far is kept. False: nothing to stop."""
        if self._run is None:
            return False
        self.state = "STOPPING"
        self._run.stop()
        return True

    def withdraw(self) -> str:
        """Take back the message that waits for the model. Returns: its text; empty: none waits."""
        waiting = next((turn for turn in self.turns if turn.status == "queued"), None)
        if waiting is None:
            return ""
        self.turns.remove(waiting)
        return waiting.prompt

    def clear(self) -> None:
        """Begin a new conversation; an answer under way is abandoned."""
        if self._run is not None:
            self._run.stop()
            self._run = None
            self.state = "READY"
        self.turns.clear()

    def messages(self, until: Turn | None = None) -> list[Message]:
        """The conversation as the model sees it, up to and with `until`'s message.

        Turns without an answer are left out: two user messages in a row break many templates.
        """
        messages = [Message(role="system", content=self.system)] if self.system else []
        for turn in self.turns:
            if turn is until or (turn.text and not turn.is_replaced):
                messages.append(Message(role="user", content=turn.prompt))
            if turn is until:
                break
            if turn.text and not turn.is_replaced:
                answer = Message(role="assistant", content=turn.text)
                if turn.reasoning:
                    answer["reasoning"] = turn.reasoning
                messages.append(answer)
        return messages

    def _start(self, turn: Turn) -> None:
        assert self.model is not None
        turn.status, self.state = "running", "PREFILL"
        self._run = Run(turn)
        self._workers.answer(self._run, self.model, self.messages(turn), self.options)

    # Options

    @property
    def draft(self) -> DraftState:
        """What the next answer drafts with; before a model is there, what was chosen."""
        about = self.description
        loaded, note = (about.drafter, about.drafter_note) if about else ("auto", "")
        name = self.options.drafter or loaded
        if name == "none":
            was_switched = self.options.drafter == "none" and loaded != "none"
            return DraftState("OFF", name) if was_switched else DraftState("NONE", name, note)
        is_refused = bool(self._draft_note) and self._drafter_in_force == "none"
        note = self._draft_note or (note if name == loaded else "")
        return DraftState("OFF" if is_refused else "ON", name, note)

    def set_drafter(self, name: str | None) -> None:
        """Draft with `name` from the next answer on; None: as loaded."""
        self.options = replace(self.options, drafter=name)
        self._draft_note = ""

    def toggle_draft(self) -> DraftState:
        """Switch drafting off, or on again as loaded (without a drafter: "auto")."""
        if self.options.drafter != "none" and self.draft.word != "NONE":
            self.set_drafter("none")
        else:
            is_bare = self.description is not None and self.description.drafter == "none"
            self.set_drafter("auto" if is_bare else None)
        return self.draft

    @property
    def is_thinking_on(self) -> bool:
        """Whether the next answer may think; false where the template has no such switch."""
        can_think = self.description is not None and self.description.can_think
        return can_think and self.options.think is not False

    def set_think(self, is_on: bool) -> None:
        """Think, or not, from the next answer on."""
        self.options = replace(self.options, think=is_on)

    @property
    def usage(self) -> ContextUsage:
        """Tokens of the conversation as last decoded; no call into the engine."""
        n_ctx = self.description.n_ctx if self.description else 0
        for turn in reversed(self.turns):
            used = turn.stats.prompt_tokens + turn.stats.generated_tokens
            if used:
                return ContextUsage(used, n_ctx)
            if turn.progress is not None:
                return ContextUsage(turn.progress.total, n_ctx)
        return ContextUsage(0, n_ctx)

    # Updates

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
        turn = self._run.turn if self._run else None
        match update:
            case LoadProgress():
                self.progress = update
            case Loaded():
                self.attach(update.model)
                self._start_queued()
            case LoadFailed():
                self.load_error, self.state = update.error, "ERROR"
                self.turns = [turn for turn in self.turns if turn.status != "queued"]
            case _:
                assert turn is not None, update
                self._apply_to(turn, update)

    def _apply_to(self, turn: Turn, update: PromptProgress | Delta | Round | TurnEnded) -> None:
        match update:
            case PromptProgress():
                turn.progress = update
            case Delta():
                self._apply_text(turn, update)
            case Round():
                if self.state == "THINKING":
                    turn.reasoning_s = update.stats.decode_s
                turn.last_round = update if update.step.draft else turn.last_round
                turn.stats = update.stats
                self._drafter_in_force = update.stats.drafter
                self._draft_note = update.stats.drafter_note
            case TurnEnded():
                turn.status, turn.stats, turn.error = update.status, update.stats, update.error
                self.state = "ERROR" if update.error else "READY"
                self._run = None

    def _apply_text(self, turn: Turn, delta: Delta) -> None:
        if delta.kind == "reasoning":
            turn.reasoning += delta.text
            turn.reasoning_tokens += len(delta.tokens)
        else:
            turn.text += delta.text
        if delta.tokens and delta.tokens[-1].source in ("recovered", "bonus"):
            turn.own_text = delta.tokens[-1].text
        if self.state != "STOPPING":
            self.state = "THINKING" if delta.kind == "reasoning" else "GENERATING"

    def _start_queued(self) -> None:
        for turn in self.turns:
            if turn.status == "queued":
                self._start(turn)
                return

    def close(self, timeout_s: float = 1.5) -> None:
        """Stop everything and free the model; a load under way frees it when it ends."""
        self.stop()
        if self.model is not None:
            self.model.close()
        self._workers.close(timeout_s)
