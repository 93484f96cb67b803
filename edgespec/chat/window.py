"""What the model sees of a conversation, and the ways on when that is too much.

Nothing is ever left out without being asked for: `overflow` only finds what could be done.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from edgespec.api.types import LanguageModel, Message, Options
from edgespec.chat.turns import Choice, ContextFull, Turn, counted, line_of
from edgespec.errors import ContextOverflow

_TOO_LONG = "/new starts a new chat; a larger --ctx holds a longer one"
"""Of a conversation a person cannot shorten more than the last message."""
_MOST_ROOM = 512
_AFTER_DROP = 0.75
"""Fill the context only so far when turns are left out, so that the next message has room too."""
_TEMPLATE = 64
"""More tokens than a template writes around one message."""
_SUMMARISE = (
    "Summarise the conversation above for someone who has to continue it. Keep names, numbers, "
    "decisions, open questions and exact identifiers. Write plain sentences, nothing else."
)


@dataclass(frozen=True, slots=True)
class Window:
    """A conversation as the model is given it."""

    system: str | None
    summary: str
    """Stands for the turns before these."""
    turns: tuple[Turn, ...]
    """Those with an answer: two user messages in a row break many templates."""
    prompt: str

    def without(self, n_turns: int) -> "Window":
        """The oldest `n_turns` left out; the summary of those before them stays."""
        return replace(self, turns=self.turns[n_turns:])

    def messages(self) -> list[Message]:
        """As chat templates take it."""
        system = [part for part in (self.system, _told(self.summary)) if part]
        messages = [Message(role="system", content="\n\n".join(system))] if system else []
        messages += _said(self.turns)
        if self.prompt:
            messages.append(Message(role="user", content=self.prompt))
        return messages


def overflow(
    model: LanguageModel,
    window: Window,
    options: Options,
    larger: Callable[[int], int | None],
) -> ContextFull | None:
    """The choices where a prompt leaves too little room for its answer; None where it fits.

    `larger` gives a context for that many tokens, or None where no larger one can be had.
    Raises: `ContextOverflow` where no choice would help.
    """
    n_ctx = model.description.n_ctx
    room = answer_room(n_ctx, options)
    needed = model.count(window.messages(), options)
    if needed + room <= n_ctx:
        return None

    def fits(n_turns: int, limit: int) -> bool:
        return model.count(window.without(n_turns).messages(), options) <= limit

    n_dropped = _fewest(len(window.turns), lambda n: fits(n, int(_AFTER_DROP * n_ctx)))
    if n_dropped is None:
        n_dropped = _fewest(len(window.turns), lambda n: fits(n, n_ctx - room))
    n_larger = larger(needed + room)
    if n_dropped is None and n_larger is None:
        if needed < n_ctx:
            return None  # there is some room, and nothing could make more
        raise ContextOverflow(needed, n_ctx, hint=_TOO_LONG if window.turns else "")
    gone = window.turns[: n_dropped or 0]
    return ContextFull(needed, n_ctx, _choices(window, gone, n_larger, n_ctx - needed))


def answer_room(n_ctx: int, options: Options) -> int:
    """Tokens to keep free for an answer."""
    room = min(_MOST_ROOM, n_ctx // 8)
    return room if options.max_tokens is None else min(room, options.max_tokens)


def is_surely_short(window: Window, n_ctx: int, options: Options, target: str) -> bool:
    """Whether a prompt fits without being counted: no token is shorter than one byte.

    `target`: what counted the turns before has to be what reads them now.
    """
    last = window.turns[-1] if window.turns else None
    if last is None or last.target != target or not last.stats.prompt_tokens:
        return False
    fresh = window.prompt + (window.system or "") + window.summary
    resident = last.stats.prompt_tokens + last.stats.generated_tokens
    most = resident + len(fresh.encode("utf-8", "replace")) + _TEMPLATE
    return most + answer_room(n_ctx, options) <= n_ctx


def summary_request(window: Window, n_turns: int) -> list[Message]:
    """What the model is asked for a summary of the oldest turns."""
    earlier = [Message(role="system", content=_told(window.summary))] if window.summary else []
    return [
        *earlier,
        *_said(window.turns[:n_turns]),
        Message(role="user", content=_SUMMARISE),
    ]


def summary_options(options: Options, n_ctx: int, *, can_think: bool) -> Options:
    """A summary is short and free in its form."""
    return replace(
        options,
        max_tokens=min(_MOST_ROOM, n_ctx // 8),
        think=False if can_think else None,
        stop=(),
        grammar=None,
        json_schema=None,
    )


def most_summarised(model: LanguageModel, window: Window, options: Options, n_turns: int) -> int:
    """How many of the oldest `n_turns` can be read at once for a summary."""
    limit = model.description.n_ctx - (options.max_tokens or 0)

    def is_too_much(left: int) -> bool:
        return model.count(summary_request(window, n_turns - left), options) <= limit

    left = _fewest(n_turns - 1, is_too_much)
    if left is None:
        needed = model.count(summary_request(window, 1), options)
        raise ContextOverflow(needed, limit, hint="/context drop leaves them out instead")
    return n_turns - left


def _choices(
    window: Window, gone: tuple[Turn, ...], n_larger: int | None, n_free: int
) -> tuple[Choice, ...]:
    choices = []
    if gone:
        which = f"the {len(gone)} oldest turns" if len(gone) > 1 else "the oldest turn"
        named = ", ".join(f'"{line_of(turn.prompt, 32)}"' for turn in gone[:3])
        more = f" and {len(gone) - 3} more" if len(gone) > 3 else ""
        stays = "they stay in the chat" if len(gone) > 1 else "it stays in the chat"
        told = f"leave out {which} ({named}{more}); {stays}"
        choices.append(Choice("drop", told, gone))
        told = f"let the model summarise {which} first, then answer"
        choices.append(Choice("summarise", told, gone))
    if n_larger is not None:
        told = f"load the model with a context of {n_larger:,} tokens"
        choices.append(Choice("larger", told, n_ctx=n_larger))
    if n_free > 0:
        choices.append(Choice("anyway", f"answer in what is left: {counted(n_free, 'token')}"))
    if window.turns or window.summary:
        choices.append(Choice("new", "send the message in a new chat"))
    choices.append(Choice("cancel", "take the message back"))
    return tuple(choices)


def _fewest(most: int, is_enough: Callable[[int], bool]) -> int | None:
    """The smallest number from 0 to `most` that is enough; more is always enough too."""
    if not is_enough(most):
        return None
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low


def _said(turns: tuple[Turn, ...]) -> list[Message]:
    messages = []
    for turn in turns:
        messages.append(Message(role="user", content=turn.prompt))
        answer = Message(role="assistant", content=turn.text)
        if turn.reasoning:
            answer["reasoning"] = turn.reasoning
        messages.append(answer)
    return messages


def _told(summary: str) -> str:
    return f"Summary of the conversation before:\n{summary}" if summary else ""
