"""After a failure: the ways on, and what becomes of the message. Answers that do not stop."""

import threading
from collections.abc import Callable
from typing import Literal

import pytest

from edgespec.api.types import LanguageModel, Options
from edgespec.chat.controller import ChatController, LoadProgress, OpenModel
from edgespec.chat.shelf import LighterKind, ModelChange
from edgespec.chat.turns import Loaded, LoadStopped, Notice
from edgespec.errors import (
    DecodeFailed,
    DoesNotFit,
    EdgespecError,
    IncompatibleDraft,
    ModelNotFound,
    UsageError,
)
from edgespec.plan.types import Plan
from tests.scripted import Script, ScriptedLM


class Lighter:
    """A shelf on which every lighter choice loads."""

    def __init__(self, model: ScriptedLM | None = None) -> None:
        self.model = model or ScriptedLM(["Hello."])
        self.taken: list[ModelChange] = []

    def names(self) -> list[str]:
        return []

    def take(self, change: ModelChange) -> OpenModel:
        self.taken.append(change)
        return lambda tell: self.model

    @property
    def wanted(self) -> ModelChange | None:
        return None

    def plan(self, change: ModelChange) -> Plan:
        raise ModelNotFound("nothing is planned here")

    def larger_context(self, needed: int) -> int | None:
        return None

    def lighter(self) -> dict[LighterKind, ModelChange]:
        return {
            "smaller": ModelChange(n_ctx=4096),
            "no_draft": ModelChange(draft="off"),
            "cpu": ModelChange(draft="off", n_gpu_layers=0),
        }

    def advised(self, options: Options) -> Options:
        return options


def failing(error: EdgespecError) -> OpenModel:
    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        raise error

    return open_model


def failed_load(error: EdgespecError, shelf: Lighter | None = None) -> ChatController:
    chat = ChatController(shelf=shelf or Lighter())
    chat.load(failing(error))
    list(chat.follow())
    return chat


def kinds(chat: ChatController) -> list[str]:
    assert chat.trouble.failure is not None
    return [way.kind for way in chat.trouble.failure.ways]


@pytest.mark.parametrize(
    ("error", "ways"),
    [
        (DoesNotFit("9 GB are needed"), ["retry", "smaller", "no_draft", "cpu"]),
        (DecodeFailed("no slot"), ["retry", "smaller", "no_draft", "cpu"]),
        (EdgespecError("a fault of its own"), ["retry", "smaller", "no_draft", "cpu"]),
        (IncompatibleDraft("token 5 differs"), ["retry", "no_draft"]),
        (ModelNotFound("no such model"), ["retry"]),
    ],
)
def test_ways_on_are_those_that_may_help(error: EdgespecError, ways: list[str]) -> None:
    assert kinds(failed_load(error)) == ways


def test_ways_are_told_with_what_they_change() -> None:
    failure = failed_load(DoesNotFit("9 GB are needed")).trouble.failure

    assert failure is not None
    assert failure.title == "The model could not be loaded"
    assert [way.told for way in failure.ways][1] == "load it with a context of 4,096 tokens"


def test_lighter_way_loads_the_model_otherwise() -> None:
    shelf = Lighter()
    chat = failed_load(DoesNotFit("9 GB are needed"), shelf)

    chat.trouble.take("smaller")
    list(chat.follow())

    assert shelf.taken == [ModelChange(n_ctx=4096)]
    assert (chat.state, chat.trouble.failure) == ("READY", None)


def test_lighter_way_that_fails_too_does_not_go_back_to_what_failed() -> None:
    attempts: list[str] = []

    def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
        attempts.append("first")
        raise DoesNotFit("9 GB are needed")

    class AlsoFailing(Lighter):
        def take(self, change: ModelChange) -> OpenModel:
            return failing(DoesNotFit("8 GB are needed"))

    chat = ChatController(shelf=AlsoFailing())
    chat.load(open_model)
    list(chat.follow())
    chat.trouble.take("smaller")
    list(chat.follow())

    assert attempts == ["first"]
    assert chat.trouble.error is not None
    assert chat.trouble.error.message == "8 GB are needed"


def test_failed_answer_is_given_again_after_a_lighter_load() -> None:
    shelf = Lighter()
    chat = ChatController(shelf=shelf)
    chat.attach(ScriptedLM([Script("", error=DecodeFailed("no slot"))]))
    turn = chat.send("Hi")
    list(chat.follow())

    chat.trouble.take("cpu")
    list(chat.follow())

    assert shelf.taken == [ModelChange(draft="off", n_gpu_layers=0)]
    assert (turn.status, turn.text, turn.error) == ("complete", "Hello.", None)


def test_partial_answer_stays_beside_the_new_one() -> None:
    chat = ChatController()
    chat.attach(ScriptedLM([Script("one two", error=DecodeFailed("no slot")), "Hello."]))
    turn = chat.send("Hi")
    list(chat.follow())

    chat.trouble.take("retry")
    list(chat.follow())

    assert [t.text for t in chat.branches.siblings(turn)] == ["one two", "Hello."]


def test_way_that_is_none_now_is_refused() -> None:
    with pytest.raises(UsageError):
        failed_load(ModelNotFound("no such model")).trouble.take("cpu")
    with pytest.raises(UsageError):
        ChatController().trouble.take("retry")


def after_failed_change(shelf: Lighter) -> ChatController:
    """The first change fails, what is taken after it loads."""
    take = shelf.take

    def failing_once(change: ModelChange) -> OpenModel:
        opener = take(change)
        return opener if len(shelf.taken) > 1 else failing(DoesNotFit("9 GB are needed"))

    shelf.take = failing_once  # type: ignore[method-assign]
    chat = ChatController(shelf=shelf)
    chat.load(lambda tell: ScriptedLM(["Back."]))
    list(chat.follow())
    chat.switch(ModelChange(target="other"))
    list(chat.follow())
    return chat


