"""Gets a model onto this machine, as an iterator of what is happening.

    for state in edgespec.download("qwen3-14b"):
        bar(state.done_bytes, state.total_bytes, state.bytes_per_s, state.note)

The pull runs in a thread of its own; whoever iterates may be slow.
"""

import queue
import threading
from collections.abc import Iterator
from pathlib import Path

from edgespec.models.catalogue import load_catalogue
from edgespec.models.hub_listing import ask_hub, ask_nobody
from edgespec.models.names import resolve
from edgespec.models.spec import ModelSpec
from edgespec.store import PullProgress, pull
from edgespec.store.job import Patience

_Item = PullProgress | BaseException | Path | None
"""What the pull's thread sends; None at the end."""

_STOP_S = 5.0


class Download:
    """A pull in progress. Ends it when closed, by a `with` block too; what came is kept."""

    def __init__(self, spec: ModelSpec | Path, *, offline: bool, patience: Patience) -> None:
        self._states: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._is_closed = threading.Event()
        self.path: Path | None = None
        """The model's file, once the iterator has ended."""
        if isinstance(spec, Path):
            self._states.put(spec)  # a file of one's own, or of another program: nothing to fetch
            self._states.put(None)
            self._thread = None
            return
        self._thread = threading.Thread(
            target=self._run, args=(spec, offline, patience), name="edgespec-pull", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Cancel if it still runs; any thread; safe to call again. Who iterates hears the end."""
        self._is_closed.set()
        self._states.put(None)
        if self._thread is not None:
            self._thread.join(_STOP_S)

    def __iter__(self) -> Iterator[PullProgress]:
        try:
            while (state := self._states.get()) is not None:
                if isinstance(state, BaseException):
                    raise state
                if isinstance(state, Path):
                    self.path = state
                else:
                    yield state
        finally:
            self.close()

    def __enter__(self) -> "Download":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, spec: ModelSpec, offline: bool, patience: Patience) -> None:
        try:
            self._states.put(pull(spec, self._tell, offline=offline, patience=patience))
        except _Closed:
            return
        except BaseException as error:
            self._states.put(error)
        finally:
            self._states.put(None)

    def _tell(self, state: PullProgress) -> None:
        if self._is_closed.is_set():
            raise _Closed
        self._states.put(state)


class _Closed(Exception):
    """Nobody listens any more."""


def download(
    model: str | Path, *, offline: bool = False, patience: Patience = Patience()
) -> Download:
    """Get the model that `model` names onto this machine, if it is not here yet.

    Iterate for its states; `path` is the file's afterwards, and None where it was closed before.
    Raises at once: `ModelNotFound`. While iterating: `DownloadError` with every
    source's reason; `ModelNotFound` when offline. Closing cancels within a second.
    """
    ask = ask_nobody if offline else ask_hub
    resolved = resolve(str(model), load_catalogue(), ask=ask)
    return Download(resolved.model, offline=offline, patience=patience)
