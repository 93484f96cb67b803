"""A conversation while its model is being loaded."""

import threading
from collections.abc import Callable
from dataclasses import replace

from edgespec.api.types import LanguageModel, Options
from edgespec.chat.controller import ChatController, LoadFailed, LoadProgress
from edgespec.chat.turns import Notice
from edgespec.errors import ModelNotFound
from tests.scripted import DESCRIPTION, ScriptedLM


def test_message_sent_while_loading_is_answered_after_it() -> None:
    may_load, lm = threading.Event(), ScriptedLM(["Hello."])
    controller = ChatController(Options(), system="Be brief.")

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        tell(LoadProgress("loading qwen3-14b", 0.5))
        may_load.wait()
        return lm

    controller.load(open_model)
    turn = controller.send("early")
    status_before = turn.status
    may_load.set()
    list(controller.follow())

    assert (status_before, turn.status, turn.text) == ("queued", "complete", "Hello.")
    assert [m["role"] for m in lm.requests[0].messages] == ["system", "user"]


def test_failed_load_is_told_and_tried_again_by_the_next_message() -> None:
    attempts: list[int] = []

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        attempts.append(1)
        if len(attempts) == 1:
            raise ModelNotFound("no file x.gguf", hint="edgespec models")
        return ScriptedLM(["Hello."])

    controller = ChatController()
    controller.load(open_model)
    updates = list(controller.follow())
    turn = controller.send("again")
    list(controller.follow())

    assert [type(update) for update in updates] == [LoadFailed]
    assert turn.text == "Hello."


def test_load_that_failed_begins_again_without_a_message() -> None:
    attempts: list[int] = []

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        attempts.append(1)
        if len(attempts) == 1:
            raise ModelNotFound("no file x.gguf", hint="edgespec models")
        return ScriptedLM()

    controller = ChatController()
    began = [controller.trouble.load_again()]
    controller.load(open_model)
    began.append(controller.trouble.load_again())
    list(controller.follow())
    began.append(controller.trouble.load_again())
    list(controller.follow())
    began.append(controller.trouble.load_again())

    assert began == [False, False, True, False]
    assert controller.state == "READY"


def test_what_gave_way_to_short_memory_is_told() -> None:
    about = replace(DESCRIPTION, gave_way=("context 32,768 -> 8,192 to fit",))
    controller = ChatController()

    controller.load(lambda tell: ScriptedLM(description=about))
    updates = list(controller.follow()) + controller.drain()

    assert Notice("memory is short: context 32,768 -> 8,192 to fit") in updates


def test_close_frees_a_model_that_finished_loading_too_late() -> None:
    may_load, lm = threading.Event(), ScriptedLM()

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        may_load.wait()
        return lm

    controller = ChatController()
    controller.load(open_model)
    controller.close(timeout_s=0)
    may_load.set()
    controller.close(timeout_s=30)

    assert lm.is_closed


def test_close_gives_up_a_load_at_its_next_progress() -> None:
    has_begun, is_closing, is_given_up = threading.Event(), threading.Event(), threading.Event()

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        has_begun.set()
        is_closing.wait()
        try:
            tell(LoadProgress("measuring", 0.5))
        except BaseException:
            is_given_up.set()
            raise
        return ScriptedLM()

    controller = ChatController()
    controller.load(open_model)
    has_begun.wait()
    controller.close(timeout_s=0)
    is_closing.set()
    controller.close(timeout_s=30)

    assert is_given_up.is_set()
    assert controller.drain() == []
