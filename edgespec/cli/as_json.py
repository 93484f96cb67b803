"""An answer as JSON: one object at its end, or a line for each event. Knows no streams."""

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from edgespec.events import Done, Event, Round, Stats, TokenLogprob
from edgespec.explanation import Explanation

if TYPE_CHECKING:
    from edgespec.api.types import Description


def about_answer(
    about: "Description", stats: Stats, seed: int | None, told: Explanation | None
) -> dict[str, Any]:
    """Who answered, how it ended, with which figures."""
    found: dict[str, Any] = {
        "finish_reason": stats.finish_reason,
        "model": about.target,
        "draft": about.draft,
        "drafter": stats.drafter,
        "drafter_note": stats.drafter_note or about.drafter_note,
        "seed": seed,
        "stats": stats.to_dict(),
    }
    return found if told is None else {**found, "explanation": told.to_dict()}


def of_event(event: Event) -> dict[str, Any]:
    """An event's fields by name, `kind` first; ratios beside the counts they follow from."""
    found = {"kind": event.kind, **asdict(event)}
    if isinstance(event, Round):
        found["stats"] = event.stats.to_dict()
        found["step"]["logprobs"] = [logprob(one) for one in event.step.logprobs]
    elif isinstance(event, Done):
        found["stats"] = event.stats.to_dict()
    return found


def logprob(one: TokenLogprob) -> dict[str, Any]:
    """One token's figures; JSON has no infinity, so an impossible token has none."""
    found: dict[str, Any] = {
        "token": one.token,
        "text": one.text,
        "logprob": one.logprob if math.isfinite(one.logprob) else None,
    }
    if one.top:
        found["top"] = [logprob(rival) for rival in one.top]
    return found


def on_a_line(whole: dict[str, Any], *, speaks_utf8: bool) -> str:
    """JSON without a line break; what the reader's encoding lacks is escaped."""
    return json.dumps(whole, ensure_ascii=not speaks_utf8)
