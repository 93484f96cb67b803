"""What a conversation's figures say: how full the context is, how far reading is, what drafts.

Pure functions of turns and options.
"""

import time
from collections.abc import Sequence

from edgespec.api.types import Description, Options
from edgespec.chat.turns import ContextUsage, DraftState, Reading, Turn
from edgespec.events import Stats


def context_usage(turns: Sequence[Turn], n_ctx: int) -> ContextUsage:
    """Tokens of a branch as last decoded."""
    for turn in reversed(turns):
        used = turn.stats.prompt_tokens + turn.stats.generated_tokens
        if used:
            return ContextUsage(used, n_ctx)
        if turn.progress is not None:
            return ContextUsage(turn.progress.total, n_ctx)
    return ContextUsage(0, n_ctx)


def fullness(usage: ContextUsage, stats: Stats, *, was_near_full: bool) -> str:
    """What a person has to know about the context after an answer; mostly nothing."""
    if stats.finish_reason == "context_full":
        return "the context is full: the answer ends here; the next message asks what to leave out"
    if usage.is_near_full and not was_near_full:
        return f"the context is {usage.fraction:.0%} full; /new starts a new chat"
    return ""


def reading_of(turn: Turn) -> Reading | None:
    """How far a turn's prompt is read; None before anything is known."""
    progress, from_s = turn.progress, turn.reading_from_s
    if progress is None:
        return None
    fresh = progress.done - progress.cached
    took_s = time.monotonic() - from_s if from_s is not None else 0.0
    speed = fresh / took_s if fresh > 0 and took_s > 0 else None
    return Reading(progress.done, progress.total, progress.cached, speed)


def draft_state(
    options: Options, about: Description | None, in_force: str, refusal: str, *, is_forced: bool
) -> DraftState:
    """What the next answer drafts with; before a model is there, what was chosen.

    `in_force`, `refusal`: the drafter of the last answer, and why it was not the one asked for.
    """
    loaded, note = (about.drafter, about.drafter_note) if about else ("auto", "")
    name = options.drafter or loaded
    if name == "none":
        was_switched = options.drafter == "none" and loaded != "none"
        return DraftState("OFF", name) if was_switched else DraftState("NONE", name, note)
    is_refused = bool(refusal) and in_force == "none"
    note = refusal or (note if name == loaded else "")
    return DraftState("OFF" if is_refused else "ON", name, note, is_forced)


def woken(draft: DraftState, options: Options, about: Description | None) -> str | None:
    """The drafter to ask for where drafts are wanted: the same, or as loaded where there is none.

    Without one loaded that is "auto", which drafts without a second model.
    """
    if options.drafter != "none" and draft.word != "NONE":
        return options.drafter
    return "auto" if about is not None and about.drafter == "none" else None


def usual_drafter(options: Options, about: Description | None) -> str:
    """Who drafts where drafts are wanted: the one asked for, as loaded, or without a model."""
    loaded = about.drafter if about is not None else "auto"
    names = (options.drafter, loaded, "auto")
    return next(name for name in names if name not in (None, "none"))
