"""Chats as files: JSON that loses nothing and can be read back, Markdown for people."""

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from edgespec.errors import HistoryError
from edgespec.history.records import ChatRecord, SavedChat, TurnRecord
from edgespec.text.turns import encodable

FORMAT = "edgespec-chats"
VERSION = 1
_DEEPEST = 100
"""Levels of settings and figures, of which ours have few: writing them again takes a stack."""
_END_S = 253_402_300_800
"""The end of the year 9999."""
_STATUSES = ("queued", "running", "complete", "stopped", "error")


def as_json(chats: Sequence[SavedChat]) -> str:
    """Every branch of the chats, with figures and settings."""
    whole = {
        "format": FORMAT,
        "version": VERSION,
        "chats": [{**asdict(c.chat), "turns": [asdict(t) for t in c.turns]} for c in chats],
    }
    return encodable(json.dumps(whole, ensure_ascii=False, indent=1)) + "\n"


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet. Raises: `HistoryError`."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:
                path.unlink()  # ours; half of it would stand in the way of the next try
                raise
    except FileExistsError as error:
        raise HistoryError(f"{path} is there already", hint="name another file") from error
    except OSError as error:
        raise HistoryError(
            f"{path} cannot be written: {error.strerror or error}", hint="name another place"
        ) from error


def from_json(text: str) -> tuple[SavedChat, ...]:
    """The chats that `as_json` wrote. Raises: `HistoryError` where it is something else."""
    try:
        whole = json.loads(text)
    except ValueError as error:
        raise _not_ours(f"it is no JSON ({error})") from error
    except RecursionError as error:
        raise _not_ours("it is nested too deeply") from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise _not_ours(f'its "format" is not "{FORMAT}"')
    if whole.get("version") != VERSION:
        raise _not_ours(f"it is of version {whole.get('version')}, and {VERSION} is known here")
    chats = whole.get("chats")
    if not isinstance(chats, list):
        raise _not_ours('it has no list of "chats"')
    return tuple(_chat(number, chat) for number, chat in enumerate(chats, 1))


def as_markdown(saved: SavedChat) -> str:
    """The branch that was shown last, the reasoning folded."""
    chat = saved.chat
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(chat.created_s))
    models = " + ".join(name for name in (chat.target, chat.draft) if name)
    parts = [f"# {chat.title or 'Chat'}", " · ".join(p for p in (made, models) if p)]
    if chat.system:
        parts += ["## System", chat.system]
    for turn in saved.path():
        parts += ["## You", turn.prompt]
        if not (turn.text or turn.reasoning or turn.error):
            continue
        parts.append("## Answer" + (" (stopped)" if turn.status != "complete" else ""))
        if turn.reasoning:
            parts.append(
                f"<details><summary>Reasoning</summary>\n\n{turn.reasoning.strip()}\n\n</details>"
            )
        parts += [part for part in (turn.text, turn.error and f"> error: {turn.error}") if part]
    return encodable("\n\n".join(parts)) + "\n"


def _chat(number: int, given: object) -> SavedChat:
    where = f"chat {number}"
    if not isinstance(given, dict):
        raise _not_ours(f"{where} is no object")
    turns = given.get("turns")
    if not isinstance(turns, list):
        raise _not_ours(f'{where} has no list of "turns"')
    chat = ChatRecord(
        **_checked(ChatRecord, {k: v for k, v in given.items() if k != "turns"}, where)
    )
    records = []
    for i, turn in enumerate(turns, 1):
        record = TurnRecord(**_checked(TurnRecord, turn, f"turn {i} of {where}"))
        if record.chat_id != chat.id or record.status not in _STATUSES:
            raise _not_ours(f"turn {i} of {where} belongs to another chat or has no known status")
        records.append(record)
    return SavedChat(chat, tuple(records))


def _checked(kind: type, given: object, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _not_ours(f"{where} is no object")
    types = {f.name: f.type for f in fields(kind)}
    for name, value in given.items():
        if name not in types:
            raise _not_ours(f'{where} has an unknown field "{name}"')
        if types[name] is float:
            # Where clocks end, so that every one can be shown; NaN is no number to SQLite.
            if type(value) not in (int, float) or not 0 <= value < _END_S:
                raise _not_ours(f'{where}: "{name}" is no time in seconds since 1970')
            continue
        wanted = dict if "dict" in str(types[name]) else str
        if not isinstance(value, wanted):
            raise _not_ours(f'{where}: "{name}" is no {wanted.__name__}')
        if wanted is dict and _is_deep(value):
            raise _not_ours(f'{where}: "{name}" is nested too deeply')
    needed = {"id"} if kind is ChatRecord else {"id", "chat_id", "parent_id", "prompt"}
    if missing := needed - given.keys():
        raise _not_ours(f'{where} has no "{sorted(missing)[0]}"')
    if not given["id"]:
        raise _not_ours(f"the id of {where} is empty")
    return given


def _is_deep(value: object, left: int = _DEEPEST) -> bool:
    """Whether a value is nested so that writing it again could fail."""
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, (dict, list)) or not isinstance(inner, Iterable):
        return False
    return left == 0 or any(_is_deep(one, left - 1) for one in inner)


def _not_ours(why: str) -> HistoryError:
    return HistoryError(
        f"this is no file of edgespec's chats: {why}", hint="edgespec history export writes one"
    )
