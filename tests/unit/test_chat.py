from collections.abc import Callable
from dataclasses import replace

import pytest

from edgespec.api.types import LanguageModel
from edgespec.chat.controller import ChatController, LoadProgress, Update
from edgespec.chat.turns import Returned, TurnEnded
from edgespec.errors import ContextOverflow, DecodeFailed
from tests.scripted import DESCRIPTION, Script, ScriptedLM


def attached(*scripts: Script | str, **model: object) -> tuple[ChatController, ScriptedLM]:
    lm = ScriptedLM(scripts or ("An answer.",), **model)  # type: ignore[arg-type]
    controller = ChatController()
    controller.attach(lm)
    return controller, lm


def followed(controller: ChatController) -> list[Update]:
    return list(controller.follow())


def test_send_fills_the_turn_with_the_whole_answer() -> None:
    controller, _ = attached(Script("Four words of text.", reasoning="Let me see."))

    turn = controller.send("Say four words")
    updates = followed(controller)

    assert (turn.text, turn.reasoning) == ("Four words of text.", "Let me see.")
    assert turn.status == "complete"
    assert isinstance(updates[-1], TurnEnded)
    assert controller.state == "READY"


def test_turn_is_kept_before_anything_is_decoded() -> None:
    controller, lm = attached(Script("Never.", hold_at=0))

    turn = controller.send("keep me")

    assert controller.turns == [turn]
    assert turn.prompt == "keep me"
    lm.release()
    followed(controller)


def test_stop_keeps_the_partial_text_and_tags_the_turn() -> None:
    controller, lm = attached(Script("one two three four five six seven eight", hold_at=4))
    turn = controller.send("count")
    lm.is_holding.wait()

    controller.stop()
    followed(controller)

    assert turn.text == "one two three four"
    assert turn.status == "stopped"
    assert turn.stats.finish_reason == "cancelled"


def test_stop_during_prefill_ends_the_turn_without_text() -> None:
    controller, lm = attached(Script("Never.", hold_at=1))
    turn = controller.send("long prompt")
    lm.is_holding.wait()

    controller.stop()
    followed(controller)

    assert (turn.text, turn.status) == ("", "stopped")


def test_stopped_answer_stays_in_the_conversation() -> None:
    controller, lm = attached(Script("one two three four five six", hold_at=4), "Yes.")
    controller.send("count")
    lm.is_holding.wait()
    controller.stop()
    followed(controller)

    controller.send("go on")
    followed(controller)

    assert [m["content"] for m in lm.requests[1].messages] == [
        "count",
        "one two three four",
        "go on",
    ]


def test_turn_without_an_answer_leaves_the_conversation() -> None:
    controller, lm = attached(Script("", error=DecodeFailed("llama_decode failed")), "Yes.")
    controller.send("first")
    followed(controller)

    controller.send("second")
    followed(controller)

    assert [m["content"] for m in lm.requests[1].messages] == ["second"]


def test_message_sent_during_an_answer_waits_and_follows_it() -> None:
    controller, lm = attached(Script("one two three four five six", hold_at=4), "Second.")
    controller.send("first")
    lm.is_holding.wait()

    waiting = controller.send("second")
    before = (waiting.status, controller.can_send, controller.can_queue)
    lm.release()
    followed(controller)

    assert before == ("queued", False, False)
    assert (waiting.text, waiting.status) == ("Second.", "complete")
    assert [m["content"] for m in lm.requests[1].messages] == [
        "first",
        "one two three four five six",
        "second",
    ]


def test_message_that_waits_can_be_taken_back_while_the_answer_goes_on() -> None:
    controller, lm = attached(Script("one two three four five six", hold_at=4))
    first = controller.send("first")
    lm.is_holding.wait()
    controller.send("second")

    text = controller.withdraw()
    lm.release()
    followed(controller)

    assert (text, controller.turns) == ("second", [first])
    assert first.status == "complete"


def test_message_that_waits_is_returned_when_the_answer_fails() -> None:
    broken = Script("one two three", error=DecodeFailed("llama_decode failed"), hold_at=3)
    controller, lm = attached(broken)
    first = controller.send("first")
    lm.is_holding.wait()
    controller.send("second")
    lm.release()

    updates = followed(controller) + controller.drain()

    assert [u.text for u in updates if isinstance(u, Returned)] == ["second"]
    assert controller.turns == [first]
    assert first.prompt == "first"


def test_edit_makes_a_branch_beside_the_message() -> None:
    controller, lm = attached("One.", "Two.", "Three.")
    first = controller.send("a")
    followed(controller)
    controller.send("b")
    followed(controller)

    edited = controller.edit(first, "A")
    followed(controller)

    assert controller.turns == [edited]
    assert controller.branches.siblings(edited) == (first, edited)
    assert [m["content"] for m in lm.requests[2].messages] == ["A"]


