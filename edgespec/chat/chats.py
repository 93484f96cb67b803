"""The saved chats: listing, searching, opening, renaming, deleting, files; and keeping this one.

Works on whatever conversation its owner shows. Reading and changing raise `HistoryError`.
"""

from pathlib import Path
from typing import Literal, Protocol

from edgespec.api.types import Description, Options
from edgespec.chat.conversation import Conversation, conversation_of, with_settings
from edgespec.chat.journal import Journal, Nowhere
from edgespec.chat.turns import Turn
from edgespec.chat.workers import Run
from edgespec.errors import HistoryError
from edgespec.history.exchange import as_json, as_markdown, write_new
from edgespec.history.keeper import SaveState
from edgespec.history.library import Library
from edgespec.history.records import ChatSummary, Hit, SavedChat, TurnRecord
from edgespec.paths import expanded

ExportKind = Literal["md", "json"]


class Owner(Protocol):
    """Who shows the conversation."""

    conversation: Conversation
    options: Options
    description: Description | None

    def take(self, conversation: Conversation) -> None:
        """Show and continue another chat."""
        ...

    def under_way(self, turn: Turn) -> Run | None:
        """The answer of a turn, while it is written."""
        ...


class Chats:
    """The way from the conversation that is shown to those on disk, and back."""

    def __init__(self, owner: Owner, journal: Journal | None, library: Library | None) -> None:
        self._owner = owner
        self._journal = journal
        self._library = library
        self._deleted: SavedChat | None = None

    # Keeping

    @property
    def can_save(self) -> bool:
        """Whether chats are kept at all in this process."""
        return self._journal is not None

    @property
    def journal(self) -> Journal:
        """Where this chat's records go."""
        is_kept = self._journal is not None and not self._owner.conversation.is_private
        return self._journal if self._journal is not None and is_kept else Nowhere()

    @property
    def state(self) -> SaveState:
        """Whether this chat is on disk: SAVED, UNSAVED with the reason, or PRIVATE."""
        return self.journal.state

    def keep(self, *turns: Turn) -> None:
        """Keep the chat and these turns, soon."""
        conversation = self._owner.conversation
        if conversation.tree.turns:  # an empty chat is none
            records = []
            for turn in turns:
                if (run := self._owner.under_way(turn)) is None:
                    records.append(self.record(turn))
                else:  # its thread has heard more than is shown
                    run.keep(self.journal)
            self.journal.keep(conversation.record(*self._names(), self._owner.options), *records)

    def forget(self, turn: Turn, *changed: Turn) -> None:
        """Delete a turn; `changed` have another parent now."""
        self.journal.forget(turn.id)
        self.keep(*changed)

    def jot(self, typed: str) -> None:
        """Keep what is being typed, soon; of a private chat nothing."""
        if self._journal is not None:
            self._journal.jot("" if self._owner.conversation.is_private else typed)

    def jotted(self) -> str:
        """What was being typed when a process ended that is no more; once."""
        return self.journal.jotted()

    @property
    def lent(self) -> Path | None:
        """A file for an editor, whose text comes back as `jotted`; of a private chat none."""
        return self.journal.lent

    def record(self, turn: Turn) -> TurnRecord:
        """A turn as it is kept."""
        return self._owner.conversation.turn_record(turn, self._owner.options)

    def save(self) -> str:
        """Keep this chat from now on, all of it, and wait for the disk. Returns: a sentence.

        Raises: `HistoryError` where it cannot be saved.
        """
        if self._journal is None:
            raise HistoryError(
                "this process keeps no history", hint="/export writes this chat into a file"
            )
        self._owner.conversation.is_private = False
        self.keep(*self._owner.conversation.tree.turns)
        self._journal.flush(5.0)
        state = self._journal.state
        if state.word != "SAVED":
            raise HistoryError(state.note)
        return f"saved: edgespec chat --resume {self._owner.conversation.id}"

    def close(self) -> None:
        """Write what is left."""
        if self._journal is not None:
            self._journal.close()

    # The saved ones

    def all(self, words: str = "") -> list[ChatSummary]:
        """Chats with `words` in title, model or turns, the latest first."""
        self.journal.flush(1.0)
        return self._saved().chats(words)

    def search(self, words: str) -> list[Hit]:
        """Turns with all of `words`, the latest first; `Hit.spans` say where."""
        self.journal.flush(1.0)
        return self._saved().search(words)

    def prompts(self) -> list[str]:
        """The messages that were sent last in any chat, the latest at the end; none where the
        history cannot be read."""
        try:
            return self._library.prompts() if self._library is not None else []
        except HistoryError:
            return []

    def open(self, chat_id: str) -> Conversation:
        """Show and continue a saved chat: its branches, system prompt and settings.

        The chat that is shown goes on as it is while a message in it is answered or waits.
        """
        return self._shown(self._saved().load(chat_id))

    def open_last(self) -> Conversation:
        """Show and continue the chat that was changed last."""
        return self._shown(self._saved().last())

    def open_turn(self, hit: Hit) -> Conversation:
        """Show the chat of a hit, on the branch where it stands."""
        conversation = self.open(hit.chat_id)
        for turn in conversation.tree.turns:
            if turn.id == hit.turn_id:
                conversation.tree.show(turn)
        return conversation

    def rename(self, title: str, chat_id: str | None = None) -> None:
        """Give a chat a title: this one, or a saved one."""
        conversation = self._owner.conversation
        if chat_id is None or chat_id == conversation.id:
            conversation.title = title
            if conversation.tree.turns:
                record = conversation.record(*self._names(), self._owner.options)
                self.journal.name(record)
        else:
            self._saved().rename(chat_id, title)

    def set_system(self, text: str | None) -> None:
        """Give this chat a system prompt, or none."""
        self._owner.conversation.system = text
        self.keep()

    def delete(self, chat_id: str) -> SavedChat:
        """Delete a saved chat; `undelete` brings back the last one. This one becomes a new chat."""
        self.journal.flush(1.0)
        chat_id = self._saved().load(chat_id).chat.id
        conversation = self._owner.conversation
        if chat_id == conversation.id:
            if self.state.word == "UNSAVED":
                raise HistoryError(f"this chat is not in the history yet: {self.state.note}")
            if self._journal is not None:
                self._journal.drop(chat_id)
            self._owner.take(Conversation(system=conversation.system))
        self._deleted = self._saved().delete(chat_id)
        return self._deleted

    def undelete(self) -> SavedChat | None:
        """Bring back the chat that was deleted last. Returns: None when there is none."""
        saved, self._deleted = self._deleted, None
        if saved is not None:
            self._saved().merge(saved)
        return saved

    # Files

    def text(self, kind: ExportKind, chat_id: str | None = None) -> str:
        """A chat as a file's text: this one, or a saved one. JSON keeps every branch."""
        if chat_id is None:
            conversation = self._owner.conversation
            saved = conversation.saved(*self._names(), self._owner.options)
        else:
            saved = self._saved().load(chat_id)
        return as_json([saved]) if kind == "json" else as_markdown(saved)

    def beginning(self, chat_id: str, n_chars: int) -> str:
        """The first words of a saved chat's branch that was shown last, as it was said."""
        turns = self._saved().load(chat_id).path()
        said = "\n".join(f"you: {turn.prompt}\n{turn.text}" for turn in turns[:n_chars])
        return said[:n_chars]

    def export(
        self, kind: ExportKind, path: Path | None = None, chat_id: str | None = None
    ) -> Path:
        """Write this chat, or a saved one, into a file, never over another. Returns: its path."""
        name = Path(f"edgespec-{chat_id or self._owner.conversation.id}.{kind}")
        path = expanded(path or name)
        write_new(path, self.text(kind, chat_id))
        return path.absolute()

    def _shown(self, saved: SavedChat) -> Conversation:
        shown = self._owner.conversation
        if saved.chat.id == shown.id and any(
            turn.status in ("queued", "running") for turn in shown.tree.turns
        ):
            return shown  # what is on disk lacks what it says now
        conversation = conversation_of(saved)
        self._owner.take(conversation)
        self._owner.options = with_settings(self._owner.options, saved.chat.settings)
        return conversation

    def _saved(self) -> Library:
        if self._library is None:
            raise HistoryError("this process reads no history", hint="leave --private out")
        return self._library

    def _names(self) -> tuple[str, str]:
        about = self._owner.description
        return (about.target, about.draft or "") if about is not None else ("", "")
