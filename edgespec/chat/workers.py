"""The threads behind a chat: one loads, one per answer reads the stream.

They hand updates over through a deque and never touch a turn, so the front end is never called
from another thread and can never hold the engine up. The thread of an answer gives the journal
what it hears, so that a front end that stands still loses nothing either.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from edgespec.api.types import LanguageModel, Message, Options, Stream
from edgespec.chat.conversation import stats_dict
from edgespec.chat.journal import Journal, Nowhere
from edgespec.chat.turns import (
    ContextFull,
    Loaded,
    LoadFailed,
    LoadProgress,
    LoadStopped,
    Notice,
    Status,
    Summarised,
    Turn,
    TurnEnded,
    Update,
)
from edgespec.chat.window import (
    Window,
    is_surely_short,
    most_summarised,
    overflow,
    summary_options,
    summary_request,
)
from edgespec.errors import ContextOverflow, EdgespecError
from edgespec.events import Delta, Done, DraftMode, Event, PromptProgress, Stats
from edgespec.history.keeper import SaveState
from edgespec.history.records import TurnRecord

logger = logging.getLogger(__name__)

FORCE_AFTER_S = 3.0
"""An answer that was told to stop and has not by then may be left behind."""
_SAVING_S = 5.0
"""So long an answer waits for its prompt to be on the disk, or in the fallback file."""

_HEARS_S = 0.2
"""So late at most a signal is heard by who waits for news."""

_OF_LOADS = (LoadProgress, Loaded, LoadFailed, LoadStopped)

OpenModel = Callable[[Callable[[LoadProgress], None]], LanguageModel]
"""Loads the model, telling its progress; runs off the front end's thread."""


@dataclass(slots=True, eq=False)
class Run:
    """An answer under way; `stop`, `draft` and the worker meet here without a lock.

    `stop` sets the flag, then looks for the stream; the worker stores the stream, then looks at
    the flag: whatever the order, one of them cancels.
    """

    turn: Turn
    window: Window
    options: Options
    record: TurnRecord
    """The turn as it was sent."""
    journal: Journal
    larger: Callable[[int], int | None] = lambda needed: None
    must_fit: bool = False
    """Whether to ask before an answer gets too little room."""
    n_to_summarise: int = 0
    """So many of the oldest turns become a summary first."""
    drafter: str = ""
    """Who drafts in it in "auto" mode."""
    mode: DraftMode = "auto"
    """How it is to go on."""
    wants_stop: threading.Event = field(default_factory=threading.Event)
    told_to_stop_s: float | None = None
    """`time.monotonic` then."""
    stream: Stream | None = None
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)

    def stop(self) -> None:
        """Cancel now, or as soon as there is something to cancel."""
        if self.told_to_stop_s is None:
            self.told_to_stop_s = time.monotonic()
        self.wants_stop.set()
        if self.stream is not None:
            self.stream.cancel()

    def draft(self, mode: DraftMode) -> None:
        """As `Stream.draft`."""
        self.mode = mode
        if self.stream is not None:
            self.stream.draft(mode)

    @property
    def is_stuck(self) -> bool:
        """Whether it was told to stop long ago."""
        told_s = self.told_to_stop_s
        return told_s is not None and time.monotonic() - told_s >= FORCE_AFTER_S

    def as_record(self) -> TurnRecord:
        """The turn so far, whoever asks; its parent may have been taken out meanwhile."""
        parent = self.turn.parent
        return replace(
            self.record,
            parent_id=parent.id if parent else "",
            text="".join(self.text),
            reasoning="".join(self.reasoning),
            updated_s=time.time(),
        )

    def keep(self, journal: Journal) -> None:
        """Keep the turn there from now on, as it is when it is written."""
        self.journal = journal
        journal.grow(self.turn.id, self.as_record)

    def hear(self, event: Event) -> None:
        """Keep what is new."""
        if isinstance(event, Delta):
            (self.reasoning if event.kind == "reasoning" else self.text).append(event.text)
            self.journal.grow(self.turn.id, self.as_record)

    def end(self, status: Status, stats: Stats, error: EdgespecError | None = None) -> TurnEnded:
        """Keep how it ended."""
        said = error.message if error else ""
        self.record = replace(self.record, status=status, stats=stats_dict(stats), error=said)
        self.journal.keep(None, self.as_record())
        return TurnEnded(status, stats, error)

    def leave(self) -> None:
        """End its turn here, whatever its thread still hears; for the front end's thread."""
        journal, self.journal = self.journal, Nowhere()
        stats = stats_dict(self.turn.stats)
        kept = replace(self.as_record(), status="stopped", stats=stats, error="")
        journal.keep(None, kept)
        self.turn.text, self.turn.reasoning = kept.text, kept.reasoning
        self.turn.status = "stopped"


