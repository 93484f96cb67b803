"""One prompt, one answer on stdout: what `-p` and piped stdin do. Imports no Textual."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, assert_never

from edgespec.cli.as_json import about_answer, logprob, of_event, on_a_line
from edgespec.cli.explain import explained
from edgespec.cli.interrupts import stopping
from edgespec.cli.render import Screen
from edgespec.cli.wording import draft_line, speed_line
from edgespec.events import Delta, Done, Event, PromptProgress, Round, TokenLogprob

if TYPE_CHECKING:
    from edgespec.api.types import LanguageModel, Options, Prompt

Form = Literal["text", "json", "json-stream"]
"""The text as it comes, one object at the end, or every event as a line of JSON as it comes."""


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
    form: Form,
    with_stats: bool,
    with_reasons: bool = False,
) -> None:
    """Print one answer to stdout.

    However it ends, what was said until then is printed. Raises: the signal that stopped it.
    """
    heard = _Heard()
    with model.chat(prompt, options) as stream:
        try:
            with stopping(stream.cancel) as caught:
                for event in stream:
                    _show(screen, event, heard, form)
        finally:
            stream.close()
            stats = stream.stats
            if form == "text":
                screen.end_answer()
            else:
                told = model.explain() if with_reasons else None
                about = about_answer(model.description, stats, options.sampling.seed, told)
                is_error = stats.finish_reason == "error"
                _end_as_json(screen, heard, form, about, is_error=is_error)
            if with_reasons and form == "text":
                for line in explained(model):
                    screen.note(line)
            if with_stats:
                screen.note(speed_line(stats))
                screen.note(draft_line(stats))
    caught.raise_again()


def _show(screen: Screen, event: Event, heard: _Heard, form: Form) -> None:
    if form == "json-stream" and not isinstance(event, Done):  # the last line says more
        screen.line(on_a_line(of_event(event), speaks_utf8=screen.speaks_utf8))
        return
    match event:
        case PromptProgress():
            screen.status(f"reading the prompt: {event.done:,} of {event.total:,} tokens")
        case Delta(kind="text"):
            heard.text.append(event.text)
            if form == "text":
                screen.answer(event.text)
        case Delta():
            heard.reasoning.append(event.text)
        case Round():
            heard.logprobs += event.step.logprobs
            if form != "text" or not heard.text:
                what = "answering" if heard.text else "thinking"
                screen.status(f"{what}: {event.stats.generated_tokens:,} tokens")
        case Done():
            pass
        case _:
            assert_never(event)


def _end_as_json(
    screen: Screen, heard: _Heard, form: Form, about: dict[str, Any], *, is_error: bool
) -> None:
    if form == "json-stream":
        about = {"kind": "done", **about}
    elif heard.text or not is_error:
        about = {"text": "".join(heard.text), "reasoning": "".join(heard.reasoning), **about}
        if heard.logprobs:
            about["logprobs"] = [logprob(one) for one in heard.logprobs]
    else:
        return  # there is no answer, and the error says why
    screen.line(on_a_line(about, speaks_utf8=screen.speaks_utf8))
