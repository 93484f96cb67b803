"""The header line and the two live lines above the prompt."""

from textual.content import Content

from edgespec.chat.controller import ChatController, Turn
from edgespec.events import Stats

from . import lines
from .glyphs import Glyphs
from .live import Live
from .shelf import Models

WITH_COUNTS = 96
"""Columns from which the strip has room for the counts behind the acceptance, and for times."""
CURVE_WIDTH = 16


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
        stats = turn.stats if turn is not None else Stats()
        draft = lines.draft_words(chat, paused=lines.paused(self._pulse, stats, glyphs))
        if turn is None and height == 1:
            return self._rows(width, (doing, draft))
        if turn is None:
            return self._rows(width, (draft, Content("")), (doing, Content("")))
        if height == 1:
            speed = lines.speed(stats, glyphs, self._pulse.plain_seen)
            return self._rows(width, (doing if doing.plain else speed, draft))
        return self._rows(width, self._drafted(turn, width), self._speed(turn, width, doing))

    def _drafted(self, turn: Turn, width: int) -> tuple[Content, Content]:
        """Whether it drafts, the last round; how much was accepted."""
        chat, stats, last = self._chat, turn.stats, turn.last_round
        paused = lines.paused(self._pulse, stats, self._glyphs)
        drafted = last.step.drafted if last is not None else 0
        draft = lines.draft_words(chat, paused=paused, drafted=drafted)
        accepted = lines.acceptance(stats)
        if width < WITH_COUNTS:
            accepted = accepted.partition(" (")[0]
        if width >= lines.NARROW:
            accepted = "  ".join(filter(None, (accepted, lines.by_place(stats))))
        if chat.draft.word == "ON" and (chat.draft.is_forced or not paused):
            room = width - 6 - draft.cell_length - len(accepted)
            draft = Content.assemble(draft, "  ", lines.last_round(turn, self._glyphs, room))
        return draft, Content(accepted)

    def _speed(self, turn: Turn, width: int, doing: Content) -> tuple[Content, Content]:
        """What it does now, else how fast it is; the last minute's curve, tokens of a round."""
        stats, glyphs = turn.stats, self._glyphs
        if doing.plain:
            return doing, Content("")
        speed = lines.speed(stats, glyphs, self._pulse.plain_seen)
        per_round = stats.mean_acceptance_length
        if width < lines.NARROW:
            parts = [lines.by_place(stats)]
        else:
            parts = [lines.times(stats)] if width >= WITH_COUNTS else []
            parts.append(lines.spark(self._pulse.speeds(CURVE_WIDTH), glyphs))
            parts.append(f"{per_round:.2f} tok/round" if per_round is not None else "")
        while parts and len("  ".join(parts)) > width - 4 - speed.cell_length:
            del parts[0]
        return speed, Content("  ".join(filter(None, parts)))

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
