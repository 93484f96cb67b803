"""The chrome's lines as text: header, live strip, prefill, statistics of a turn.

Pure: from the conversation's state and a width to `Content`. Every signal is a word or a sign;
colour only repeats it.
"""

from typing import TYPE_CHECKING

from textual.content import Content

from edgespec.api.types import Description
from edgespec.chat.controller import ChatController, LoadProgress, Turn
from edgespec.chat.turns import ContextUsage, Reading, ratio
from edgespec.errors import EdgespecError
from edgespec.events import PLAIN_STEPS, Stats
from edgespec.sizes import gigabytes
from edgespec.text.clean import clean

from .glyphs import Glyphs

if TYPE_CHECKING:
    from edgespec.store import PullProgress

    from .live import Live

BAR_WIDTH = 8
MAX_PIECE = 14
MAX_PLACES = 6
NARROW = 72
"""Columns below which the draft model's name is left out."""
PAUSED = "no draft pays now"


def spread(width: int, left: Content, right: Content | str = "", ellipsis: str = "") -> Content:
    """`left` and `right` at the two edges of one line, a column of margin each side.

    What does not fit is cut from the left text; the right one goes when it alone is too long.
    """
    right = Content(right) if isinstance(right, str) else right
    room = width - 2
    if right.cell_length > room:
        right = Content("")
    for_left = max(0, room - right.cell_length - (2 if right.cell_length else 0))
    if left.cell_length > for_left:
        cut = left.truncate(max(0, for_left - len(ellipsis)))
        left = Content.assemble(cut, ellipsis if for_left > len(ellipsis) else "")
    gap = max(0, room - left.cell_length - right.cell_length)
    return Content.assemble(" ", left, " " * gap, right)


def bar(fraction: float, glyphs: Glyphs, width: int = BAR_WIDTH) -> str:
    """A bar of `width` cells."""
    n_full = round(min(1.0, max(0.0, fraction)) * width)
    return glyphs.full * n_full + glyphs.empty * (width - n_full)


def thousands(n: int) -> str:
    """512, 1.4k, 32k."""
    if n < 1000:
        return str(n)
    return f"{n / 1000:.1f}k" if n < 9950 and n % 1000 >= 50 else f"{n / 1000:.0f}k"


def header(
    chat: ChatController, width: int, glyphs: Glyphs, *, fetched: float | None = None
) -> Content:
    """Which models, what of it is saved, how full the context is, what computes."""
    badges = [] if fetched is None else [f"{glyphs.down} {fetched:.0%}"]
    saved = chat.chats.state.word
    if saved != "SAVED":
        badges.append(f"{saved}{' !' if saved == 'UNSAVED' else ''}")
    badge = Content.styled("  ".join(badges) + "  " if badges else "", "bold $text-warning")
    if chat.description is None:
        return spread(width, Content.styled("edgespec", "bold"), badge)
    used = Content.assemble(badge, context_words(chat.usage, glyphs))
    about = chat.description
    if width < NARROW:
        return spread(width, _target(about), used, glyphs.ellipsis)
    pair = _pair(about, with_quant=True)
    right = Content.assemble(used, f"  {clean(about.backend)}")
    if pair.cell_length + right.cell_length + 4 > width:  # the draft's name says more
        right = used
    if pair.cell_length + right.cell_length + 4 > width:
        pair = _pair(about, with_quant=False)
    return spread(width, pair, right, glyphs.ellipsis)


def _target(about: Description) -> Content:
    return Content.assemble((clean(about.target), "bold"), f" {about.target_quant}")


def _pair(about: Description, *, with_quant: bool) -> Content:
    if not about.draft:
        return _target(about)
    quant = f" {about.draft_quant}" if with_quant else ""
    return Content.assemble(_target(about), f" + {clean(about.draft)}{quant}")


def context_words(usage: ContextUsage, glyphs: Glyphs) -> Content:
    """`ctx ▓▓░░░░░░ 1.4k/8.2k 17%`; from 80 % with a "!"."""
    counts = f" {thousands(usage.n_tokens)}/{thousands(usage.n_ctx)} {usage.fraction:.0%}"
    words = f"ctx {bar(usage.fraction, glyphs)}{counts}"
    return (
        Content.styled(f"{words} !", "bold $text-warning") if usage.is_near_full else Content(words)
    )


def paused(pulse: "Live", stats: Stats, glyphs: Glyphs) -> str:
    """Why nothing is drafted: `last drafts 0.91× plain`; empty: it is not resting."""
    if not pulse.is_resting:
        return ""
    slower = slowdown(pulse, stats)
    return PAUSED if slower is None else f"last drafts {slower:.2f}{glyphs.times} plain"


def slowdown(pulse: "Live", stats: Stats) -> float | None:
    """The last drafts' speed against plain; None where they were not slower, or nobody knows."""
    speed, plain = pulse.drafts_tokens_per_s, stats.plain_tokens_per_s
    if speed is None or not plain:
        return None
    return speed / plain if round(speed / plain, 2) < 1 else None


