"""Chats made of plain values, for the tests of the history."""

from edgespec.history.records import ChatRecord, SavedChat, TurnRecord


def chat(chat_id: str = "chat2345", title: str = "A chat", **fields: object) -> ChatRecord:
    """A chat's record, changed at second 10."""
    given = {"created_s": 1.0, "updated_s": 10.0, **fields}
    return ChatRecord(chat_id, title, **given)  # type: ignore[arg-type]


def turn(
    turn_id: str, prompt: str = "Hi", text: str = "", parent_id: str = "", **fields: object
) -> TurnRecord:
    """A turn of `chat`, complete, changed at second 10."""
    given = {"status": "complete", "created_s": 2.0, "updated_s": 10.0, **fields}
    chat_id = str(given.pop("chat_id", "chat2345"))
    return TurnRecord(turn_id, chat_id, parent_id, prompt, text, **given)  # type: ignore[arg-type]


def saved(*turns: TurnRecord, **fields: object) -> SavedChat:
    """A chat with its turns."""
    return SavedChat(chat(**fields), turns)  # type: ignore[arg-type]
