"""The header line and the two live lines above the prompt."""

from textual.content import Content

from edgespec.chat.controller import ChatController

from . import lines
from .glyphs import Glyphs
from .live import Live
from .shelf import Models

WITH_PLACES = 84
"""Columns from which the strip has room for the acceptance by place."""


class HeaderBar:
    """Models, context, backend."""

    def __init__(self, chat: ChatController, glyphs: Glyphs, models: Models) -> None:
        self._chat, self._glyphs, self._models = chat, glyphs, models

    def draw(self, width: int, height: int) -> Content:
        """One line as wide as the terminal."""
        fetched = self._models.fraction
        return lines.header(self._chat, width, self._glyphs, fetched=fetched)


class SpecStrip:
    """What the drafter and the engine are doing now."""

    def __init__(self, chat: ChatController, glyphs: Glyphs, pulse: Live) -> None:
        self._chat, self._glyphs, self._pulse = chat, glyphs, pulse

    def draw(self, width: int, height: int) -> Content:
        """Two lines as wide as the terminal; one where the side panel shows the rest."""
        chat, glyphs, doing = self._chat, self._glyphs, self._doing()
        turn = next((t for t in reversed(chat.turns) if t.stats.passes), None)
        draft = lines.draft_words(chat, is_resting=self._pulse.is_resting)
        if turn is None and height == 1:
            return self._rows(width, (doing, draft))
        if turn is None:
            return self._rows(width, (draft, Content("")), (doing, Content("")))
        stats = turn.stats
        speed = lines.speed(stats, glyphs)
        accepted = lines.acceptance(stats, with_places=width >= WITH_PLACES)
        if height == 1:
            return self._rows(width, (doing if doing.plain else speed, draft))
        per_round = stats.mean_acceptance_length
        right = f"{per_round:.2f} tok/round" if per_round else ""
        if per_round and width >= WITH_PLACES:
            right = f"{lines.draft_len(turn)}  {right}"
        is_on = chat.draft.word == "ON"
        last = lines.last_round(turn, glyphs) if is_on else Content("")
        top = (Content.assemble(draft, "  ", last), accepted)
        below = (doing, Content("")) if doing.plain else (speed, Content(right))
        return self._rows(width, top, below)

    def _rows(self, width: int, *rows: tuple[Content, Content]) -> Content:
        ellipsis = self._glyphs.ellipsis
        drawn = [lines.spread(width, left, right, ellipsis) for left, right in rows]
        return Content("\n").join(drawn)

    def _doing(self) -> Content:
        chat, glyphs = self._chat, self._glyphs
        match chat.state:
            case "BOOT" | "LOADING":
                return lines.loading(chat.progress, glyphs)
            case "PREFILL":
                return lines.prefill(chat.reading, glyphs)
            case "SUMMARISING":
                return lines.prefill(chat.reading, glyphs, "summarising")
            case "FULL":
                return Content.styled("the context is full: choose what to do", "bold")
            case "THINKING":
                turn = next((t for t in chat.turns if t.status == "running"), chat.turns[-1])
                words = f"thinking{glyphs.ellipsis} {turn.stats.decode_s:.1f} s"
                return Content(f"{words} {glyphs.dot} {turn.reasoning_tokens} tok")
            case "READY" if not chat.turns:
                return Content("F1 shows keys and commands")
            case "STOPPING":
                force = "  Esc again leaves it behind and loads the model anew"
                words = f"stopping{glyphs.ellipsis}{force if chat.can_force else ''}"
                return Content.styled(words, "bold")
            case "ERROR":
                what = "the last answer failed" if chat.model else "the model could not be loaded"
                return Content.styled(what, "bold $text-error")
            case _:
                return Content("")
