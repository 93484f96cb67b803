"""Drafting in a chat: auto, forced and off, also in the answer under way."""

from dataclasses import replace

import pytest

from edgespec.chat.controller import ChatController
from tests.scripted import DESCRIPTION, Script, ScriptedLM
from tests.unit.chat_world import attached, followed


def test_toggle_draft_goes_from_auto_to_forced_to_off_and_round() -> None:
    controller, lm = attached()
    states = []

    for _ in range(3):
        states.append(controller.toggle_draft())
        controller.send("Hi")
        followed(controller)

    assert [(s.word, s.is_forced) for s in states] == [("ON", True), ("OFF", False), ("ON", False)]
    assert [request.options.drafter for request in lm.requests] == [None, "none", None]
    assert [stream.modes for stream in lm.streams] == [["auto", "on"], ["off"], ["auto"]]


def test_toggle_draft_turns_auto_on_when_no_drafter_was_loaded() -> None:
    lonely = replace(DESCRIPTION, draft=None, drafter="none", drafter_note="no draft model given")
    controller, _ = attached(description=lonely)

    before, after = controller.draft, controller.toggle_draft()

    assert (before.word, before.note) == ("NONE", "no draft model given")
    assert (after.word, after.name) == ("ON", "auto")


def test_draft_switched_off_gives_no_reason_but_the_person() -> None:
    noted = replace(DESCRIPTION, drafter="suffix", drafter_note="the draft model is left out")
    controller, _ = attached(description=noted)

    on, _, off = controller.draft, controller.toggle_draft(), controller.toggle_draft()

    assert (on.word, on.name, on.note) == ("ON", "suffix", "the draft model is left out")
    assert (off.word, off.note) == ("OFF", "")


def test_toggle_draft_while_loading_goes_through_the_same_states() -> None:
    controller = ChatController()

    words = [controller.toggle_draft().word for _ in range(3)]

    assert words == ["ON", "OFF", "ON"]
    assert controller.options.drafter is None


def test_forced_draft_keeps_the_drafter_that_was_named() -> None:
    controller, _ = attached()
    controller.set_drafter("suffix")

    forced = controller.toggle_draft()

    assert (forced.name, forced.is_forced) == ("suffix", True)


def test_answer_that_began_without_drafts_can_be_forced_to_draft() -> None:
    lm = ScriptedLM([Script("one two three four five six seven eight", hold_at=4)])
    chat = ChatController()
    chat.attach(lm)
    chat.set_drafter("none")
    turn = chat.send("Hi")
    lm.is_holding.wait()

    chat.force_draft()
    lm.release()
    list(chat.follow())

    assert 0 < turn.stats.rounds < turn.stats.passes
    assert chat.draft.is_forced


def test_drafting_goes_off_in_the_answer_under_way() -> None:
    lm = ScriptedLM([Script("one two three four five six seven eight", hold_at=4)])
    chat = ChatController()
    chat.attach(lm)
    turn = chat.send("Hi")
    lm.is_holding.wait()

    forced, off = chat.toggle_draft(), chat.toggle_draft()
    lm.release()
    list(chat.follow())

    assert (forced.word, off.word) == ("ON", "OFF")
    assert lm.streams[0].modes == ["auto", "on", "off"]
    assert 0 < turn.stats.rounds < turn.stats.passes
    assert chat.options.drafter == "none"


def test_drafting_comes_back_in_the_answer_that_began_without() -> None:
    lm = ScriptedLM([Script("one two three four five six seven eight", hold_at=4)])
    chat = ChatController()
    chat.attach(lm)
    chat.set_drafter("none")
    turn = chat.send("Hi")
    lm.is_holding.wait()

    awake = chat.toggle_draft()
    lm.release()
    list(chat.follow())

    assert (awake.word, awake.is_forced) == ("ON", False)
    assert lm.streams[0].modes == ["off", "auto"]
    assert 0 < turn.stats.rounds < turn.stats.passes


@pytest.mark.parametrize(
    ("began", "then", "is_now"),
    [
        (None, "none", True),
        ("none", None, True),
        ("none", "model", True),  # what the scripted model was loaded with
        (None, "suffix", False),
        ("suffix", None, False),
        ("none", "suffix", False),
        ("suffix", "none", True),
    ],
)
def test_change_of_drafting_says_when_it_comes_into_force(
    began: str | None, then: str | None, is_now: bool
) -> None:
    lm = ScriptedLM([Script("one two three four", hold_at=2)])
    chat = ChatController()
    chat.attach(lm)
    chat.set_drafter(began)
    chat.send("Hi")
    lm.is_holding.wait()

    chat.set_drafter(then)
    acts_now = chat.draft_acts_now
    lm.release()
    list(chat.follow())

    assert acts_now is is_now
