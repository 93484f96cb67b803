"""One turn on screen: the message, the folded reasoning, the answer, a line of figures."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.widgets import Static

from edgespec.chat.controller import Turn
from edgespec.errors import EdgespecError
from edgespec.text.clean import clean

from . import lines
from .answer import Answer
from .glyphs import Glyphs

TAIL_CHARS = 1200
"""Of growing reasoning only so much is laid out again at each update."""


def error_words(error: EdgespecError) -> Content:
    """`error: sentence`, and the next command below it."""
    words = Content.assemble(("error: ", "bold $text-error"), clean(error.message))
    return Content.assemble(words, f"\n{clean(error.hint)}") if error.hint else words


class ThinkFold(Vertical):
    """Reasoning: its tail while the model thinks, folded once it answers."""

    def __init__(self, turn: Turn, glyphs: Glyphs) -> None:
        super().__init__(classes="think")
        self._turn, self._glyphs = turn, glyphs
        self.is_folded = False
        self._head = Static(markup=False, classes="think-head")
        self._body = Static(markup=False, classes="think-body")

    def compose(self) -> ComposeResult:
        """A head to click on, and the text."""
        yield self._head
        yield self._body

    def refresh_text(self, *, is_growing: bool) -> None:
        """Show the reasoning so far."""
        turn, glyphs = self._turn, self._glyphs
        sign = glyphs.folded if self.is_folded else glyphs.unfolded
        if is_growing:
            words = f"{sign} thinking{glyphs.ellipsis} {glyphs.dot} {turn.reasoning_tokens} tok"
        else:
            spent = f"{turn.reasoning_s:.1f} s {glyphs.dot} {turn.reasoning_tokens} tok"
            words = f"{sign} thought for {spent}  (Ctrl+O)"
        self._head.update(words)
        if not self.is_folded:
            text = clean(turn.reasoning).strip()
            self._body.update(text[-TAIL_CHARS:] if is_growing else text)
        self._body.display = not self.is_folded

    def fold(self, is_folded: bool) -> None:
        """Fold or unfold."""
        self.is_folded = is_folded
        self.refresh_text(is_growing=False)

    def on_click(self, event: Click) -> None:
        """A click on the head folds or unfolds."""
        if event.widget is self._head:
            self.fold(not self.is_folded)


class TurnView(Vertical):
    """Draws a `Turn`; `sync` brings it up to date, `finish` draws it for good."""

    def __init__(self, turn: Turn, glyphs: Glyphs) -> None:
        super().__init__(classes="turn")
        self.turn, self._glyphs = turn, glyphs
        self._user = Static(self._user_words(), markup=False, classes="user")
        self.think = ThinkFold(turn, glyphs)
        self.answer = Answer(glyphs.bullets)
        self._error = Static(markup=False, classes="error")
        self._end = Static(markup=False, classes="turn-end")
        self._n_fed = 0
        self._is_answering = False
        self._is_waiting = turn.status == "queued"

    def compose(self) -> ComposeResult:
        """Every part a turn may get."""
        yield self._user
        yield self.think
        yield self.answer
        yield self._error
        yield self._end

    def on_mount(self) -> None:
        """Nothing but the message is there yet."""
        for part in (self.think, self.answer, self._error, self._end):
            part.display = False
        self.refresh_end()

    def _user_words(self) -> Content:
        label = f"you {self._glyphs.prompt} "
        return Content.assemble((label, "bold $text-accent"), clean(self.turn.prompt))

    async def sync(self) -> None:
        """Draw what came since the last call."""
        turn = self.turn
        if self._is_waiting and turn.status != "queued":
            self._is_waiting = False
            self.refresh_end()
        if turn.reasoning and not turn.text:
            self.think.display = True
            self.think.refresh_text(is_growing=turn.status == "running")
        if turn.text and not self._is_answering:
            self._is_answering = self.answer.display = True
            if turn.reasoning:
                self.think.display = True
                self.think.fold(True)
        if len(turn.text) > self._n_fed:
            piece, self._n_fed = turn.text[self._n_fed :], len(turn.text)
            await self.answer.feed(piece)

    async def finish(self) -> None:
        """Draw the whole turn, its figures and its error."""
        await self.sync()
        if self.turn.reasoning:
            self.think.refresh_text(is_growing=False)
        if self.turn.text:
            await self.answer.finish(self.turn.text)
        if self.turn.error is not None:
            self._error.update(error_words(self.turn.error))
            self._error.display = True
        self.refresh_end()

    def refresh_end(self) -> None:
        """Draw the line of figures again: the turn was replaced."""
        words = lines.turn_end(self.turn, self._glyphs)
        self._end.update(words)
        self._end.display = bool(words.plain)
