"""The log of this process: what the engine and the chat wrote, newest at the end."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Log

from edgespec import paths

from .dialog import Dialog
from .keys import bindings
from .recent import MAX_LINES, Recent


class LogScreen(Dialog[None]):
    """Follows the log; s saves it, without notices: they may quote the conversation."""

    TITLE = "Log"
    HINT = "s saves it, Esc closes"
    BINDINGS: ClassVar[list[BindingType]] = bindings("log")

    def __init__(self, recent: Recent) -> None:
        super().__init__()
        self._recent = recent
        self._n_shown = 0

    def parts(self) -> Iterable[Widget]:
        """The lines."""
        yield Log(id="lines", max_lines=MAX_LINES)

    def on_mount(self) -> None:
        """Show what there is, then what comes."""
        super().on_mount()
        log = self.query_one(Log)
        log.write_lines(self._recent.lines or ["nothing was logged yet"])
        log.focus()
        self._last = self._recent.lines[-1] if self._recent.lines else None
        self.set_interval(0.5, self._follow)

    def _follow(self) -> None:
        lines = list(self._recent.lines)
        if lines and lines[-1] is not self._last:
            known = next((i for i, line in enumerate(lines) if line is self._last), -1)
            self.query_one(Log).write_lines(lines[known + 1 :])
            self._last = lines[-1]

    def action_save(self) -> None:
        """Write the lines into a file."""
        path = paths.state_dir() / "edgespec-log.txt"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(self._recent.logged) + "\n", encoding="utf-8")
        except OSError as error:
            self.notify(f"cannot write {path}: {error.strerror}", severity="error", markup=False)
            return
        self.notify(f"saved as {path}", markup=False)
