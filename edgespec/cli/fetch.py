"""Shows a model being fetched: one moving line on a terminal, a line per tenth in a log."""

from typing import TYPE_CHECKING

from edgespec.cli.render import Screen
from edgespec.cli.wording import duration
from edgespec.models.spec import ModelSpec
from edgespec.sizes import gigabytes

if TYPE_CHECKING:
    from edgespec.store import PullProgress


def fetch(screen: Screen, spec: ModelSpec, *, offline: bool = False) -> None:
    """Get the model's file onto this machine. Raises: `DownloadError`, `ModelNotFound`."""
    from edgespec.store import pull  # network code, which a model that is here needs none of

    path = pull(spec, Shown(screen), offline=offline)
    screen.note(f"{spec.id} is here now: {path}")


class Shown:
    """Listens to a pull and shows it."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._source = ""
        self._tenths = 0
        self._has_bytes = False
        self._note = ""
        self._is_stalled = False
        self._is_waiting = False

    def __call__(self, state: "PullProgress") -> None:
        """Show one state."""
        if state.phase == "download" and state.source != self._source:
            self._begin(state)
        if state.phase == "download" and state.done_bytes and not self._has_bytes:
            self._has_bytes = True
            self._go_on(state)
        if state.note and state.note != self._note:
            self._screen.note(state.note)
        self._note = state.note
        if self._screen.is_err_terminal:
            self._screen.status(progress_line(state))
        elif state.phase == "download":
            self._log(state)
        elif state.phase == "wait" and not self._is_waiting:
            self._is_waiting = True
            self._screen.note(progress_line(state))

    def _begin(self, state: "PullProgress") -> None:
        self._source = state.source
        size = f" ({gigabytes(state.total_bytes)})" if state.total_bytes else ""
        self._screen.note(f"fetching {state.file}{size} from {state.source}")
        self._tenths, self._has_bytes = 0, False

    def _go_on(self, state: "PullProgress") -> None:
        """The first bytes: those that are told before any rate is known were there before."""
        if state.bytes_per_s is None:
            self._tenths = state.done_bytes * 10 // (state.total_bytes or 1)
            self._screen.note(f"going on after {gigabytes(state.done_bytes)}")

    def _log(self, state: "PullProgress") -> None:
        """For a log: each tenth, and once per stall that data stopped."""
        if state.stalled_s and not self._is_stalled:
            self._screen.note(f"no data for {state.stalled_s:.0f} s")
        self._is_stalled = bool(state.stalled_s)
        if state.total_bytes:
            tenths = state.done_bytes * 10 // state.total_bytes
            if self._tenths < tenths <= 10:
                self._tenths = tenths
                self._screen.note(f"{tenths * 10} %")


def progress_line(state: "PullProgress") -> str:
    """For example "fetching m.gguf: 3.10 GB of 9.00 GB, 34%, 41 MB/s, 2:24 left"."""
    if state.phase == "wait":
        return f"{state.doing} {state.file}"
    parts = [f"{state.doing} {state.file}: {gigabytes(state.done_bytes)}"]
    if state.total_bytes:
        left_bytes = max(0, state.total_bytes - state.done_bytes)
        parts[0] += f" of {gigabytes(state.total_bytes)}"
        parts.append(f"{1 - left_bytes / state.total_bytes:.0%}")
    if state.stalled_s:
        parts.append(f"no data for {state.stalled_s:.0f} s")
    elif state.bytes_per_s and state.phase == "download":
        parts.append(f"{gigabytes(int(state.bytes_per_s))}/s")
        if state.left_s:
            parts.append(f"{_whole(state.left_s)} left")
    return ", ".join(parts)


def _whole(left_s: float) -> str:
    """A guess needs no hundredths."""
    return duration(left_s) if left_s >= 10 else f"{max(1, round(left_s))} s"
