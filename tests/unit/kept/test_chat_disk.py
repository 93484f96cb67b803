"""When a chat is on disk: before, during and after each answer."""

import threading
from pathlib import Path

import pytest

from edgespec.chat.controller import ChatController
from edgespec.errors import DecodeFailed
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from tests.scripted import Script, ScriptedLM
from tests.unit.kept_chats import PATIENCE_S, Start, followed


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


def test_answer_under_way_is_kept_whole_when_the_turn_before_it_is_removed(start: Start) -> None:
    chat, model = start("One.", Script("one two three four five six", hold_at=4))
    first = chat.send("a")
    followed(chat)
    second = chat.send("b")
    model.is_holding.wait()
    model.release()
    for thread in chat._workers._threads:
        thread.join(PATIENCE_S)  # it has ended, and nobody has heard of that

    chat.branches.remove(first)
    unheard = start.held(chat)
    followed(chat)

    for (held,) in (unheard, start.held(chat)):
        assert (held.text, held.status, held.parent_id) == (
            "one two three four five six",
            "complete",
            "",
        )
    assert second.parent is None


def test_end_of_an_answer_has_the_parent_that_it_has_by_then(start: Start) -> None:
    chat, model = start("One.", "Two.", Script("one two three four five six", hold_at=4))
    for prompt in "ab":
        chat.send(prompt)
        followed(chat)
    chat.send("c")
    model.is_holding.wait()

    chat.branches.remove(chat.turns[1])
    model.release()
    followed(chat)

    again, _ = start()
    shown = again.chats.open(chat.conversation.id).tree.path if start.held(chat) else []
    assert [(turn.prompt, turn.text) for turn in shown] == [
        ("a", "One."),
        ("c", "one two three four five six"),
    ]


def test_private_chat_that_is_saved_during_an_answer_has_all_of_it(start: Start) -> None:
    chat, model = start(Script("one two three four five six", hold_at=4))
    chat.clear(is_private=True)
    chat.send("count")
    model.is_holding.wait()

    chat.chats.save()
    model.release()
    followed(chat)

    (held,) = start.held(chat)
    assert (held.text, held.status) == ("one two three four five six", "complete")


def test_message_taken_back_leaves_what_came_after_it_in_its_place(start: Start) -> None:
    failing = Script("", error=DecodeFailed("llama_decode failed"))
    chat, model = start("One.", failing, "Two.", Script("Slow answer.", hold_at=1))
    chat.send("a")
    followed(chat)
    failed = chat.send("b")
    followed(chat)
    chat.send("c")
    followed(chat)
    chat.state, chat.model = "LOADING", None  # where a message waits

    chat.regenerate(failed)
    chat.withdraw()
    chat.attach(model)

    by_prompt = {turn.prompt: turn for turn in start.held(chat)}
    assert list(by_prompt) == ["a", "c"]
    assert by_prompt["c"].parent_id == by_prompt["a"].id


def test_message_that_a_failed_load_gives_back_is_not_kept_twice(start: Start, path: Path) -> None:
    chat, _ = start("One.")
    chat.send("a")
    followed(chat)

    def fails(tell: object) -> ScriptedLM:
        raise DecodeFailed("no")

    chat.load(fails)
    chat.send("b")
    followed(chat)

    assert [turn.prompt for turn in start.held(chat)] == ["a"]
    assert [turn.prompt for turn in chat.turns] == ["a"]


def test_opening_the_chat_that_is_answered_lets_the_answer_go_on(start: Start) -> None:
    chat, model = start(Script("one two three four five six", hold_at=4))
    turn = chat.send("count")
    model.is_holding.wait()

    chat.chats.open(chat.conversation.id)
    model.release()
    followed(chat)

    (held,) = start.held(chat)
    assert chat.turns == [turn]
    assert (turn.text, turn.status) == ("one two three four five six", "complete")
    assert (held.text, held.status) == (turn.text, turn.status)