def draft_words(chat: ChatController, *, paused: str = "", drafted: int = 0) -> Content:
    """`draft ON model k 4`, AUTO-PAUSED, or OFF or NONE with who or what wants it.

    Nothing while it is not known. `paused`: why nothing is drafted, if so. `drafted`: the last
    draft's length, 0 where it stands elsewhere.
    The reason why another drafter than the one hoped for is ON is told once, by a notice: here
    it would take the last round's place.
    """
    draft = chat.draft
    if chat.description is None and draft.word == "ON":
        return Content("")
    style = {"ON": "bold $text-success", "OFF": "bold $text-warning", "NONE": "bold"}[draft.word]
    if draft.word == "ON" and paused and not draft.is_forced:
        return Content.assemble("draft ", ("AUTO-PAUSED", "bold $text-warning"), f" ({paused})")
    words = Content.assemble("draft ", (draft.word, style))
    if draft.word == "ON":
        how = f" {draft.name}{' (forced)' if draft.is_forced else ''}"
        return Content.assemble(words, how, f" k {drafted}" if drafted else "")
    why = clean(draft.note) or ("you" if draft.word == "OFF" else "")
    return Content.assemble(words, f" ({why})") if why else words


def last_round(turn: Turn, glyphs: Glyphs, room: int | None = None) -> Content:
    """`✓the ✓target ✗it→them`: what was drafted, and what the target said instead or after it.

    Where `room` cells are too few, an ellipsis stands for the first ones: the end tells more.
    """
    parts = _round_parts(turn, glyphs)
    words = Content(" ").join(parts)
    while room is not None and words.cell_length > room and len(parts) > 1:
        parts = parts[1:]
        words = Content(" ").join([Content(glyphs.ellipsis), *parts])
    return words


def _round_parts(turn: Turn, glyphs: Glyphs) -> list[Content]:
    if turn.last_round is None:
        return []
    step, pieces = turn.last_round.step, turn.last_round.pieces
    parts = [
        Content.styled(f"{glyphs.accepted}{_piece(piece, glyphs)}", "underline")
        for piece in pieces[: step.accepted]
    ]
    own = (f"{glyphs.to}{_piece(turn.own_text, glyphs)}", "bold")
    if step.accepted < len(pieces):
        refused = f"{glyphs.rejected}{_piece(pieces[step.accepted], glyphs)}"
        parts.append(Content.assemble((refused, "$text-warning"), own))
    elif step.sources[-1:] == ("bonus",):
        parts.append(Content.assemble(own))
    return parts


def _piece(text: str, glyphs: Glyphs) -> str:
    if not text:
        return glyphs.ellipsis  # a control token, or a part of a character
    shown = clean(text).replace("\n", glyphs.newline)
    shown = " ".join(shown.split()) or shown.replace(" ", glyphs.space).replace("\t", glyphs.space)
    return shown if len(shown) <= MAX_PIECE else shown[:MAX_PIECE] + glyphs.ellipsis


def acceptance(stats: Stats) -> str:
    """`accept 61% (132/216)`; empty without drafts."""
    if stats.acceptance_rate is None:
        return ""
    judged = stats.accepted + stats.rejected
    return f"accept {stats.acceptance_rate:.0%} ({stats.accepted}/{judged})"


def by_place(stats: Stats) -> str:
    """`by place 86 71 52 35`, in percent; empty without drafts."""
    if not stats.rounds:
        return ""
    places = stats.acceptance_per_position[:MAX_PLACES] or (0.0,)  # none was right yet
    return "by place " + " ".join(f"{p * 100:.0f}" for p in places)


def speed(stats: Stats, glyphs: Glyphs, plain_seen: int) -> Content:
    """`41.8 tok/s  plain 20.4 = 2.06×`; no ratio without drafts, WARMING until one is measured."""
    if stats.decode_tokens_per_s is None:
        return Content("")
    words = Content.styled(f"{stats.decode_tokens_per_s:.1f} tok/s", "bold")
    if (times := ratio(stats)) is not None:
        against = f"plain {stats.plain_tokens_per_s:.1f} = {times:.2f}{glyphs.times}"
        return Content.assemble(words, f"  {against}")
    if stats.rounds and stats.plain_tokens_per_s is None:
        return Content.assemble(words, f"  WARMING: measuring plain {warmed(plain_seen)}")
    return words


def warmed(plain_seen: int) -> str:
    """`5/8`: plain steps that were seen, and how many it takes."""
    return f"{min(plain_seen, PLAIN_STEPS)}/{PLAIN_STEPS}"


def times(stats: Stats) -> str:
    """`draft 14.0 + target 67.0 + verify 0.5 ms`: of a step; empty before the first."""
    if not stats.passes:
        return ""
    draft, target, verify = (
        f"{1000 * spent_s / stats.passes:.1f}"
        for spent_s in (stats.draft_s, stats.target_s, stats.verify_s)
    )
    return f"draft {draft} + target {target} + verify {verify} ms"


