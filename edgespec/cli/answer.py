"""One prompt, one answer on stdout: what `-p` and piped stdin do. Imports no Textual."""

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never

from edgespec.cli.explain import explained
from edgespec.cli.interrupts import stopping
from edgespec.cli.render import Screen
from edgespec.cli.wording import draft_line, speed_line
from edgespec.events import Delta, Done, Event, PromptProgress, Round, Stats, TokenLogprob
from edgespec.explanation import Explanation

if TYPE_CHECKING:
    from edgespec.api.types import LanguageModel, Options, Prompt


@dataclass(slots=True)
class _Heard:
    """The parts of an answer so far."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)


def answer(
    screen: Screen,
    model: "LanguageModel",
    prompt: "Prompt",
    options: "Options",
    *,
    as_json: bool,
    with_stats: bool,
    with_reasons: bool = False,
) -> None:
    """Stream one answer to stdout, or print it as one JSON object.

    However it ends, what was said until then is printed. Raises: the signal that stopped it.
    """
    heard = _Heard()
    with model.chat(prompt, options) as stream:
        try:
            with stopping(stream.cancel) as caught:
                for event in stream:
                    _show(screen, event, heard, is_silent=as_json)
        finally:
            stream.close()
            stats = stream.stats
            if not as_json:
                screen.end_answer()
            elif heard.text or stats.finish_reason != "error":
                told = model.explain() if with_reasons else None
                screen.line(_as_json(screen, model, heard, stats, options.sampling.seed, told))
            if with_reasons and not as_json:
                for line in explained(model):
                    screen.note(line)
            if with_stats:
                screen.note(speed_line(stats))
                screen.note(draft_line(stats))
    caught.raise_again()


def _show(screen: Screen, event: Event, heard: _Heard, *, is_silent: bool) -> None:
    match event:
        case PromptProgress():
            screen.status(f"reading the prompt: {event.done:,} of {event.total:,} tokens")
        case Delta(kind="text"):
            heard.text.append(event.text)
            if not is_silent:
                screen.answer(event.text)
        case Delta():
            heard.reasoning.append(event.text)
        case Round():
            heard.logprobs += event.step.logprobs
            if is_silent or not heard.text:
                what = "answering" if heard.text else "thinking"
                screen.status(f"{what}: {event.stats.generated_tokens:,} tokens")
        case Done():
            pass
        case _:
            assert_never(event)


def _as_json(
    screen: Screen,
    model: "LanguageModel",
    heard: _Heard,
    stats: Stats,
    seed: int | None,
    told: Explanation | None,
) -> str:
    about = model.description
    whole: dict[str, Any] = {
        "text": "".join(heard.text),
        "reasoning": "".join(heard.reasoning),
        "finish_reason": stats.finish_reason,
        "model": about.target,
        "draft": about.draft,
        "drafter": stats.drafter,
        "drafter_note": stats.drafter_note or about.drafter_note,
        "seed": seed,
        "stats": stats.to_dict(),
    }
    if told is not None:
        whole["explanation"] = told.to_dict()
    if heard.logprobs:
        whole["logprobs"] = [_logprob(one) for one in heard.logprobs]
    return json.dumps(whole, ensure_ascii=not screen.speaks_utf8)


def _logprob(one: TokenLogprob) -> dict[str, Any]:
    """One token's figures; JSON has no infinity, so an impossible token has none."""
    found: dict[str, Any] = {
        "token": one.token,
        "text": one.text,
        "logprob": one.logprob if math.isfinite(one.logprob) else None,
    }
    if one.top:
        found["top"] = [_logprob(rival) for rival in one.top]
    return found
