"""An answer that does not stop, and is left behind."""

import pytest

from edgespec.chat import workers
from edgespec.chat.controller import ChatController
from edgespec.chat.turns import Turn
from tests.scripted import Script, ScriptedLM, StuckLM


def held_up(stuck: StuckLM, fresh: ScriptedLM) -> tuple[ChatController, Turn]:
    """A chat in an answer that hangs, and its turn; `fresh` is what is loaded next."""
    models = iter([stuck, fresh])
    chat = ChatController()
    chat.load(lambda tell: next(models))
    list(chat.follow())
    turn = chat.send("Hi")
    stuck.is_holding.wait()
    return chat, turn


def test_answer_that_does_not_stop_can_be_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "FORCE_AFTER_S", 0.0)
    stuck, fresh = StuckLM([Script("one two three four five", hold_at=3)]), ScriptedLM(["Hello."])
    chat, turn = held_up(stuck, fresh)
    chat.drain()
    could_force_before = chat.can_force
    chat.stop()

    could_force = chat.can_force
    chat.force()
    list(chat.follow())
    after = chat.send("And now?")
    list(chat.follow())
    stuck.release()

    assert (could_force_before, could_force) == (False, True)
    assert (turn.status, turn.text) == ("stopped", "one two three four")
    assert (chat.model, after.text) == (fresh, "Hello.")


def test_answer_left_behind_keeps_what_nobody_had_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "FORCE_AFTER_S", 0.0)
    stuck, fresh = StuckLM([Script("one two three four five", hold_at=4)]), ScriptedLM(["Hello."])
    chat, turn = held_up(stuck, fresh)
    chat.stop()

    chat.force()
    list(chat.follow())
    stuck.release()

    assert (turn.status, turn.text) == ("stopped", "one two three four")
