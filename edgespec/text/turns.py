"""The turns of a conversation, checked, and the shapes that stubborn chat templates insist on.

Owns: what a message may look like. Knows neither templates nor tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from edgespec.errors import UsageError

Messages = str | Sequence[Mapping[str, object]]
"""A chat (`api.types.Message`), or one user message."""

_ROLES = ("system", "user", "assistant")
_ROLES_LISTED = ", ".join(_ROLES)
_MESSAGE = 'for example {"role": "user", "content": "Hello"}'
_GAP = "\n\n"
"""Between two texts that become one turn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, of a known role and with text that can be encoded."""

    role: str
    content: str
    reasoning: str = ""


def turns_of(messages: Messages) -> tuple[Turn, ...]:
    """The turns of a prompt.

    Raises: `UsageError` for an empty prompt, an unknown role, or content that is no text.
    """
    given: object = messages  # what a caller without types may have sent
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise UsageError(
            f"the prompt is of type {type(given).__name__}, not text or messages", hint=_MESSAGE
        )
    turns = tuple(_turn(i, message) for i, message in enumerate(given, 1))
    if not turns:
        raise UsageError(
            "the prompt is empty: it has no messages", hint="give at least one message"
        )
    if not turns[-1].content.strip():
        what = (
            "the prompt is empty"
            if len(turns) == 1
            else f"message {len(turns)}, the last, is empty"
        )
        raise UsageError(what, hint="write something for the model to answer")
    return turns


def encodable(text: str) -> str:
    """`text` with U+FFFD for lone surrogates, which no tokenizer can read."""
    return (
        text
        if text.isascii()
        else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


def folded(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns without system turns: their text leads the next user turn."""
    out: list[Turn] = []
    system: list[str] = []
    for turn in turns:
        if turn.role == "system":
            system.append(turn.content)
        elif turn.role == "user" and system:
            out.append(replace(turn, content=_GAP.join([*system, turn.content])))
            system = []
        else:
            out.append(turn)
    if system:
        out.append(Turn("user", _GAP.join(system)))
    return tuple(out)


def led(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns with system text at the beginning only, as one turn: later text leads the next
    user turn."""
    n_first = next((i for i, turn in enumerate(turns) if turn.role != "system"), len(turns))
    first = _GAP.join(turn.content for turn in turns[:n_first])
    return (*([Turn("system", first)] if n_first else []), *folded(turns[n_first:]))


def alternated(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns with neighbours of one role merged."""
    out: list[Turn] = []
    for turn in turns:
        if out and out[-1].role == turn.role:
            last = out.pop()
            reasoning = _GAP.join(part for part in (last.reasoning, turn.reasoning) if part)
            turn = Turn(turn.role, last.content + _GAP + turn.content, reasoning)
        out.append(turn)
    return tuple(out)


def _turn(number: int, message: object) -> Turn:
    if not isinstance(message, Mapping):
        raise UsageError(
            f"message {number} is of type {type(message).__name__}, not a dict", hint=_MESSAGE
        )
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        raise UsageError(f"message {number} has the role {role!r}", hint=f"one of: {_ROLES_LISTED}")
    if not isinstance(content, str):
        raise UsageError(
            f"message {number} has content of type {type(content).__name__}, not text",
            hint=_MESSAGE,
        )
    reasoning = message.get("reasoning")
    return Turn(
        str(role), encodable(content), encodable(reasoning) if isinstance(reasoning, str) else ""
    )
