"""The commands that a text may become: which are shown, which one is marked."""

from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from edgespec.chat.commands import Entry

    from .glyphs import Glyphs

MAX_ROWS = 6


class Completion:
    """Follows what is typed."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._at, self._text = 0, ""

    @property
    def marked(self) -> "Entry | None":
        """The command that Tab and Enter take; None: the text becomes none."""
        return self.entries[self._at] if self.entries else None

    def follow(self, text: str) -> None:
        """Find the commands for a text, once; the mark goes to the first."""
        if text == self._text:
            return
        self._text, self._at, self.entries = text, 0, []
        if text.startswith("/"):  # else without their code: the first paint does not wait for it
            from edgespec.chat.commands import completions

            self.entries = completions(text)

    def step(self, by: int) -> None:
        """Mark the next command or the one before, round the end."""
        self._at = (self._at + by) % len(self.entries)

    def close(self) -> None:
        """None of them, until something else is typed."""
        self.entries = []

    def draw(self, glyphs: "Glyphs") -> Content:
        """A row for each command around the mark, and how many there are besides."""
        n_rows = MAX_ROWS if len(self.entries) <= MAX_ROWS else MAX_ROWS - 1
        first = max(0, self._at - n_rows + 1)
        rows: list[Content | str] = []
        for entry in self.entries[first : first + n_rows]:
            is_marked = entry is self.marked
            row = f" {glyphs.prompt if is_marked else ' '} {entry.usage:<26}{entry.summary}"
            rows.append(Content.styled(row, "bold $foreground" if is_marked else ""))
        if len(self.entries) > n_rows:
            rows.append(f"   {glyphs.ellipsis} {len(self.entries) - n_rows} more")
        return Content("\n").join(rows)
