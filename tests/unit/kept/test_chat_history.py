"""A conversation and its history: what is kept when, and what comes back."""

from pathlib import Path

from edgespec.api.types import Options
from edgespec.chat.controller import ChatController
from edgespec.chat.turns import Notice
from edgespec.core import Sampling
from edgespec.history.keeper import Keeper
from edgespec.history.store import HistoryStore
from tests.chats import saved, turn
from tests.scripted import ScriptedLM
from tests.unit.kept_chats import PATIENCE_S, Start, followed


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