class _GivenUp(Exception):
    """Ends a load that nobody waits for: a loader frees what it has when its progress raises."""


class Workers:
    """Starts the threads and holds what they have told."""

    def __init__(self) -> None:
        self._told: deque[tuple[Turn | None, Update]] = deque()
        self._telling = threading.Lock()
        self._news = threading.Event()
        self._threads: list[threading.Thread] = []
        self._model: LanguageModel | None = None
        self._is_closed = False
        self._gives_up = threading.Event()
        """Of the load that was asked for last; it tells one load from another."""
        self._loader: threading.Thread | None = None

    def hold(self, model: LanguageModel) -> None:
        """The model in use: the one to free."""
        self._model = model

    def load(self, open_model: OpenModel, before: OpenModel | None = None) -> None:
        """Load in a thread, after the model that is loaded now was freed.

        Ends in `Loaded` or `LoadFailed`; with `before` a failure brings that one back. A load
        that is under way is given up, and ended first; nothing of it is told any more.
        """
        self._gives_up.set()
        with self._telling:
            self._gives_up = threading.Event()
            self._told = deque(told for told in self._told if not isinstance(told[1], _OF_LOADS))
        self._loader = self._spawn(
            "edgespec-load", self._load_after, self._loader, self._gives_up, open_model, before
        )

    def give_up_loading(self) -> None:
        """End a load at its next progress: in `LoadStopped`, or on the way back to `before`."""
        self._gives_up.set()

    def leave_behind(self) -> None:
        """Let go of the model without waiting for it: it does not answer."""
        if self._model is not None:
            self._spawn("edgespec-left", self._model.close)
        self._model = None

    def answer(self, run: Run, model: LanguageModel) -> None:
        """Answer in a thread; ends in `TurnEnded`, or in `ContextFull` with nothing decoded."""
        self._spawn("edgespec-answer", self._answer, run, model)

    def tell(self, turn: Turn | None, update: Update) -> None:
        """Hand an update over; any thread."""
        with self._telling:
            self._told.append((turn, update))
        self._news.set()

    def hear(self, state: SaveState) -> None:
        """Tell the person what happened to the history."""
        if state.note:
            self.tell(None, Notice(state.note, is_error=state.word == "UNSAVED"))

    def take(self) -> list[tuple[Turn | None, Update]]:
        """What was told since the last call, with the turn it is about; never blocks."""
        self._news.clear()
        taken = []
        while self._told:
            taken.append(self._told.popleft())
        return taken

    def wait(self) -> None:
        """Block until there is something to take.

        In pieces: Python acts on a signal between them, also on one that came just before a lock's
        wait and did not interrupt it.
        """
        while not self._news.wait(_HEARS_S):
            pass

    def close(self, timeout_s: float) -> None:
        """Wait for the threads; a load ends at its next progress, or frees its model at its end."""
        self._is_closed = True
        if self._model is not None:
            self._model.close()
        for thread in self._threads:
            thread.join(timeout_s)

    def _load_after(
        self,
        loader: threading.Thread | None,
        gives_up: threading.Event,
        open_model: OpenModel,
        before: OpenModel | None,
    ) -> None:
        if loader is not None:
            loader.join()
        self._load(gives_up, open_model, before)

    def _load(
        self,
        gives_up: threading.Event,
        open_model: OpenModel,
        before: OpenModel | None,
        *,
        is_before: bool = False,
    ) -> None:
        def tell_progress(progress: LoadProgress) -> None:
            if self._is_closed or gives_up.is_set() or gives_up is not self._gives_up:
                raise _GivenUp
            self._tell_of(gives_up, progress)

        try:
            if self._model is not None:
                self._model.close()  # first: there may be no room for two
            model = self._model = open_model(tell_progress)
        except _GivenUp:
            if self._is_closed or gives_up is not self._gives_up:
                return
            gives_up.clear()
            if before is None:
                self._tell_of(gives_up, LoadStopped())
                return
            told = Notice("loading was stopped; going back to the model before")
            self._tell_of(gives_up, told)
            self._load(gives_up, before, None, is_before=True)
            return
        except Exception as error:
            fault = _as_told(error)
            if before is None or gives_up is not self._gives_up:
                self._tell_of(gives_up, LoadFailed(fault))
                return
            hint = f"; {fault.hint}" if fault.hint else ""
            told = Notice(f"{fault.message}{hint}; going back to the model before", True)
            self._tell_of(gives_up, told)
            self._load(gives_up, before, None, is_before=True)
            return
        if self._is_closed:
            model.close()
        self._tell_of(gives_up, Loaded(model, is_before))
        for change in model.description.gave_way:
            self._tell_of(gives_up, Notice(f"memory is short: {change}"))

    def _tell_of(self, gives_up: threading.Event, update: Update) -> None:
        """Tell of a load, unless another one has taken its place."""
        with self._telling:
            if gives_up is self._gives_up:
                self._told.append((None, update))
        self._news.set()

    def _answer(self, run: Run, model: LanguageModel) -> None:
        run.journal.flush(_SAVING_S)  # the prompt is on the disk before anything is decoded
        try:
            window = self._summarised(run, model)
            if run.wants_stop.is_set():
                self.tell(run.turn, run.end("stopped", Stats(finish_reason="cancelled")))
                return
            if full := self._full(run, model, window):
                self.tell(run.turn, full)
                return
            try:
                self._stream(run, model, window.messages())
            except ContextOverflow:  # longer than was foreseen
                if (full := overflow(model, window, run.options, run.larger)) is None:
                    raise
                self.tell(run.turn, full)
        except Exception as error:
            self.tell(run.turn, _failed(run, error))

    def _full(self, run: Run, model: LanguageModel, window: Window) -> ContextFull | None:
        about = model.description
        if not run.must_fit or is_surely_short(window, about.n_ctx, run.options, about.target):
            return None
        return overflow(model, window, run.options, run.larger)

    def _stream(self, run: Run, model: LanguageModel, messages: list[Message]) -> None:
        with self._opened(run, model, messages, run.options) as stream:
            for event in stream:
                run.hear(event)
                if not isinstance(event, Done):
                    self.tell(run.turn, event)
        stats = stream.stats
        is_stopped = stats.finish_reason == "cancelled"
        self.tell(run.turn, run.end("stopped" if is_stopped else "complete", stats))

    def _summarised(self, run: Run, model: LanguageModel) -> Window:
        """What the model sees, its oldest turns summed up by itself if that was chosen."""
        window, left = run.window, run.n_to_summarise
        about = model.description
        options = summary_options(run.options, about.n_ctx, can_think=about.can_think)
        while left and not run.wants_stop.is_set():
            n_turns = most_summarised(model, window, options, left)
            text = self._summary(run, model, summary_request(window, n_turns), options)
            window, left = replace(window.without(n_turns), summary=text), left - n_turns
        if run.n_to_summarise and not run.wants_stop.is_set():
            gone = run.window.turns[: run.n_to_summarise]
            self.tell(run.turn, Summarised(window.summary, gone))
        return window

    def _summary(
        self, run: Run, model: LanguageModel, request: list[Message], options: Options
    ) -> str:
        text = ""
        with self._opened(run, model, request, options) as stream:
            for event in stream:
                if isinstance(event, Delta) and event.kind == "text":
                    text += event.text
                elif isinstance(event, PromptProgress):
                    self.tell(run.turn, event)
        if not text.strip() and not run.wants_stop.is_set():
            raise EdgespecError(
                "the model wrote no summary", hint="/context drop leaves the turns out without one"
            )
        return text.strip()

    def _opened(
        self, run: Run, model: LanguageModel, messages: list[Message], options: Options
    ) -> Stream:
        run.stream = stream = model.chat(messages, options)
        if run.wants_stop.is_set():
            stream.cancel()
        told = None
        while told != run.mode:  # it may change meanwhile
            told = run.mode
            stream.draft(told)
        return stream

    def _spawn(self, name: str, work: Callable[..., None], *args: object) -> threading.Thread:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, args=args, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread


def _failed(run: Run, error: Exception) -> TurnEnded:
    stats = run.stream.stats if run.stream is not None else Stats()
    return run.end("error", stats, _as_told(error))


def _as_told(error: Exception) -> EdgespecError:
    """The error as a person is told; one that is not theirs to mend goes to the log in full."""
    if isinstance(error, EdgespecError):
        return error
    logger.error("a worker of the chat failed", exc_info=error)
    return EdgespecError(
        f"edgespec met a fault of its own ({type(error).__name__}: {error})",
        hint="run again with --debug and report what it prints",
    )
