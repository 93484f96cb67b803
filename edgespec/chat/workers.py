"""The threads behind a chat: one loads, one per answer reads the stream.

They hand updates over through a deque and never touch a turn, so the front end is never called
from another thread and can never hold the engine up.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from edgespec.api.types import LanguageModel, Message, Options, Stream
from edgespec.chat.turns import Loaded, LoadFailed, LoadProgress, Turn, TurnEnded, Update
from edgespec.errors import ContextOverflow, EdgespecError
from edgespec.events import Done, Stats

logger = logging.getLogger(__name__)

_TOO_LONG = "/new starts a new chat; a larger --ctx holds a longer one"
"""Of a conversation a person cannot shorten more than the last message."""

OpenModel = Callable[[Callable[[LoadProgress], None]], LanguageModel]
"""Loads the model, telling its progress; runs off the front end's thread."""


@dataclass(slots=True, eq=False)
class Run:
    """An answer under way; `stop` and the worker meet here without a lock.

    `stop` sets the flag, then looks for the stream; the worker stores the stream, then looks at
    the flag: whatever the order, one of them cancels.
    """

    turn: Turn
    wants_stop: threading.Event = field(default_factory=threading.Event)
    stream: Stream | None = None

    def stop(self) -> None:
        """Cancel now, or as soon as there is something to cancel."""
        self.wants_stop.set()
        if self.stream is not None:
            self.stream.cancel()


class _GivenUp(Exception):
    """Ends a load whose chat was closed: a loader frees what it has when its progress raises."""


class Workers:
    """Starts the threads and holds what they have told."""

    def __init__(self) -> None:
        self._told: deque[tuple[Turn | None, Update]] = deque()
        self._news = threading.Event()
        self._threads: list[threading.Thread] = []
        self._model: LanguageModel | None = None
        self._is_closed = False

    def load(self, open_model: OpenModel) -> None:
        """Load in a thread; ends in `Loaded` or `LoadFailed`."""
        self._spawn("edgespec-load", self._load, open_model)

    def answer(
        self, run: Run, model: LanguageModel, messages: list[Message], options: Options
    ) -> None:
        """Answer in a thread; ends in `TurnEnded`."""
        self._spawn("edgespec-answer", self._answer, run, model, messages, options)

    def take(self) -> list[tuple[Turn | None, Update]]:
        """What was told since the last call, with the turn it is about; never blocks."""
        self._news.clear()
        taken = []
        while self._told:
            taken.append(self._told.popleft())
        return taken

    def wait(self) -> None:
        """Block until there is something to take."""
        self._news.wait()

    def close(self, timeout_s: float) -> None:
        """Wait for the threads; a load ends at its next progress, or frees its model at its end."""
        self._is_closed = True
        if self._model is not None:
            self._model.close()
        for thread in self._threads:
            thread.join(timeout_s)

    def _load(self, open_model: OpenModel) -> None:
        try:
            model = self._model = open_model(self._tell_progress)
        except _GivenUp:
            return
        except Exception as error:
            self._tell(None, LoadFailed(_as_told(error)))
            return
        if self._is_closed:
            model.close()
        self._tell(None, Loaded(model))

    def _tell_progress(self, progress: LoadProgress) -> None:
        if self._is_closed:
            raise _GivenUp
        self._tell(None, progress)

    def _answer(
        self, run: Run, model: LanguageModel, messages: list[Message], options: Options
    ) -> None:
        try:
            with model.chat(messages, options) as stream:
                run.stream = stream
                if run.wants_stop.is_set():
                    stream.cancel()
                for event in stream:
                    if not isinstance(event, Done):
                        self._tell(run.turn, event)
        except Exception as error:
            if isinstance(error, ContextOverflow) and len(messages) > 1:
                error = ContextOverflow(error.needed, error.limit, hint=_TOO_LONG)
            stats = run.stream.stats if run.stream is not None else Stats()
            self._tell(run.turn, TurnEnded("error", stats, _as_told(error)))
            return
        is_stopped = stream.stats.finish_reason == "cancelled"
        self._tell(run.turn, TurnEnded("stopped" if is_stopped else "complete", stream.stats))

    def _tell(self, turn: Turn | None, update: Update) -> None:
        self._told.append((turn, update))
        self._news.set()

    def _spawn(self, name: str, work: Callable[..., None], *args: object) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, args=args, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()


def _as_told(error: Exception) -> EdgespecError:
    """The error as a person is told; one that is not theirs to mend goes to the log in full."""
    if isinstance(error, EdgespecError):
        return error
    logger.error("a worker of the chat failed", exc_info=error)
    return EdgespecError(
        f"edgespec met a fault of its own ({type(error).__name__}: {error})",
        hint="run again with --debug and report what it prints",
    )
