"""A conversation and its history: what is kept when, and what comes back."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgespec.api.types import Options
from edgespec.chat.controller import ChatController
from edgespec.chat.turns import Notice
from edgespec.core import Sampling
from edgespec.errors import DecodeFailed, HistoryError
from edgespec.history.exchange import from_json
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from edgespec.history.records import TurnRecord
from edgespec.history.store import HistoryStore
from tests.chats import saved, turn
from tests.scripted import Script, ScriptedLM

PATIENCE_S = 30.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def opened(path: Path) -> Iterator[list[ChatController]]:
    chats: list[ChatController] = []
    yield chats
    for chat in chats:
        chat.close()


class Start:
    """Starts chats over one history."""

    def __init__(self, path: Path, opened: list[ChatController]) -> None:
        self._path, self._opened = path, opened
        self.library = Library(path)

    def __call__(self, *scripts: Script | str) -> tuple[ChatController, ScriptedLM]:
        keeper = Keeper(self._path, fallbacks=[self._path.parent], every_s=0.02)
        chat = ChatController(journal=keeper, library=self.library)
        model = ScriptedLM(scripts or ("An answer.",))
        chat.attach(model)
        self._opened.append(chat)
        return chat, model

    def held(self, chat: ChatController) -> list[TurnRecord]:
        """What is on disk of a chat."""
        assert chat.chats.journal.flush(PATIENCE_S)
        return list(self.library.load(chat.conversation.id).turns)


@pytest.fixture
def start(path: Path, opened: list[ChatController]) -> Start:
    return Start(path, opened)


def followed(chat: ChatController) -> list[object]:
    return list(chat.follow())


def test_prompt_is_on_disk_before_the_model_is_asked(start: Start, path: Path) -> None:
    chat, model = start()
    seen: list[list[str]] = []
    real_chat = model.chat

    def asked(*args: object, **kwargs: object) -> object:
        (summary,) = Library(path).chats()
        seen.append([turn.prompt for turn in Library(path).load(summary.id).turns])
        return real_chat(*args, **kwargs)  # type: ignore[arg-type]

    model.chat = asked  # type: ignore[method-assign,assignment]
    chat.send("keep me")
    followed(chat)

    assert seen == [["keep me"]]


def test_message_that_waits_for_the_model_is_on_disk(start: Start, path: Path) -> None:
    keeper = Keeper(path)
    chat = ChatController(journal=keeper)
    may_load = threading.Event()

    def open_model(tell: object) -> ScriptedLM:
        may_load.wait()
        return ScriptedLM()

    chat.load(open_model)

    chat.send("early")
    keeper.flush(PATIENCE_S)

    assert [t.status for t in start.held(chat)] == ["queued"]
    may_load.set()
    followed(chat)
    chat.close()


def test_partial_answer_is_on_disk_while_the_front_end_stands_still(start: Start) -> None:
    chat, model = start(Script("one two three four five six", hold_at=4))
    chat.send("count")
    model.is_holding.wait()

    deadline = threading.Event()
    for _ in range(600):  # nobody drains
        if start.held(chat)[0].text:
            break
        deadline.wait(0.05)

    (held,) = start.held(chat)
    assert (held.text, held.status) == ("one two three four", "running")
    assert chat.turns[0].text == ""
    chat.stop()
    followed(chat)


@pytest.mark.parametrize(
    ("script", "status", "text", "error"),
    [
        (Script("All of it."), "complete", "All of it.", ""),
        (
            Script("Half", error=DecodeFailed("llama_decode failed")),
            "error",
            "Half",
            "llama_decode",
        ),
    ],
)
def test_end_is_on_disk_with_its_figures(
    script: Script, status: str, text: str, error: str, start: Start
) -> None:
    chat, _ = start(script)

    chat.send("Hi")
    followed(chat)

    (held,) = start.held(chat)
    assert (held.status, held.text) == (status, text)
    assert held.error.startswith(error)
    assert held.stats["prompt_tokens"] == 5
    assert held.target == "qwen3-14b"


def test_stopped_answer_is_on_disk_as_far_as_it_came(start: Start) -> None:
    chat, model = start(Script("one two three four five six", hold_at=4))
    chat.send("count")
    model.is_holding.wait()

    chat.stop()
    followed(chat)

    (held,) = start.held(chat)
    assert (held.status, held.text) == ("stopped", "one two three four")


def test_answer_that_is_left_for_a_new_chat_is_kept(start: Start) -> None:
    chat, model = start(Script("one two three four five six", hold_at=4), "Fresh.")
    chat.send("old")
    old = chat.conversation
    model.is_holding.wait()

    chat.clear()
    chat.send("new")
    followed(chat)
    chat.chats.journal.flush(PATIENCE_S)

    (held,) = start.library.load(old.id).turns
    assert (held.text, held.status) == ("one two three four", "stopped")


def test_chat_comes_back_with_branches_settings_and_system_prompt(start: Start) -> None:
    chat, _ = start("First.", "Second.", "Third.")
    chat.options = Options(sampling=Sampling(temperature=0.7), stop=("END",))
    chat.conversation.system = "Be brief."
    chat.send("Which?")
    followed(chat)
    chat.regenerate()
    followed(chat)
    chat.send("More")
    followed(chat)
    chat.branches.show(chat.branches.siblings(chat.turns[0])[0])
    start.held(chat)

    again, model = start("Fourth.")
    again.chats.open_last()
    shown = [turn.text for turn in again.turns]
    again.send("And?")
    followed(again)

    assert shown == ["First."]
    assert [t.text for t in again.conversation.tree.turns] == [
        "First.",
        "Second.",
        "Third.",
        "Fourth.",
    ]
    assert again.options.sampling.temperature == 0.7
    assert again.options.stop == ("END",)
    assert [m["content"] for m in model.requests[0].messages] == [
        "Be brief.",
        "Which?",
        "First.",
        "And?",
    ]


def test_what_was_left_out_stays_left_out_in_another_process(start: Start) -> None:
    chat, _ = start("One.", "Two.", "Three.")
    for prompt in ("a", "b", "c"):
        chat.send(prompt)
        followed(chat)
    chat.conversation.leave_out((chat.turns[0],), chat.turns[1], "They spoke.")
    chat.chats.keep()
    start.held(chat)

    again, model = start()
    again.chats.open_last()
    again.send("d")
    followed(again)

    assert [turn.prompt for turn in again.conversation.left_out] == ["a"]
    contents = [m["content"] for m in model.requests[0].messages]
    assert contents == [
        "Summary of the conversation before:\nThey spoke.",
        "b",
        "Two.",
        "c",
        "Three.",
        "d",
    ]


def test_chat_from_elsewhere_opens_whatever_its_figures_are(start: Start, path: Path) -> None:
    chat, _ = start()
    start.library.merge(
        saved(
            turn(
                "t1", "Hi", "Hello.", stats={"passes": "many", "ttft_s": [1], "rounds": 2, "x": 1}
            ),
            settings={"temperature": "hot", "stop": ["END"]},
        )
    )

    chat.chats.open("chat2345")

    stats = chat.turns[0].stats
    assert (chat.turns[0].text, stats.passes, stats.ttft_s, stats.rounds) == ("Hello.", 0, None, 2)
    assert chat.options == Options()


def test_turn_of_a_process_that_died_comes_back_stopped(start: Start, path: Path) -> None:
    chat, _ = start()
    chat.send("Hi")
    followed(chat)
    (held,) = start.held(chat)
    store = HistoryStore.open(path)
    store._connection.execute("UPDATE turn SET status = 'running', text = 'cut o'")
    store.close()

    again, _ = start()
    again.chats.open(held.chat_id[:4])

    assert (again.turns[0].status, again.turns[0].text) == ("stopped", "cut o")


def test_two_processes_that_continue_one_chat_make_branches(start: Start) -> None:
    first, _ = start("One.")
    first.send("Hi")
    followed(first)
    start.held(first)
    second, _ = start("Two.")
    second.chats.open_last()

    first.send("from the first")
    second.send("from the second")
    followed(first)
    followed(second)
    start.held(first)
    start.held(second)

    third, _ = start()
    third.chats.open_last()
    assert {t.prompt for t in third.branches.siblings(third.turns[1])} == {
        "from the first",
        "from the second",
    }


def test_removed_turn_leaves_the_disk_and_undo_brings_it_back(start: Start) -> None:
    chat, _ = start("One.", "Two.", "Three.")
    for prompt in ("a", "b", "c"):
        chat.send(prompt)
        followed(chat)

    chat.branches.remove(chat.turns[1])
    without = [(t.prompt, t.parent_id) for t in start.held(chat)]
    chat.branches.undo()
    ids = {t.prompt: t.id for t in chat.turns}

    assert [prompt for prompt, _ in without] == ["a", "c"]
    assert without[1][1] == ids["a"]
    assert {(t.prompt, t.parent_id) for t in start.held(chat)} == {
        ("a", ""),
        ("b", ids["a"]),
        ("c", ids["b"]),
    }


def test_private_chat_leaves_nothing_and_can_be_saved_after_all(start: Start) -> None:
    chat, model = start("One.")
    chat.clear(is_private=True)
    chat.send("secret")
    followed(chat)
    listed = chat.chats.all()
    assert not model.requests[0].options.learn

    said = chat.chats.save()

    assert (listed, chat.conversation.is_private) == ([], False)
    assert said == f"saved: edgespec chat --resume {chat.conversation.id}"
    assert [t.text for t in start.held(chat)] == ["One."]


def test_chat_without_a_journal_is_private_and_says_so() -> None:
    chat = ChatController()

    assert chat.chats.state.word == "PRIVATE"
    with pytest.raises(HistoryError, match="keeps no history"):
        chat.chats.save()


def test_empty_chat_is_not_kept(start: Start) -> None:
    chat, _ = start()

    chat.chats.keep()
    chat.clear()

    assert chat.chats.all() == []


def test_title_is_the_first_message_until_one_is_given(start: Start) -> None:
    chat, _ = start()
    chat.send("What is\n a draft? " + "x" * 80)
    followed(chat)
    first = chat.chats.all()[0].title

    chat.chats.rename("Drafts")

    assert first == "What is a draft? " + "x" * 42 + "…"
    assert [c.title for c in chat.chats.all("drafts")] == ["Drafts"]


def test_title_that_another_process_gave_stays(start: Start) -> None:
    chat, _ = start()
    chat.send("Hi")
    list(chat.follow())
    start.held(chat)
    start.library.rename(chat.conversation.id, "Given elsewhere")

    chat.send("And more")
    list(chat.follow())
    start.held(chat)

    assert [c.title for c in chat.chats.all()] == ["Given elsewhere"]


def test_title_given_here_last_is_the_one_that_stays(start: Start) -> None:
    chat, _ = start()
    chat.send("Hi")
    list(chat.follow())
    start.held(chat)
    start.library.rename(chat.conversation.id, "Given elsewhere")

    chat.chats.rename("Given here")
    start.held(chat)

    assert [c.title for c in chat.chats.all()] == ["Given here"]


def test_what_is_typed_in_a_private_chat_is_not_kept(start: Start, path: Path) -> None:
    chat, _ = start()
    chat.chats.jot("half a mess")
    chat.clear(is_private=True)

    chat.chats.jot("half a secret")
    chat.close()

    assert not list(path.parent.glob("unsent-*"))


def test_title_of_another_chat_is_changed_in_the_file(start: Start) -> None:
    chat, _ = start()
    chat.send("one")
    followed(chat)
    old = chat.conversation.id
    chat.chats.journal.flush(PATIENCE_S)
    chat.clear()

    chat.chats.rename("Old one", old)

    assert chat.chats.all()[0].title == "Old one"


def test_deleted_chat_makes_room_for_a_new_one_and_can_come_back(start: Start) -> None:
    chat, _ = start("One.", "Two.")
    chat.send("a")
    followed(chat)
    gone = chat.conversation.id

    chat.chats.delete(gone)
    chat.send("b")
    followed(chat)
    left = [c.title for c in chat.chats.all()]
    chat.chats.undelete()

    assert left == ["b"]
    assert {c.id for c in chat.chats.all()} == {gone, chat.conversation.id}
    assert chat.chats.undelete() is None


def test_hit_opens_the_branch_where_it_stands(start: Start) -> None:
    chat, _ = start("the zebra", "the lion")
    chat.send("Which?")
    followed(chat)
    chat.regenerate()
    followed(chat)
    (hit,) = chat.chats.search("zebra")

    chat.chats.open_turn(hit)

    assert [turn.text for turn in chat.turns] == ["the zebra"]


def test_export_is_a_file_that_can_be_read_back(start: Start, tmp_path: Path) -> None:
    chat, _ = start("One.", "Two.")
    chat.send("a")
    followed(chat)
    chat.regenerate()
    followed(chat)

    path = chat.chats.export("json", tmp_path / "c.json")

    (saved,) = from_json(path.read_text(encoding="utf-8"))
    assert [t.text for t in saved.turns] == ["One.", "Two."]
    with pytest.raises(HistoryError, match="is there already"):
        chat.chats.export("md", tmp_path / "c.json")


def test_unsaved_chat_goes_on_and_tells_where_its_text_is(path: Path) -> None:
    path.parent.joinpath("file").write_text("")
    keeper = Keeper(path.parent / "file" / "history.db", fallbacks=[path.parent])
    chat = ChatController(journal=keeper)
    chat.attach(ScriptedLM(["One."]))

    chat.send("a")
    updates = followed(chat)
    keeper.flush(PATIENCE_S)
    updates += chat.drain()

    told = [update for update in updates if isinstance(update, Notice)]
    assert chat.turns[0].text == "One."
    assert chat.chats.state.word == "UNSAVED"
    assert told[-1].is_error
    assert "cannot be used" in told[-1].text
    assert str(path.parent / "unsaved-chats-") in told[-1].text
    chat.close()
