"""Commands about saved chats and files."""

import time
from pathlib import Path

from edgespec.chat.controller import ChatController
from edgespec.chat.outcome import Outcome
from edgespec.chat.turns import counted, line_of
from edgespec.errors import HistoryError, UsageError
from edgespec.history.records import ChatSummary, Hit

_MOST_SHOWN = 15


def resume(controller: ChatController, argument: str) -> Outcome:
    """List the saved chats, or open one by its id or by words that only it has."""
    if not argument:
        chats = controller.chats.all()
        if not chats:
            return Outcome("there are no saved chats yet")
        return Outcome(f"{chats_text(chats)}\n/resume ID opens one")
    try:
        controller.chats.open(argument)
    except HistoryError as error:
        found = controller.chats.all(argument)
        if not found:
            raise error from None
        if len(found) > 1:
            return Outcome(f"{chats_text(found)}\n/resume ID opens one")
        controller.chats.open(found[0].id)
    return Outcome(opened_sentence(controller), "opened")


def opened_sentence(controller: ChatController) -> str:
    """Which chat is shown now."""
    conversation = controller.conversation
    turns = counted(len(controller.turns), "turn")
    return f'"{conversation.shown_title}", {turns}; /show shows them'


def chats_text(chats: list[ChatSummary]) -> str:
    """Chats as a list, the latest first."""
    lines = [
        f"{chat.id}  {_when(chat.updated_s)}  {chat.n_turns:>3} turns  {line_of(chat.title, 60)}"
        for chat in chats[:_MOST_SHOWN]
    ]
    more = len(chats) - _MOST_SHOWN
    return "\n".join([*lines, f"and {more:,} more: add words to search for"] if more > 0 else lines)


def search(controller: ChatController, argument: str) -> Outcome:
    """Find words in all chats."""
    if not argument:
        raise UsageError("/search needs words to search for")
    hits = controller.chats.search(argument)
    if not hits:
        return Outcome(f"no chat has '{argument}'")
    more = f"\nand {len(hits) - _MOST_SHOWN:,} more" if len(hits) > _MOST_SHOWN else ""
    found = "\n".join(hit_line(hit) for hit in hits[:_MOST_SHOWN])
    return Outcome(f"{found}{more}\n/resume ID opens one")


def hit_line(hit: Hit) -> str:
    """A hit on one line, what was searched for between asterisks."""
    marked, at = "", 0
    for start, end in hit.spans:
        marked += f"{hit.excerpt[at:start]}*{hit.excerpt[start:end]}*"
        at = end
    who = "you" if hit.role == "user" else "answer"
    return f"{hit.chat_id}  {_when(hit.updated_s)}  {who}: {marked}{hit.excerpt[at:]}"


def title(controller: ChatController, argument: str) -> Outcome:
    """Give this chat a title."""
    if argument:
        controller.chats.rename(line_of(argument, 200))
    return Outcome(f"title: {controller.conversation.shown_title or 'none yet'}")


def delete(controller: ChatController, argument: str) -> Outcome:
    """Delete a saved chat."""
    if not argument:
        raise UsageError("/delete needs the id of a chat, or: /delete this")
    before = controller.conversation
    saved = controller.chats.delete(before.id if argument == "this" else argument)
    turns = counted(len(saved.turns), "turn")
    said = f'deleted "{saved.chat.title}", {turns}; /undo brings it back'
    return Outcome(said, "cleared" if controller.conversation is not before else "")


def undo(controller: ChatController, argument: str) -> Outcome:
    """Bring back the turn, else the chat, that was removed last."""
    if (turn := controller.branches.undo()) is not None:
        return Outcome(f'"{line_of(turn.prompt, 40)}" is back', "opened")
    if (saved := controller.chats.undelete()) is not None:
        return Outcome(f'"{saved.chat.title}" is back: /resume {saved.chat.id}')
    return Outcome("there is nothing to bring back")


def save(controller: ChatController, argument: str) -> Outcome:
    """Save a private chat after all, or say that this one is saved."""
    return Outcome(controller.chats.save())


def export(controller: ChatController, argument: str) -> Outcome:
    """Write this chat into a file."""
    if not controller.turns:
        return Outcome("nothing has been said yet")
    word, _, name = argument.partition(" ")
    kind = word if word in ("md", "json") else ""
    name = name.strip() if kind else argument
    if not kind:
        kind = "json" if name.endswith(".json") else "md"
    path = controller.chats.export("json" if kind == "json" else "md", Path(name) if name else None)
    return Outcome(f"written to {path}")


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