def test_failed_change_has_ways_on_once_the_model_before_is_back() -> None:
    chat = after_failed_change(Lighter())

    failure = chat.trouble.failure

    assert failure is not None
    assert failure.title == "The change failed: the model before is back"
    assert chat.state == "READY"
    assert kinds(chat) == ["retry", "smaller", "no_draft", "cpu"]


@pytest.mark.parametrize(
    ("kind", "change"), [("retry", ModelChange("other")), ("smaller", ModelChange(n_ctx=4096))]
)
def test_way_on_from_a_failed_change_loads_what_was_wanted(
    kind: Literal["retry", "smaller"], change: ModelChange
) -> None:
    shelf = Lighter()
    chat = after_failed_change(shelf)

    chat.trouble.take(kind)
    list(chat.follow())

    assert shelf.taken == [ModelChange("other"), change]
    assert (chat.model, chat.trouble.error) == (shelf.model, None)


def test_second_failed_change_goes_back_to_the_model_that_was_there() -> None:
    shelf = Lighter()
    shelf.take = lambda change: failing(DoesNotFit("9 GB are needed"))  # type: ignore[method-assign]
    chat, there = ChatController(shelf=shelf), ScriptedLM(["Back."])
    chat.load(lambda tell: there)
    list(chat.follow())

    for name in ("other", "another"):
        chat.switch(ModelChange(target=name))
        list(chat.follow())

    assert (chat.state, chat.model) == ("READY", there)


def test_failed_change_is_forgotten_when_the_chat_goes_on() -> None:
    chat = after_failed_change(Lighter())

    turn = chat.send("Hi")
    list(chat.follow())

    assert turn.text == "Back."
    assert chat.trouble.failure is None


# Giving up


class SlowLoad:
    """A load that goes on until it is given up or let through."""

    def __init__(self, model: ScriptedLM) -> None:
        self.model, self.may_go_on = model, threading.Event()
        self.has_begun = threading.Event()

    def __call__(self, tell: Callable[[LoadProgress], None]) -> LanguageModel:
        tell(LoadProgress("loading", 0.1))
        self.has_begun.set()
        self.may_go_on.wait()
        tell(LoadProgress("loading", 0.2))
        return self.model


def test_stop_gives_up_a_load_and_returns_the_message_that_waits() -> None:
    load = SlowLoad(ScriptedLM(["Hello."]))
    chat = ChatController()
    chat.load(load)
    chat.send("early")
    load.has_begun.wait()

    is_stopped = chat.stop()
    load.may_go_on.set()
    updates = list(chat.follow()) + chat.drain()

    assert is_stopped
    assert LoadStopped() in updates
    assert (chat.state, chat.load_error, chat.turns) == ("BOOT", None, [])


def test_message_after_a_load_was_given_up_loads_again() -> None:
    load = SlowLoad(ScriptedLM(["Hello."]))
    chat = ChatController()
    chat.load(load)
    load.has_begun.wait()
    chat.stop()
    load.may_go_on.set()
    list(chat.follow())

    turn = chat.send("again")
    list(chat.follow())

    assert turn.text == "Hello."


def test_giving_up_a_change_goes_back_to_the_model_before() -> None:
    load = SlowLoad(ScriptedLM())

    class Slow(Lighter):
        def take(self, change: ModelChange) -> OpenModel:
            return load

    before = ScriptedLM(["Back."])
    chat = ChatController(shelf=Slow())
    chat.load(lambda tell: before)
    list(chat.follow())
    chat.switch(ModelChange(target="other"))
    load.has_begun.wait()

    chat.stop()
    load.may_go_on.set()
    updates = list(chat.follow())

    assert chat.model is before
    assert any(isinstance(u, Notice) and "going back" in u.text for u in updates)


def test_change_during_a_load_takes_its_place() -> None:
    slow, other, before = SlowLoad(ScriptedLM()), ScriptedLM(["Other."]), ScriptedLM()

    class Two(Lighter):
        def take(self, change: ModelChange) -> OpenModel:
            return slow if change.target == "slow" else lambda tell: other

    chat = ChatController(shelf=Two())
    chat.load(lambda tell: before)
    list(chat.follow())
    chat.switch(ModelChange(target="slow"))
    slow.has_begun.wait()

    chat.switch(ModelChange(target="other"))
    slow.may_go_on.set()
    for thread in chat._workers._threads:
        thread.join()
    updates = list(chat.follow())
    turn = chat.send("Hi")
    list(chat.follow())

    assert [u.model for u in updates if isinstance(u, Loaded)] == [other]
    assert (turn.text, chat.state) == ("Other.", "READY")
    assert not any(isinstance(u, Notice) for u in updates)


def test_load_that_ended_unheard_is_freed_when_another_takes_its_place() -> None:
    first, other = ScriptedLM(), ScriptedLM(["Other."])
    chat = ChatController(shelf=OneOther(other))
    chat.load(lambda tell: first)
    for thread in chat._workers._threads:
        thread.join()

    chat.switch(ModelChange(target="other"))
    updates = list(chat.follow())

    assert [u.model for u in updates if isinstance(u, Loaded)] == [other]
    assert (first.is_closed, chat.model) == (True, other)


class OneOther(Lighter):
    """Has one other model."""

    def __init__(self, other: ScriptedLM) -> None:
        super().__init__()
        self.other = other

    def take(self, change: ModelChange) -> OpenModel:
        return lambda tell: self.other
