"""A context that is full: nothing is dropped before someone chose so."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from edgespec.api.types import LanguageModel, Options
from edgespec.chat.controller import ChatController
from edgespec.chat.shelf import LighterKind, ModelChange
from edgespec.chat.turns import ChoiceKind, ContextFull, LoadProgress, Notice, Returned, Update
from edgespec.errors import ContextOverflow, EdgespecError, ModelNotFound, UsageError
from edgespec.plan.types import Plan
from tests.scripted import DESCRIPTION, Script, ScriptedLM

N_CTX = 176
"""Of which 22 are to stay free for an answer. A turn takes 43: 4 for each message and its words."""
ANSWER = "a b c d e f " * 5
PROMPT = "q w e r t"


def described(n_ctx: int = N_CTX) -> ScriptedLM:
    return ScriptedLM([ANSWER], replace(DESCRIPTION, n_ctx=n_ctx))


class OneShelf:
    """Has one other model: the same with a context of 256 tokens."""

    def __init__(self, larger: int | None = 256) -> None:
        self.larger = larger
        self.changes: list[ModelChange] = []
        self.model = described(256)

    def names(self) -> list[str]:
        return ["qwen3-14b"]

    def take(
        self, change: ModelChange
    ) -> Callable[[Callable[[LoadProgress], None]], LanguageModel]:
        self.changes.append(change)
        return lambda tell: self.model

    @property
    def wanted(self) -> ModelChange | None:
        return None

    def plan(self, change: ModelChange) -> Plan:
        raise ModelNotFound("nothing is planned here")

    def larger_context(self, needed: int) -> int | None:
        return self.larger

    def lighter(self) -> dict[LighterKind, ModelChange]:
        return {}

    def advised(self, options: Options) -> Options:
        return options


def followed(chat: ChatController) -> list[Update]:
    updates = list(chat.follow())
    return updates + chat.drain()


def filled(*, shelf: OneShelf | None = None, n_turns: int = 4) -> tuple[ChatController, ScriptedLM]:
    """A chat whose next message does not fit: 4 turns of 43 tokens and 4 + 5 more are 181."""
    model = described()
    chat = ChatController(shelf=shelf)
    chat.attach(model)
    for number in range(n_turns):
        chat.send(f"{PROMPT[:-1]}{number}")
        followed(chat)
    return chat, model


def full(chat: ChatController) -> ContextFull:
    assert chat.full is not None
    return chat.full


def test_message_that_does_not_fit_waits_for_a_choice() -> None:
    chat, model = filled()

    turn = chat.send(PROMPT)
    updates = followed(chat)

    assert (chat.state, turn.status, chat.can_queue) == ("FULL", "queued", False)
    assert updates == [full(chat)]
    assert (full(chat).needed, full(chat).limit) == (181, N_CTX)
    assert full(chat).sentence == (
        "the context is full: the conversation takes 181 tokens, and 176 fit"
    )
    assert [choice.kind for choice in full(chat).choices] == ["drop", "summarise", "new", "cancel"]
    assert len(model.requests) == 4


def test_message_that_leaves_too_little_room_waits_too_but_may_be_answered() -> None:
    chat, _ = filled(n_turns=3)

    turn = chat.send("word " * 30)  # 163 of 176 tokens
    followed(chat)
    told = {choice.kind: choice.told for choice in full(chat).choices}
    chat.choose("anyway")
    followed(chat)

    assert told["anyway"] == "answer in what is left: 13 tokens"
    assert (turn.status, turn.text) == ("complete", ANSWER)


def test_drop_names_the_oldest_turns_and_leaves_them_out() -> None:
    chat, model = filled()
    chat.send(PROMPT)
    followed(chat)
    told = full(chat).choices[0].told

    chat.choose("drop")
    updates = followed(chat)

    assert told == (
        'leave out the 2 oldest turns ("q w e r 0", "q w e r 1"); they stay in the chat'
    )
    assert [m["content"] for m in model.requests[-1].messages] == [
        "q w e r 2",
        ANSWER,
        "q w e r 3",
        ANSWER,
        PROMPT,
    ]
    assert len(chat.turns) == 5
    assert [t.prompt for t in chat.conversation.left_out] == ["q w e r 0", "q w e r 1"]
    notices = [update.text for update in updates if isinstance(update, Notice)]
    assert "the 2 oldest turns are left out of what the model sees from here on" in notices


def test_drop_stays_chosen_for_later_messages() -> None:
    chat, model = filled()
    chat.send(PROMPT)
    followed(chat)
    chat.choose("drop")
    followed(chat)
    chat.branches.remove(chat.turns[-1])

    chat.send("x")
    followed(chat)

    assert model.requests[-1].messages[0]["content"] == "q w e r 2"


def test_drop_keeps_an_earlier_summary() -> None:
    chat, model = filled()
    chat.conversation.leave_out((chat.turns[0],), chat.turns[1], "They met.")
    chat.send("word " * 40)
    followed(chat)

    chat.choose("drop")
    followed(chat)

    assert model.requests[-1].messages[0]["content"].endswith("They met.")
    assert chat.conversation.summary == "They met."


def test_system_prompt_is_never_left_out() -> None:
    chat, model = filled()
    chat.conversation.system = "Be brief."
    chat.send(PROMPT)
    followed(chat)

    chat.choose("drop")
    followed(chat)

    contents = [m["content"] for m in model.requests[-1].messages]
    assert (contents[0], contents[-1]) == ("Be brief.", PROMPT)


def test_summary_stands_for_the_oldest_turns() -> None:
    chat, model = filled()
    model.scripts = [ANSWER] * 4 + ["They spoke of letters.", "Answered."]
    turn = chat.send(PROMPT)
    followed(chat)

    chat.choose("summarise")
    state = chat.state
    followed(chat)

    asked, answered = (request.messages for request in model.requests[-2:])
    assert state == "SUMMARISING"
    assert [m["content"] for m in asked[:2]] == ["q w e r 0", ANSWER]
    assert asked[-1]["content"].startswith("Summarise the conversation above")
    assert model.requests[-2].options.think is False
    assert answered[0]["content"] == ("Summary of the conversation before:\nThey spoke of letters.")
    assert answered[1]["content"] == "q w e r 2"
    assert (turn.text, turn.status) == ("Answered.", "complete")
    assert chat.conversation.summary == "They spoke of letters."


def test_stopped_summary_changes_nothing() -> None:
    chat, model = filled()
    model.scripts = [ANSWER] * 4 + [Script("They spoke of letters.", hold_at=3)]
    model.gate.clear()
    turn = chat.send(PROMPT)
    followed(chat)
    chat.choose("summarise")
    model.is_holding.wait()

    chat.stop()
    followed(chat)

    assert (turn.status, turn.text, chat.conversation.summary) == ("stopped", "", "")
    assert chat.conversation.left_out == ()


def test_empty_summary_is_an_error_that_keeps_the_message() -> None:
    chat, model = filled()
    model.scripts = [ANSWER] * 4 + [""]
    turn = chat.send(PROMPT)
    followed(chat)

    chat.choose("summarise")
    followed(chat)

    assert turn.error is not None
    assert turn.error.message == "the model wrote no summary"
    assert chat.conversation.left_out == ()


def test_larger_context_is_loaded_and_answers() -> None:
    shelf = OneShelf()
    chat, old = filled(shelf=shelf)
    turn = chat.send(PROMPT)
    followed(chat)

    chat.choose("larger")
    followed(chat)

    assert shelf.changes == [ModelChange(n_ctx=256)]
    assert old.is_closed
    assert (turn.text, turn.status, chat.usage.n_ctx) == (ANSWER, "complete", 256)
    assert len(shelf.model.requests[0].messages) == 9


def test_new_chat_takes_the_message_along() -> None:
    chat, model = filled()
    chat.send(PROMPT)
    followed(chat)
    before = chat.conversation

    turn = chat.choose("new")
    followed(chat)

    assert chat.conversation is not before
    assert chat.turns == [turn]
    assert [m["content"] for m in model.requests[-1].messages] == [PROMPT]
    assert len(before.tree.turns) == 4


def test_cancel_gives_the_message_back() -> None:
    chat, _ = filled()
    chat.send(PROMPT)
    followed(chat)

    chat.choose("cancel")
    updates = chat.drain()

    assert [u.text for u in updates if isinstance(u, Returned)] == [PROMPT]
    assert (chat.state, len(chat.turns), chat.can_send) == ("READY", 4, True)


def test_withdrawn_message_leaves_the_choice() -> None:
    chat, _ = filled()
    chat.send(PROMPT)
    followed(chat)

    text = chat.withdraw()

    assert (text, chat.full, chat.state) == (PROMPT, None, "READY")


@pytest.mark.parametrize("kind", ["larger", "anyway"])
def test_way_that_is_not_open_is_refused(kind: str) -> None:
    chat, _ = filled()
    chat.send(PROMPT)
    followed(chat)

    with pytest.raises(UsageError, match="there are drop, summarise, new, cancel"):
        chat.choose(kind)  # type: ignore[arg-type]
    assert chat.state == "FULL"


def test_nothing_can_be_chosen_while_the_context_has_room() -> None:
    chat, _ = filled(n_turns=1)

    with pytest.raises(UsageError, match="the context is not full"):
        chat.choose("drop")


def test_single_message_that_is_too_long_is_an_error_with_both_numbers() -> None:
    chat, _ = filled(n_turns=0)

    turn = chat.send("w " * 200)
    followed(chat)

    assert isinstance(turn.error, ContextOverflow)
    assert (turn.error.needed, turn.error.limit) == (204, N_CTX)
    assert turn.prompt == "w " * 200


def test_answer_that_met_the_end_of_the_context_is_told() -> None:
    chat, model = filled(n_turns=0)
    turn = chat.send("x")
    stream_of = model.chat

    def ended(*args: object, **kwargs: object) -> object:
        stream = stream_of(*args, **kwargs)  # type: ignore[arg-type]
        stream._finish = lambda reason: setattr(  # type: ignore[method-assign]
            stream, "stats", replace(stream.stats, finish_reason="context_full")
        )
        return stream

    followed(chat)
    model.chat = ended  # type: ignore[method-assign,assignment]
    chat.send("y")
    updates = followed(chat)

    assert turn.status == "complete"
    assert any(isinstance(u, Notice) and "the answer ends here" in u.text for u in updates)


def test_warning_at_four_fifths_comes_once() -> None:
    chat, _ = filled(n_turns=2)
    notices = []

    for prompt in (PROMPT, PROMPT, ""):
        chat.send(prompt)
        notices.append([u.text for u in followed(chat) if isinstance(u, Notice)])

    assert notices == [[], ["the context is 96% full; /new starts a new chat"], []]


def test_failed_switch_goes_back_to_the_model_before() -> None:
    class BrokenShelf(OneShelf):
        def take(
            self, change: ModelChange
        ) -> Callable[[Callable[[LoadProgress], None]], LanguageModel]:
            def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
                raise EdgespecError("memory is short", hint="close something")

            return open_model

    models = [described(), described()]
    chat = ChatController(shelf=BrokenShelf())
    loads = iter(models)
    chat.load(lambda tell: next(loads))
    followed(chat)

    chat.switch(ModelChange(target="qwen3-14b"))
    updates = followed(chat)
    turn = chat.send("Hi")
    followed(chat)

    (notice,) = [update for update in updates if isinstance(update, Notice)]
    assert notice.text.startswith("memory is short; close something; going back")
    assert models[0].is_closed
    assert turn.text == ANSWER
    assert chat.load_error is None


def test_switch_is_refused_during_an_answer() -> None:
    chat, model = filled(shelf=OneShelf(), n_turns=0)
    model.scripts = [Script("one two three four", hold_at=3)]
    chat.send("Hi")
    model.is_holding.wait()

    with pytest.raises(UsageError, match="an answer is under way"):
        chat.switch(ModelChange(target="x"))

    model.release()
    followed(chat)


def test_message_behind_one_that_does_not_fit_is_given_back() -> None:
    chat, _ = filled()
    chat.send(PROMPT)
    behind = chat.send("and then")

    updates = followed(chat)

    assert [u.text for u in updates if isinstance(u, Returned)] == ["and then"]
    assert chat.state == "FULL"
    assert behind not in chat.conversation.tree.turns


@pytest.mark.parametrize("kind", ["drop", "summarise"])
def test_what_was_left_out_stays_so_when_the_message_is_asked_again(kind: ChoiceKind) -> None:
    chat, model = filled()
    turn = chat.send("w " * 90)
    followed(chat)
    chat.choose(kind)
    followed(chat)
    n_seen = len(chat.messages(turn))

    chat.regenerate(turn)
    followed(chat)

    assert chat.full is None
    assert len(model.requests[-1].messages) == n_seen


def test_undo_brings_back_where_the_view_of_the_model_began() -> None:
    chat, _ = filled()
    chat.send(PROMPT)
    followed(chat)
    chat.choose("summarise")
    followed(chat)
    before = chat.conversation.window_start, chat.conversation.summary
    start = chat.conversation.window_start
    assert start is not None

    chat.branches.remove(start)
    chat.branches.undo()

    assert (chat.conversation.window_start, chat.conversation.summary) == before
    assert before[1]
