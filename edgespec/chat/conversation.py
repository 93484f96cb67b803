"""One chat: its turns, its title, what of it the model sees; and all that as records and back.

Knows neither threads nor models.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from edgespec.api.types import Options
from edgespec.chat.tree import Removed, TurnTree
from edgespec.chat.turns import Status, Turn, line_of
from edgespec.chat.window import Window
from edgespec.errors import EdgespecError, UsageError
from edgespec.events import Stats
from edgespec.history.records import ChatRecord, SavedChat, TurnRecord, new_chat_id
from edgespec.shaping import Sampling

_MOST_TITLE = 60
_WORDS = ("drafter", "drafter_note", "finish_reason")
"""Of `Stats`: what is no number."""
_OF_REQUEST = ("max_tokens", "stop", "drafter", "draft_len", "think")


@dataclass(slots=True)
class Conversation:
    """A chat; changed by the front end's thread only."""

    id: str = field(default_factory=new_chat_id)
    system: str | None = None
    title: str = ""
    """Given by the person; empty: `shown_title` takes the first message."""
    is_private: bool = False
    """Never written to the disk."""
    tree: TurnTree = field(default_factory=TurnTree)
    summary: str = ""
    window_start: Turn | None = None
    """The oldest turn that the model sees; None: the first."""
    created_s: float = field(default_factory=time.time)

    @property
    def shown_title(self) -> str:
        """The title, or the beginning of the first message."""
        if self.title:
            return self.title
        return line_of(self.tree.turns[0].prompt, _MOST_TITLE) if self.tree.turns else ""

    @property
    def waiting(self) -> Turn | None:
        """The message that is not being answered yet."""
        return next((turn for turn in self.tree.turns if turn.status == "queued"), None)

    @property
    def left_out(self) -> tuple[Turn, ...]:
        """The turns on screen that the model does not see, because someone chose so."""
        path = self.tree.path
        return tuple(path[: self._n_left_out(path)])

    def window(self, until: Turn | None = None) -> Window:
        """What the model sees: up to and with the message of `until`, or the whole branch."""
        before = _ancestors(until) if until is not None else tuple(self.tree.path)
        path = before if until is None else (*before, until)
        n_left_out = self._n_left_out(path)
        answered = tuple(turn for turn in before[n_left_out:] if turn.text)
        summary = self.summary if n_left_out or self.window_start in path else ""
        return Window(self.system, summary, answered, until.prompt if until is not None else "")

    def _n_left_out(self, path: Sequence[Turn]) -> int:
        """Turns of a path before the model's view; other branches there leave out the same."""
        start = self.window_start
        if start is None or start.parent is None or start.parent not in path:
            return 0
        return path.index(start.parent) + 1

    def leave_out(self, turns: tuple[Turn, ...], until: Turn, summary: str = "") -> None:
        """Let the model's view begin after `turns`, for which `summary` stands."""
        path = (*_ancestors(until), until)
        left = [i for i, turn in enumerate(path) if turn in turns]
        self.window_start, self.summary = path[left[-1] + 1 if left else 0], summary

    def take_out(self, turn: Turn) -> Removed:
        """Take a turn out. Where the model's view began with it, it begins with another one there,
        or, if there is none, with the first turn again."""
        removed = self.tree.remove(turn)
        if self.window_start is turn:
            others = self.tree.siblings(turn) if turn.parent else ()
            self.window_start = removed.shown or (others[-1] if others else None)
            self.summary = self.summary if self.window_start else ""
        return removed

    def record(self, target: str, draft: str, options: Options) -> ChatRecord:
        """The chat without its turns, as it is kept."""
        head = self.tree.head
        return ChatRecord(
            id=self.id,
            title=self.shown_title,
            system=self.system or "",
            target=target,
            draft=draft,
            settings=settings_of(options),
            summary=self.summary,
            window_id=self.window_start.id if self.window_start else "",
            head_id=head.id if head else "",
            created_s=self.created_s,
            updated_s=time.time(),
        )

    def saved(self, target: str, draft: str, options: Options) -> SavedChat:
        """The whole chat, as it is kept."""
        turns = tuple(self.turn_record(turn, options) for turn in self.tree.turns)
        return SavedChat(self.record(target, draft, options), turns)

    def turn_record(self, turn: Turn, options: Options) -> TurnRecord:
        """A turn as it is kept."""
        return TurnRecord(
            id=turn.id,
            chat_id=self.id,
            parent_id=turn.parent.id if turn.parent else "",
            prompt=turn.prompt,
            text=turn.text,
            reasoning=turn.reasoning,
            status=turn.status,
            error=turn.error.message if turn.error else "",
            stats=stats_dict(turn.stats),
            target=turn.target,
            draft=turn.draft,
            settings=settings_of(options),
            created_s=turn.created_s,
            updated_s=time.time(),
        )


