import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from edgespec.api.types import LanguageModel
from edgespec.chat.controller import ChatController, LoadProgress
from edgespec.chat.turns import Returned, TurnEnded
from edgespec.errors import ContextOverflow, DecodeFailed
from tests.scripted import DESCRIPTION, Script, ScriptedLM
from tests.unit.chat_world import attached, followed


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


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals for one thread")
def test_follow_hears_a_signal_that_did_not_interrupt_its_wait() -> None:
    """One that comes just before a lock's wait does not; here another thread gets it."""
    controller, lm = attached(Script("one two three", hold_at=2))
    is_heard = threading.Event()

    def signals() -> None:
        lm.is_holding.wait()
        time.sleep(0.1)  # it is drained, and waited for
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        is_heard.wait(10)
        lm.release()  # who did not hear it is told of the end

    elsewhere = threading.Thread(target=signals)
    elsewhere.start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        controller.send("count")
        with pytest.raises(KeyboardInterrupt):
            followed(controller)
        was_held = not lm.gate.is_set()
    finally:
        is_heard.set()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, before)
        elsewhere.join()
    followed(controller)

    assert was_held
