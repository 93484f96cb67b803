"""A model's chat template: turns in, prompt text out.

Owns: what the template can do (found by rendering probes), the shape of turns it insists on, and
what takes its place where the file has none. Knows no tokens.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from edgespec.errors import EdgespecError, ModelFileError, UsageError
from edgespec.text.reasoning import opens_reasoning
from edgespec.text.sandbox import TemplateFault, free_names, parsed, rendered
from edgespec.text.turns import Turn, alternated, folded, led

_CHATML = """\
{% for message in messages %}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{{ '<|im_start|>assistant\\n' }}"""

_PLAIN = """\
{% for message in messages %}
{{ message.role | capitalize + ': ' + message.content + '\\n' }}
{%- endfor %}
{{ 'Assistant:' }}"""

_SWITCHES = ("enable_thinking", "thinking")  # Qwen3 and most; DeepSeek V3.1, Granite, Kimi
_ONE, _TWO, _THREE, _FOUR, _FIVE = (
    f"edgespec-probe-{number}" for number in ("one", "two", "three", "four", "five")
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt's text, control tokens spelled out."""

    text: str
    opens_reasoning: bool
    """It ends inside a reasoning block."""


class ChatTemplate:
    """A jinja chat template, compiled at its first use.

    `notice`: one sentence for people where this is not the model's own template, else empty.
    `stops`: strings that end a turn where no token does. `is_given`: a person chose it, and can
    mend it.
    """

    def __init__(
        self,
        source: str,
        bos_text: str,
        eos_text: str,
        *,
        notice: str = "",
        stops: tuple[str, ...] = (),
        is_given: bool = False,
    ) -> None:
        self.source = source
        self.notice = notice
        self.stops = stops
        self._is_given = is_given
        self._bos_text = bos_text
        self._eos_text = eos_text

    @cached_property
    def can_think(self) -> bool:
        """The template has a switch for thinking."""
        return not free_names(self.source).isdisjoint(_SWITCHES)

    def shaped(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """The turns as this template takes them: system text folded where it is lost or refused,
        neighbours merged."""
        if self._refuses_system:
            turns = folded(turns)
        elif _has_late_system(turns) and self._insists_on_leading_system:
            turns = led(turns)
        if self._insists_on_alternation:
            turns = alternated(turns)
        return tuple(turns)

    def render(self, turns: Sequence[Turn], think: bool | None = None, **extra: object) -> Rendered:
        """The prompt for an answer to `turns`; `think=None` leaves the template its default.

        Raises: `UsageError` where the template refuses the conversation or is a person's own and
        broken, `ModelFileError` where the model's is; all name the template's line.
        """
        try:
            text = self._text(self.shaped(turns), think, **extra)
        except TemplateFault as fault:
            raise _told(fault, is_given=self._is_given) from fault
        return Rendered(text, opens_reasoning(text))

    @cached_property
    def _refuses_system(self) -> bool:
        return self._loses(Turn("system", _ONE), Turn("user", _TWO))

    @cached_property
    def _insists_on_leading_system(self) -> bool:
        first, late = Turn("system", _ONE), Turn("system", _TWO)
        between = Turn("user", _THREE), Turn("assistant", _FOUR)
        return self._loses(first, *between, late, Turn("user", _FIVE))

    @cached_property
    def _insists_on_alternation(self) -> bool:
        return self._loses(Turn("user", _ONE), Turn("user", _TWO))

    def _loses(self, *turns: Turn) -> bool:
        """Whether the template raises for `turns` or drops a text, though it can do the last."""
        try:
            self._text(turns[-1:], None)
        except TemplateFault:
            return False  # broken for everyone: the real prompt will say how
        try:
            text = self._text(turns, None)
        except TemplateFault:
            return True
        return not all(turn.content in text for turn in turns)

    def _text(self, turns: Sequence[Turn], think: bool | None, **extra: object) -> str:
        asked = {} if think is None else dict.fromkeys(_SWITCHES, think)
        variables = {
            "messages": [self._message(turn) for turn in turns],
            "tools": None,
            "documents": None,
            "add_generation_prompt": True,
            "bos_token": self._bos_text,
            "eos_token": self._eos_text,
        }
        return rendered(self.source, {**variables, **asked, **extra})

    def _message(self, turn: Turn) -> dict[str, str]:
        message = {"role": turn.role, "content": turn.content}
        if turn.reasoning and "reasoning_content" in self.source:
            message["reasoning_content"] = turn.reasoning
        return message


def template_of(
    own: str | None,
    control_texts: Collection[str],
    *,
    given: str | None = None,
    bos_text: str = "",
    eos_text: str = "",
) -> ChatTemplate:
    """The template a person gave, else the model's own, else one that says that it is neither."""
    if given and given.strip():
        return ChatTemplate(given, bos_text, eos_text, is_given=True)
    if own and own.strip():
        return ChatTemplate(own, bos_text, eos_text)
    said = "this model has no chat template; using "
    if "<|im_start|>" in control_texts:
        notice = said + "the ChatML format (--template FILE gives it another)"
        return ChatTemplate(_CHATML, bos_text, eos_text, notice=notice)
    notice = (
        said + "plain lines of the form “User: …”; it may not be made for chat"
        " (--template FILE gives it one)"
    )
    return ChatTemplate(_PLAIN, bos_text, eos_text, notice=notice, stops=("\nUser:",))


def check_template(source: str) -> None:
    """Raises: `UsageError` for a template of a person's own that is none, naming the line."""
    if not source.strip():
        raise UsageError("the given chat template is empty", hint="leave it out for the model's")
    try:
        parsed(source)
    except TemplateFault as fault:
        raise _told(fault, is_given=True) from fault


def _has_late_system(turns: Sequence[Turn]) -> bool:
    return any(turn.role == "system" for turn in turns[1:])


def _told(fault: TemplateFault, *, is_given: bool) -> EdgespecError:
    whose = "the given chat template" if is_given else "the model's chat template"
    where = f" (line {fault.line} of the template)" if fault.line else ""
    if fault.is_refusal:
        return UsageError(
            f"{whose} refuses this conversation{where}: {fault.message}",
            hint="--raw (Options.raw in Python) continues a text without a template",
        )
    said = f"{whose} does not work{where}: {fault.message}"
    if is_given:
        return UsageError(said, hint="mend the template, or leave it out for the model's own")
    return ModelFileError(
        said,
        hint="--template FILE gives it another; --raw continues a text without one",
    )