def test_branches_are_stepped_through_round_the_end() -> None:
    controller, _ = attached("One.", "Two.", "Three.")
    controller.send("a")
    followed(controller)
    for _number in range(2):
        controller.regenerate()
        followed(controller)

    shown = [controller.branches.step(controller.turns[0], by).text for by in (1, 1, -1, -1)]

    assert shown == ["One.", "Two.", "One.", "Three."]
    assert controller.branches.forks() == controller.turns


def test_answer_goes_on_while_another_branch_is_shown() -> None:
    controller, lm = attached("One.", Script("one two three four five six", hold_at=4))
    lm.gate.clear()
    old = controller.send("a")
    followed(controller)
    lm.gate.clear()
    new = controller.regenerate()
    lm.is_holding.wait()

    controller.branches.show(old)
    lm.release()
    followed(controller)

    assert controller.turns == [old]
    assert new is not None
    assert new.text == "one two three four five six"


def test_regenerate_answers_a_turn_without_an_answer_in_its_place() -> None:
    controller, _ = attached(Script("", error=DecodeFailed("llama_decode failed")), "Now.")
    failed = controller.send("first")
    followed(controller)

    again = controller.regenerate()
    followed(controller)

    assert again is failed
    assert (failed.text, failed.status, failed.error) == ("Now.", "complete", None)


def test_reading_tells_how_far_the_prompt_is() -> None:
    controller, lm = attached(Script("Never.", hold_at=1), n_tokens=100)
    controller.send("long prompt")
    lm.is_holding.wait()
    controller.drain()

    reading = controller.reading
    controller.stop()
    followed(controller)

    assert reading is not None
    assert (reading.done, reading.total, reading.cached) == (50, 100, 0)
    assert reading.left_s is not None
    assert controller.reading is None


def test_regenerate_asks_the_same_again_without_the_old_answer() -> None:
    controller, lm = attached("First.", "Second.")
    old = controller.send("Which?")
    followed(controller)

    new = controller.regenerate()
    followed(controller)

    assert new is not None
    assert (old.text, controller.turns, new.text) == ("First.", [new], "Second.")
    assert [m["content"] for m in lm.requests[1].messages] == ["Which?"]


def test_overflow_is_an_error_of_the_turn_with_both_numbers() -> None:
    controller, _ = attached(n_tokens=9214)

    turn = controller.send("too long")
    followed(controller)

    assert isinstance(turn.error, ContextOverflow)
    assert turn.error.message == "the prompt has 9,214 tokens, but the context holds 8,192"
    assert turn.prompt == "too long"
    assert controller.state == "ERROR"


def test_usage_counts_prompt_and_answer_and_warns_from_four_fifths() -> None:
    controller, _ = attached("one two three", description=replace(DESCRIPTION, n_ctx=10))

    controller.send("hello")
    followed(controller)

    assert (controller.usage.n_tokens, controller.usage.n_ctx) == (8, 10)
    assert controller.usage.is_near_full


def test_clear_while_answering_abandons_the_answer() -> None:
    controller, lm = attached(Script("one two three four five", hold_at=3), "Fresh.")
    controller.send("old")
    lm.is_holding.wait()

    controller.clear()
    turn = controller.send("new")
    followed(controller)

    assert controller.turns == [turn]
    assert turn.text == "Fresh."
    assert [m["content"] for m in lm.requests[1].messages] == ["new"]


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


def test_fault_in_a_worker_becomes_a_sentence() -> None:
    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        raise ZeroDivisionError("division by zero")

    controller = ChatController()
    controller.load(open_model)
    followed(controller)

    assert controller.load_error is not None
    assert "ZeroDivisionError: division by zero" in controller.load_error.message


def test_overflow_of_a_conversation_points_to_a_new_chat() -> None:
    controller, lm = attached("Yes.")
    controller.send("first")
    followed(controller)
    lm.n_tokens = 9214

    turn = controller.send("second")
    followed(controller)

    assert turn.error is not None
    assert turn.error.hint == "/new starts a new chat; a larger --ctx holds a longer one"


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


def test_mode_chosen_before_the_answer_has_a_stream_is_the_one_it_begins_with() -> None:
    lm = ScriptedLM(["one two three four"])
    chat = ChatController()
    chat.set_drafter("none")
    chat.load(lambda tell: lm)
    chat.send("Hi")
    chat.toggle_draft()

    list(chat.follow())

    assert lm.requests[0].options.drafter is None
    assert lm.streams[0].modes == ["auto"]


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
