"""A user's own texts as passages: what stood before, and what a model would have had to say.

Reads plain files, chat exports and edgespec's own history. Knows no model.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgespec.api.types import Message
from edgespec.errors import HistoryError, UsageError
from edgespec.history.exchange import FORMAT, from_json
from edgespec.history.records import SavedChat
from edgespec.profile.kinds import kind_of

_ROLES = {
    "system": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
}
_CHATS = (".json", ".jsonl")
_LOOKED_AT = 4096
"""Characters that tell a text from what is none."""
_MOST_CHARACTERS = 4 << 20
"""Far more than is walked."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One text to be foreseen."""

    source: str
    kind: str
    context: tuple[Message, ...]
    """The chat before the answer; empty for a file, which is foreseen from its own beginning."""
    text: str


def of_file(path: Path) -> list[Passage]:
    """The passages of a file: every answer of a chat export, or the whole of another text.

    Raises: `UsageError` when it is no text, or cannot be read.
    """
    try:
        return _passages(path, _text_of(path))
    except ValueError as error:
        raise UsageError(f"{path} is no text in UTF-8") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def of_folder(folder: Path) -> list[Passage]:
    """The passages of every file in it, hidden ones and those that are no texts left out."""
    found: list[Passage] = []
    for file in sorted(folder.rglob("*")):
        is_hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if is_hidden or not file.is_file():
            continue
        with suppress(OSError, ValueError):
            found += _passages(file, _text_of(file))
    return found


def _text_of(path: Path) -> str:
    """The beginning of a text; of what may be chats, the whole. Raises: `OSError`; `ValueError`
    for no text, as soon as that shows: a film must not fill the memory first."""
    most = -1 if path.suffix.lower() in _CHATS else _MOST_CHARACTERS
    with path.open(encoding="utf-8-sig") as file:
        text = file.read(_LOOKED_AT)
        if "\0" not in text:
            text += file.read(most)
    if "\0" in text:
        raise ValueError("a text holds no NUL")
    return text


def _passages(path: Path, text: str) -> list[Passage]:
    if path.suffix.lower() in _CHATS and (chats := _chats(text, path)):
        found = (_answers(path.name, messages) for messages in chats)
        return [passage for passages in found for passage in passages]
    if not text.strip():
        return []
    return [Passage(path.name, kind_of(text, suffix=path.suffix.lower()), (), text)]


def of_history(chats: Sequence[SavedChat]) -> list[Passage]:
    """The answers of saved chats, on the branch that was shown last."""
    found: list[Passage] = []
    for saved in chats:
        found += _answers(saved.chat.title or saved.chat.id, _messages_of(saved))
    return found


def _messages_of(saved: SavedChat) -> list[Message]:
    messages: list[Message] = []
    if saved.chat.system:
        messages.append(Message(role="system", content=saved.chat.system))
    for turn in saved.path():
        messages.append(Message(role="user", content=turn.prompt))
        messages.append(Message(role="assistant", content=turn.text))
    return messages


def _answers(source: str, messages: Sequence[Message]) -> Iterator[Passage]:
    for i, message in enumerate(messages):
        text = message["content"]
        if message["role"] == "assistant" and i and text.strip():
            context = tuple(messages[:i])
            before = "\n".join(m["content"] for m in context)
            yield Passage(source, kind_of(text, before=before), context, text)


def _chats(text: str, path: Path) -> list[list[Message]]:
    """The conversations in a JSON file; none if it is other JSON."""
    try:
        if path.suffix.lower() == ".jsonl":
            # By line feeds alone: what else `splitlines` splits at may stand within a message.
            documents = [json.loads(line) for line in text.split("\n") if line.strip()]
        else:
            documents = [json.loads(text)]
        return [chat for document in documents for chat in _in_document(document)]
    except (ValueError, RecursionError):
        return []


def _in_document(document: Any) -> Iterator[list[Message]]:
    if isinstance(document, dict) and document.get("format") == FORMAT:
        try:
            yield from (_messages_of(saved) for saved in from_json(json.dumps(document)))
        except HistoryError as error:
            raise UsageError(error.message, hint=error.hint) from error
    elif isinstance(document, list):
        messages = _conversation(document)
        if messages:
            yield messages
        else:
            for entry in document:
                yield from _in_document(entry)
    elif isinstance(document, dict):
        if isinstance(document.get("mapping"), dict):
            document = {"messages": list(_shown_branch(document))}
        for name in ("messages", "conversations", "conversation"):
            if messages := _conversation(document.get(name)):
                yield messages
                return


def _conversation(entries: Any) -> list[Message]:
    """Messages in any usual dialect; empty if this is no conversation."""
    if not isinstance(entries, list):
        return []
    messages: list[Message] = []
    for entry in entries:
        if not isinstance(entry, dict):
            return []
        role = _ROLES.get(str(entry.get("role", entry.get("from", ""))))
        content = entry.get("content", entry.get("value"))
        if isinstance(content, list):  # parts, of which only texts can be foreseen
            parts = (_object(part).get("text", part) for part in content)
            content = "".join(part for part in parts if isinstance(part, str))
        if role is None or not isinstance(content, str):
            continue
        messages.append(Message(role=role, content=content))  # type: ignore[typeddict-item]
    return messages


def _shown_branch(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A tree of messages along the branch that was shown last, as ChatGPT exports it."""
    nodes = document["mapping"]
    at = document.get("current_node")
    branch: list[dict[str, Any]] = []
    while isinstance(at, str) and at in nodes and len(branch) < len(nodes):
        node = _object(nodes[at])
        message = _object(node.get("message"))
        role = _object(message.get("author")).get("role")
        branch.append({"role": role, "content": _object(message.get("content")).get("parts")})
        at = node.get("parent")
    yield from reversed(branch)


def _object(found: Any) -> dict[str, Any]:
    """A JSON object; an empty one for anything else."""
    return found if isinstance(found, dict) else {}
