"""Shows a model being fetched: one moving line on a terminal, a line per tenth in a log."""

from edgespec.cli.render import Screen
from edgespec.cli.wording import duration
from edgespec.models.spec import ModelSpec
from edgespec.sizes import gigabytes
from edgespec.store import PullProgress, pull

_WORDS = {
    "wait": "waiting for another process that fetches",
    "download": "fetching",
    "join": "joining",
    "verify": "checking",
}


def fetch(screen: Screen, spec: ModelSpec, *, offline: bool = False) -> None:
    """Get the model's file onto this machine. Raises: `DownloadError`, `ModelNotFound`."""
    path = pull(spec, Shown(screen), offline=offline)
    screen.note(f"{spec.id} is here now: {path}")


def sources(spec: ModelSpec) -> str:
    """Where a model comes from, in the order in which it is tried."""
    return ", else ".join(str(source) for source in spec.sources)


class Shown:
    """Listens to a pull and shows it."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._source = ""
        self._tenths = 0

    def __call__(self, state: PullProgress) -> None:
        """Show one state."""
        if state.phase == "download" and state.source != self._source:
            self._source, self._tenths = state.source, 0
            size = f" ({gigabytes(state.total_bytes)})" if state.total_bytes else ""
            self._screen.note(f"fetching {state.file}{size} from {state.source}")
        if self._screen.is_err_terminal:
            self._screen.status(progress_line(state))
        elif state.phase == "download" and state.total_bytes:
            self._note_tenth(state.done_bytes * 10 // state.total_bytes)

    def _note_tenth(self, tenths: int) -> None:
        if self._tenths < tenths <= 10:
            self._tenths = tenths
            self._screen.note(f"{tenths * 10} %")


def progress_line(state: PullProgress) -> str:
    """For example "fetching m.gguf: 3.10 GB of 9.00 GB, 34%, 41 MB/s, 2:24 left"."""
    parts = [f"{_WORDS[state.phase]} {state.file}: {gigabytes(state.done_bytes)}"]
    left_bytes = None
    if state.total_bytes:
        left_bytes = max(0, state.total_bytes - state.done_bytes)
        parts[0] += f" of {gigabytes(state.total_bytes)}"
        parts.append(f"{1 - left_bytes / state.total_bytes:.0%}")
    if state.bytes_per_s and state.phase == "download":
        parts.append(f"{gigabytes(int(state.bytes_per_s))}/s")
        if left_bytes:
            parts.append(f"{duration(left_bytes / state.bytes_per_s)} left")
    return ", ".join(parts)
