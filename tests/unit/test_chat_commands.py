import re
from pathlib import Path

import pytest

from edgespec.chat.commands import (
    ALIASES,
    COMMANDS,
    Command,
    Outcome,
    Say,
    Unknown,
    completions,
    help_lines,
    parse,
    run,
    stats_text,
)
from edgespec.chat.controller import ChatController
from edgespec.errors import EdgespecError, UsageError
from edgespec.events import Stats
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from tests.scripted import ScriptedLM


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that write into the current folder find one of their own."""
    monkeypatch.chdir(tmp_path)


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
        ("/system\nbe brief\nplease", Command("system", "be brief\nplease")),
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


def test_draft_on_forces_what_was_loaded() -> None:
    controller = controller_after()
    said(controller, "/draft off")

    outcome = said(controller, "/draft on")

    assert controller.options.drafter is None
    assert outcome.text == "draft ON (model, forced at every step), from the next answer on"
    assert said(controller, "/draft auto").text == "draft ON (auto), from the next answer on"


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
        ("/copy 7", "this chat has 2 answers; /copy 7 is none of them"),
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


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("/set temp", "temperature = 0.0"),
        ("/set seed", "seed = auto"),
        ("/set top-k 5", "top_k = 5"),
    ],
)
def test_set_with_a_name_shows_its_value(line: str, text: str) -> None:
    assert said(controller_after(), line).text.startswith(text)


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


def test_completions_know_other_names_too() -> None:
    assert [entry.name for entry in completions("/cl")] == ["new"]
    assert [entry.name for entry in completions("/fi")] == ["search"]


def test_nothing_is_exported_before_something_was_said(tmp_path: Path) -> None:
    assert said(controller_after(), "/export md").text == "nothing has been said yet"
    assert not [*tmp_path.iterdir()]


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


def test_every_command_is_in_the_help_with_its_other_names() -> None:
    shown = dict(help_lines())

    assert [entry.usage for entry in COMMANDS.values()] == list(shown)[:-1]
    for alias, name in ALIASES.items():
        assert f"/{alias}" in shown[COMMANDS[name].usage]


@pytest.mark.parametrize("name", [*COMMANDS, *ALIASES])
def test_every_name_is_bound_and_is_what_help_says(name: str) -> None:
    command = parse(f"/{name}")

    assert isinstance(command, Command)
    entry = COMMANDS[command.name]
    assert entry.usage.split()[0] == f"/{entry.name}"
    assert len(entry.usage) <= 27
    assert len(entry.summary) <= 48


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"private", "new"}))
def test_every_command_answers_in_an_empty_chat(name: str) -> None:
    controller = ChatController()

    try:
        outcome = run(controller, Command(name, ""))
        said = outcome.text or outcome.effect
    except EdgespecError as error:
        said = error.message

    assert said


def test_names_are_bound_once() -> None:
    assert set(COMMANDS).isdisjoint(ALIASES)


def test_edit_puts_the_message_back_into_the_prompt() -> None:
    controller = controller_after("one", "two")

    outcome, earlier = said(controller, "/edit"), said(controller, "/edit 2")

    assert (outcome.effect, outcome.payload, outcome.turn) == ("edit", "two", controller.turns[1])
    assert earlier.payload == "one"


def test_branch_lists_and_shows_other_answers() -> None:
    controller = controller_after("one", "two")
    said(controller, "/regen")
    list(controller.follow())
    controller.edit(controller.turns[0], "ONE")
    list(controller.follow())
    said(controller, "/branch 1")

    texts = [said(controller, line).text for line in ("/branch", "/branch 2 prev", "/branch 1 2")]

    assert texts == [
        'message 1 "one": branch 1 of 2\nmessage 2 "two": branch 2 of 2',
        'message 2 "two": branch 1 of 2',
        'message 1 "ONE": branch 2 of 2',
    ]


def test_remove_and_undo_bring_back_a_turn() -> None:
    controller = controller_after("one", "two")

    removed = said(controller, "/remove 2")
    left = [turn.prompt for turn in controller.turns]
    said(controller, "/undo")

    assert removed.text == 'removed "one"; /undo brings it back'
    assert (left, [turn.prompt for turn in controller.turns]) == (["two"], ["one", "two"])


def test_copy_code_gives_the_nth_block_raw() -> None:
    controller = ChatController()
    controller.attach(ScriptedLM(["A:\n```py\nx = 1\n```\nB:\n~~~\ny\n~~~\n"]))
    controller.send("code")
    list(controller.follow())

    first, second = said(controller, "/copy code"), said(controller, "/copy code 2")

    assert (first.payload, second.payload) == ("x = 1\n", "y\n")
    with pytest.raises(UsageError, match="has 2 blocks; 3 is none"):
        said(controller, "/copy code 3")


def test_show_gives_the_whole_branch() -> None:
    assert said(controller_after("one", "two"), "/show").text == (
        "you: one\n\nFirst **raw**.\n\nyou: two\n\nSecond."
    )


def test_gamma_sets_the_longest_draft() -> None:
    controller = controller_after()

    texts = [said(controller, line).text for line in ("/gamma 4", "/gamma", "/gamma auto")]

    assert texts[1] == "most draft tokens per step: 4"
    assert controller.options.draft_len is None


def test_model_without_a_shelf_says_what_is_loaded() -> None:
    assert said(controller_after(), "/model").text == "qwen3-14b Q4_K_M + qwen3-0.6b"


def test_saved_chats_are_listed_opened_searched_titled_and_deleted(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    keeper = Keeper(path, fallbacks=[])
    controller = ChatController(journal=keeper, library=Library(path))
    controller.attach(ScriptedLM(["The zebra.", "The lion."]))
    controller.send("Which animal?")
    list(controller.follow())
    first = controller.conversation.id
    said(controller, "/title Animals")
    said(controller, "/new")
    controller.send("Another?")
    list(controller.follow())

    listed = said(controller, "/resume").text
    found = said(controller, "/search zeb").text
    opened = said(controller, "/resume animals")
    deleted = said(controller, "/delete this")
    back = said(controller, "/undo").text

    assert [line.split()[0] for line in listed.splitlines()[:2]][1] == first
    assert found.startswith(first)
    assert "answer: The *zeb*ra." in found
    assert (opened.effect, opened.text) == ("opened", '"Animals", 1 turn; /show shows them')
    assert deleted == Outcome('deleted "Animals", 1 turn; /undo brings it back', "cleared")
    assert back == f'"Animals" is back: /resume {first}'
    controller.close()


def test_export_writes_a_file_and_says_where(tmp_path: Path) -> None:
    controller = controller_after("one")

    outcome = said(controller, f"/export json {tmp_path / 'chat.json'}")

    assert outcome.text == f"written to {tmp_path / 'chat.json'}"
    assert '"prompt": "one"' in (tmp_path / "chat.json").read_text()


def test_context_says_how_full_it_is() -> None:
    assert said(controller_after("one"), "/context").text == "context: 7 of 8,192 tokens (0%)"
    with pytest.raises(UsageError, match="the context is not full"):
        said(controller_after("one"), "/context drop")
    with pytest.raises(UsageError, match="/context takes drop, summarise"):
        said(controller_after("one"), "/context no")
