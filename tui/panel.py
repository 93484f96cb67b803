"""The side panel of wide terminals: acceptance by place, speeds, times of the last answer."""

from textual.content import Content

from edgespec.chat.controller import ChatController, Turn
from edgespec.chat.turns import ratio
from edgespec.events import Stats
from edgespec.text.clean import clean

from . import lines
from .blocks import MUTED
from .glyphs import Glyphs
from .live import Live

BAR_WIDTH = 14
MAX_PLACES = 8
CURVE_WIDTH = 20


class SpecPanel:
    """What drafting gives, in figures that can be added up."""

    def __init__(self, chat: ChatController, glyphs: Glyphs, pulse: Live) -> None:
        self._chat, self._glyphs, self._pulse = chat, glyphs, pulse

    def draw(self, width: int, height: int) -> Content:
        """A column of lines."""
        chat, glyphs = self._chat, self._glyphs
        turn = next((t for t in reversed(chat.turns) if t.stats.passes), None)
        stats = turn.stats if turn is not None else Stats()
        paused = lines.paused(self._pulse, stats, glyphs)
        words = lines.draft_words(chat, paused=paused)
        head = Content.assemble(("SPECULATIVE  ", "bold"), words, "\n\n")
        if (error := chat.trouble.error) is not None:
            what = ("ERROR: ", "bold $text-error")
            head = Content.assemble(head, what, clean(error.message), "\n\n")
        note = "".join(f"\n\n{told}" for told in self._notes(stats))
        if turn is None:
            return Content.assemble(head, "no answer yet", (note, MUTED))
        round_words = lines.last_round(turn, glyphs)
        if round_words.plain:
            head = Content.assemble(head, "last round\n", round_words, "\n\n")
        figures = (*_places(turn.stats, glyphs), _figures(turn, glyphs, self._pulse.plain_seen))
        curve = lines.spark(self._pulse.speeds(CURVE_WIDTH), glyphs)
        speeds = f"\nminute     {curve}" if curve else ""
        return Content.assemble(head, *figures, speeds, (note, MUTED))

    def _notes(self, stats: Stats) -> list[str]:
        """Why it drafts so, and what changes it."""
        chat, draft, told = self._chat, self._chat.draft, list[str]()
        if draft.word == "ON" and draft.note and not draft.is_forced:
            told.append(f"note: {clean(draft.note)}")
        if draft.word == "ON" and not draft.is_forced and self._pulse.is_resting:
            told.append(f"paused: {self._why_paused(stats)}; F5 drafts at every step")
        if draft.word == "NONE" and chat.description is not None:
            named = f"edgespec pair {clean(chat.description.target)}"
            told.append(f"F5 drafts without a second model; {named} lists those that fit")
        return told

    def _why_paused(self, stats: Stats) -> str:
        slower = lines.slowdown(self._pulse, stats)
        if slower is None:
            return "no draft promised more than a plain step"
        return f"the last drafts made {slower:.2f}{self._glyphs.times} of plain"


def _places(stats: Stats, glyphs: Glyphs) -> list[str]:
    places = stats.acceptance_per_position[:MAX_PLACES]
    rows = [
        f"place {i} {lines.bar(share, glyphs, BAR_WIDTH)} {share:>4.0%}\n"
        for i, share in enumerate(places, 1)
    ]
    return [*rows, "\n"] if rows else []


def _figures(turn: Turn, glyphs: Glyphs, plain_seen: int) -> str:
    stats, rows = turn.stats, list[tuple[str, str]]()
    if stats.acceptance_rate is not None:
        judged = stats.accepted + stats.rejected
        rows.append(("accept", f"{stats.acceptance_rate:.0%} ({stats.accepted}/{judged})"))
        rounds = "1 round" if stats.rounds == 1 else f"{stats.rounds} rounds"
        rows.append(("length", lines.draft_len(turn)))
        rows.append(("tok/round", f"{stats.mean_acceptance_length:.2f} in {rounds}"))
    if stats.decode_tokens_per_s is not None:
        rows.append(("speed", f"{stats.decode_tokens_per_s:.1f} tok/s"))
    if (times := ratio(stats)) is not None:
        against = f"{stats.plain_tokens_per_s:.1f} tok/s = {times:.2f}{glyphs.times}"
        rows.append(("plain", against))
    elif stats.rounds and stats.plain_tokens_per_s is None:
        rows.append(("plain", f"WARMING: measuring {lines.warmed(plain_seen)}"))
    if stats.passes:
        rows.append(("draft", f"{1000 * stats.draft_s / stats.passes:.1f} ms/step"))
        rows.append(("target", f"{1000 * stats.target_s / stats.passes:.1f} ms/step"))
        rows.append(("verify", f"{1000 * stats.verify_s / stats.passes:.1f} ms/step"))
    rows.append(("prompt", f"{stats.prompt_tokens} tok, {stats.cached_tokens} cached"))
    if stats.ttft_s is not None:
        rows.append(("first", f"{stats.ttft_s:.2f} s"))
    return "\n".join(f"{name:<11}{value}" for name, value in rows)