def conversation_of(saved: SavedChat) -> Conversation:
    """A chat as it was kept; a turn that its process did not live to end is "stopped"."""
    by_id: dict[str, Turn] = {}
    for record in _parents_first(saved.turns):
        by_id[record.id] = _turn(record, by_id.get(record.parent_id))
    chat = saved.chat
    conversation = Conversation(
        id=chat.id,
        system=chat.system or None,
        tree=TurnTree(by_id.values(), by_id.get(chat.head_id)),
        summary=chat.summary,
        window_start=by_id.get(chat.window_id),
        created_s=chat.created_s,
    )
    if chat.title != conversation.shown_title:
        conversation.title = chat.title
    return conversation


def settings_of(options: Options) -> dict[str, Any]:
    """Sampling and limits by name, as JSON has them."""
    sampling = asdict(options.sampling)
    sampling.pop("logit_bias", None)
    request = {name: getattr(options, name) for name in _OF_REQUEST}
    return {**sampling, **request, "stop": list(options.stop)}


def with_settings(options: Options, settings: dict[str, Any]) -> Options:
    """`options` with what was kept; what has no meaning (any more) is passed over."""
    shaping = {f.name: settings[f.name] for f in fields(Sampling) if f.name in settings}
    request = {name: settings[name] for name in _OF_REQUEST if name in settings}
    if isinstance(stop := request.get("stop"), list):  # JSON knows no tuples
        request["stop"] = tuple(stop)
    try:
        changed = replace(options, sampling=replace(options.sampling, **shaping), **request)
        changed.check()
    except (UsageError, TypeError, ValueError):
        return options  # a file from elsewhere: its texts are worth more than its settings
    return changed


def stats_dict(stats: Stats) -> dict[str, Any]:
    """The figures that the others follow from, as JSON has them."""
    return asdict(stats)


def _turn(record: TurnRecord, parent: Turn | None) -> Turn:
    status: Status = record.status if record.status in ("complete", "error") else "stopped"
    return Turn(
        record.prompt,
        status,
        record.text,
        record.reasoning,
        stats=_stats(record.stats),
        error=EdgespecError(record.error) if record.error else None,
        id=record.id,
        parent=parent,
        created_s=record.created_s,
        target=record.target,
        draft=record.draft,
    )


def _stats(kept: dict[str, Any]) -> Stats:
    """The figures of an answer; those of another kind than ours are passed over."""
    found: dict[str, Any] = {}
    for figure in fields(Stats):
        value = kept.get(figure.name)
        if figure.name == "accepted_at":
            is_ours = isinstance(value, list) and all(isinstance(n, int) for n in value)
            value = tuple(value) if isinstance(value, list) else value
        elif figure.name in _WORDS:
            is_ours = isinstance(value, str)
        else:
            is_ours = isinstance(value, int | float)
        if is_ours:
            found[figure.name] = value
    return Stats(**found)


def _parents_first(records: Sequence[TurnRecord]) -> list[TurnRecord]:
    """As they were kept, but for children whose parents were written after them.

    That happens where two processes went on with one chat while one could not save it.
    """
    ordered: dict[str, TurnRecord] = {}
    waiting = {record.id: record for record in records}
    while waiting:
        n_before = len(ordered)
        for record in list(waiting.values()):
            if record.parent_id not in waiting:
                ordered[record.id] = waiting.pop(record.id)
        if len(ordered) == n_before:  # a circle, in a file from elsewhere
            return [*ordered.values(), *waiting.values()]
    return list(ordered.values())


def _ancestors(turn: Turn) -> tuple[Turn, ...]:
    found = []
    at = turn.parent
    while at is not None:
        found.append(at)
        at = at.parent
    return tuple(reversed(found))