def prefill(reading: Reading | None, glyphs: Glyphs, what: str = "reading prompt") -> Content:
    """`reading prompt ▓▓░░ 1,840/7,912 tok 23% · 410 tok/s · 15 s left · 96 cached`."""
    if reading is None or not reading.total:
        return Content(f"{what}{glyphs.ellipsis}")
    fraction = reading.done / reading.total
    words = f"{what} {bar(fraction, glyphs)} {reading.done:,}/{reading.total:,} tok"
    words += f" {fraction:.0%}"
    if reading.tokens_per_s and reading.left_s is not None:
        rate, left_s = reading.tokens_per_s, reading.left_s
        words += f" {glyphs.dot} {rate:,.0f} tok/s {glyphs.dot} {left_s:.0f} s left"
    if reading.cached:
        words += f" {glyphs.dot} {reading.cached:,} cached"
    return Content(words)


def fetching(
    name: str, progress: "PullProgress | None", glyphs: Glyphs, resumed_bytes: int = 0
) -> Content:
    """`fetching qwen3-14b ▓▓▓░░░░░ 34% · 3.10 of 9.00 GB · 41 MB/s · 2:24 left · from …`."""
    if progress is None:
        return Content(f"{clean(name)}: looking for it{glyphs.ellipsis}")
    parts, done, total = (
        [f"{progress.doing} {clean(name)}"],
        progress.done_bytes,
        progress.total_bytes,
    )
    if total:
        parts[0] += f" {bar(done / total, glyphs, 16)} {done / total:.0%}"
        parts.append(f"{gigabytes(done)} of {gigabytes(total)}")
    elif done:
        parts.append(gigabytes(done))
    if progress.stalled_s:
        parts.append(f"no data for {progress.stalled_s:.0f} s")
    elif progress.bytes_per_s and progress.phase == "download":
        parts.append(f"{gigabytes(int(progress.bytes_per_s))}/s")
    if progress.left_s is not None and progress.phase == "download":
        parts.append(f"{int(progress.left_s // 60)}:{int(progress.left_s % 60):02} left")
    if resumed_bytes:
        parts.append(f"resumed at {gigabytes(resumed_bytes)}")
    if progress.note:
        parts.append(clean(progress.note))
    if progress.source:
        parts.append(f"from {clean(progress.source)}")
    return Content(f" {glyphs.dot} ".join(parts))


def spark(speeds: list[float], glyphs: Glyphs) -> str:
    """A small curve: one sign for each part of the last minute."""
    top, signs = max(speeds, default=0.0), glyphs.sparks
    if not top:
        return ""
    return "".join(
        signs[min(len(signs) - 1, int(speed / top * len(signs)))] if speed else " "
        for speed in speeds
    )


def draft_len(turn: Turn) -> str:
    """`k 7, mean 5.2`: the last draft's length and the average."""
    if not turn.stats.rounds:
        return ""
    mean = f"mean {turn.stats.drafted / turn.stats.rounds:.1f}"
    last = turn.last_round  # None: saved in an earlier process
    return mean if last is None else f"k {last.step.drafted}, {mean}"


def error_words(error: EdgespecError) -> Content:
    """`error: sentence`, and the next command below it."""
    words = Content.assemble(("error: ", "bold $text-error"), clean(error.message))
    return Content.assemble(words, f"\n{clean(error.hint)}") if error.hint else words


def loading(progress: LoadProgress, glyphs: Glyphs) -> Content:
    """`loading qwen3-14b ▓▓▓░░░░░ 43%`."""
    words = clean(progress.phase)
    if progress.fraction is not None:
        words += f" {bar(progress.fraction, glyphs)} {progress.fraction:.0%}"
    return Content(words)


_ENDS = {
    "length": "max tokens reached",
    "context_full": "the context is full",
    "cancelled": "stopped",
}


def turn_end(
    turn: Turn, glyphs: Glyphs, branch: tuple[int, int] = (1, 1), *, is_left_out: bool = False
) -> Content:
    """`41.8 tok/s · 2.06× plain · first 0.31 s · 186 tok · accept 61% (132/216)`."""
    stats, parts = turn.stats, []
    if branch[1] > 1:
        parts.append(f"branch {branch[0]}/{branch[1]} [ ]")
    if is_left_out:
        parts.append("[the model does not see this any more]")
    if turn.status == "running":
        return Content(f" {glyphs.dot} ".join(parts))  # the live lines have the figures
    if turn.status == "queued":
        parts.append("[waits; Esc takes it back]")
    if turn.status == "stopped":
        parts.append("[stopped]")
    elif end := _ENDS.get(stats.finish_reason or ""):
        parts.append(f"[{end}]")
    if stats.decode_tokens_per_s is not None:
        parts.append(f"{stats.decode_tokens_per_s:.1f} tok/s")
    if (times := ratio(stats)) is not None:
        parts.append(f"{times:.2f}{glyphs.times} plain")
    if stats.ttft_s is not None:
        parts.append(f"first {stats.ttft_s:.2f} s")
    if stats.generated_tokens:
        parts.append(f"{stats.generated_tokens} tok")
    if stats.acceptance_rate is not None:
        parts.append(acceptance(stats))
    return Content(f" {glyphs.dot} ".join(parts))
