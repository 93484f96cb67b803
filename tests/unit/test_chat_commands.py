import re

import pytest

from edgespec.chat.commands import (
    COMMANDS,
    Command,
    Outcome,
    Say,
    Unknown,
    completions,
    parse,
    run,
    stats_text,
)
from edgespec.chat.controller import ChatController
from edgespec.errors import UsageError
from edgespec.events import Stats
from tests.scripted import ScriptedLM


def controller_after(*messages: str) -> ChatController:
    controller = ChatController()
    controller.attach(ScriptedLM(["First **raw**.", "Second."]))
    for message in messages:
        controller.send(message)
        list(controller.follow())
    return controller


def said(controller: ChatController, line: str) -> Outcome:
    command = parse(line)
    assert isinstance(command, Command)
    return run(controller, command)


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("hello /draft", Say("hello /draft")),
        ("//etc/hosts?", Say("/etc/hosts?")),
        ("/draft off", Command("draft", "off")),
        ("/CLEAR", Command("new", "")),
        ("/system be  brief\nplease", Command("system", "be  brief\nplease")),
    ],
)
def test_parse_tells_messages_from_commands(line: str, meaning: object) -> None:
    assert parse(line) == meaning


def test_parse_suggests_the_nearest_command() -> None:
    unknown = parse("/darft off")

    assert isinstance(unknown, Unknown)
    assert "no command /darft; did you mean /draft?" in unknown.sentence


def test_parse_never_sends_a_path_to_the_model() -> None:
    unknown = parse("/usr/bin/env python")

    assert isinstance(unknown, Unknown)
    assert "start with // to send it as text" in unknown.sentence


@pytest.mark.parametrize(
    ("argument", "drafter"), [("off", "none"), ("auto", "auto"), ("suffix", "suffix")]
)
def test_draft_sets_the_drafter_of_the_next_answer(argument: str, drafter: str) -> None:
    controller = controller_after()

    said(controller, f"/draft {argument}")

    assert controller.options.drafter == drafter


def test_draft_on_goes_back_to_what_was_loaded() -> None:
    controller = controller_after()
    said(controller, "/draft off")

    outcome = said(controller, "/draft on")

    assert controller.options.drafter is None
    assert outcome.text == "draft ON (model), from the next answer on"


def test_think_changes_the_next_answer() -> None:
    controller = controller_after()

    said(controller, "/think off")

    assert controller.options.think is False
    assert not controller.is_thinking_on


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("/set temp 0.7", "temperature", 0.7),
        ("/set top-k=40", "top_k", 40),
        ("/set seed none", "seed", None),
        ("/set reproducible on", "reproducible", True),
    ],
)
def test_set_changes_the_sampling(line: str, name: str, value: object) -> None:
    controller = controller_after()

    said(controller, line)

    assert getattr(controller.options.sampling, name) == value


def test_set_changes_the_limits_of_the_request() -> None:
    controller = controller_after()

    said(controller, "/set max_tokens 100")

    assert controller.options.max_tokens == 100


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("/set temperatur 1", "did you mean temperature?"),
        ("/set top_k many", "top_k must be a whole number, not 'many'"),
        ("/set top_p 3", "top_p is 3.0, but must be above 0 and at most 1"),
        ("/set max_tokens -1", "max_tokens is -1, but must be 0 or more"),
        ("/draft sufix", "there is no drafter 'sufix'; /draft takes on, off, auto, none, model"),
        ("/think maybe", "/think is on or off, not 'maybe'"),
        ("/copy 7", "there are 2 answers; /copy 7 is none of them"),
    ],
)
def test_argument_without_a_meaning_is_refused_with_a_sentence(line: str, sentence: str) -> None:
    controller = controller_after("one", "two")
    before = controller.options

    with pytest.raises(UsageError, match=re.escape(sentence)):
        said(controller, line)

    assert controller.options == before


def test_set_alone_lists_every_setting() -> None:
    text = said(controller_after(), "/set").text

    assert "temperature       0.0" in text
    assert "max_tokens        auto" in text


def test_copy_gives_the_raw_text_of_an_answer() -> None:
    controller = controller_after("one", "two")

    last, first = said(controller, "/copy"), said(controller, "/copy 2")

    assert (last.effect, last.payload) == ("copy", "Second.")
    assert first.payload == "First **raw**."


def test_system_prompt_is_set_shown_and_removed() -> None:
    controller = controller_after()

    texts = [
        said(controller, line).text for line in ("/system Be brief.", "/system", "/system off")
    ]

    assert texts == ["system prompt: Be brief."] * 2 + ["no system prompt"]


def test_new_forgets_the_conversation() -> None:
    controller = controller_after("one")

    outcome = said(controller, "/new")

    assert (controller.turns, outcome.effect) == ([], "cleared")


def test_stats_text_shows_numbers_that_agree() -> None:
    stats = Stats(
        prompt_tokens=14,
        generated_tokens=186,
        passes=54,
        rounds=54,
        drafted=216,
        accepted=132,
        accepted_at=(46, 38, 28, 20),
        decode_s=4.428,
        plain_tokens_per_s=20.4,
    )

    text = stats_text(stats)

    assert "speed      42.0 tok/s" in text
    assert "accepted   61% (132 of 216)" in text
    assert "by place   85% 70% 52% 37%" in text
    assert "per round  3.44 tokens, rounds: 54" in text


def test_completions_shrink_to_the_command_that_is_typed() -> None:
    assert len(completions("/")) == len(COMMANDS)
    assert [entry.name for entry in completions("/s")] == [
        "show",
        "stats",
        "search",
        "save",
        "set",
        "system",
    ]
    assert completions("/set ") == []
    assert completions("//") == []
