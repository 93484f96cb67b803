"""Messages changed and asked again: the branches of a chat."""

from edgespec.errors import DecodeFailed
from tests.scripted import Script
from tests.unit.chat_world import attached, followed


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


def test_regenerate_asks_the_same_again_without_the_old_answer() -> None:
    controller, lm = attached("First.", "Second.")
    old = controller.send("Which?")
    followed(controller)

    new = controller.regenerate()
    followed(controller)

    assert new is not None
    assert (old.text, controller.turns, new.text) == ("First.", [new], "Second.")
    assert [m["content"] for m in lm.requests[1].messages] == ["Which?"]


def test_edit_of_another_chats_message_is_a_new_message() -> None:
    controller, lm = attached("One.", "Two.", "Three.")
    controller.send("a")
    followed(controller)
    old = controller.send("b")
    followed(controller)

    controller.clear()
    turn = controller.edit(old, "c")
    followed(controller)

    assert (controller.turns, turn.parent) == ([turn], None)
    assert [m["content"] for m in lm.requests[2].messages] == ["c"]


def test_turn_that_was_removed_is_asked_again_at_the_end() -> None:
    controller, _ = attached("One.", Script("", error=DecodeFailed("llama_decode failed")), "Two.")
    first = controller.send("a")
    followed(controller)
    failed = controller.send("b")
    followed(controller)
    controller.branches.remove(failed)

    controller.trouble.take("retry")
    followed(controller)

    assert [(turn.prompt, turn.text) for turn in controller.turns] == [("a", "One."), ("b", "Two.")]
    assert controller.turns[1].parent is first
    assert all(turn in controller.conversation.tree.turns for turn in controller.turns)
