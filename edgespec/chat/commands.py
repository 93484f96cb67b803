"""Slash commands: the one table that binds, completes and documents them, and what a line means.

A line that begins with "/" never reaches the model by accident: an unknown command gets a
suggestion, "//" sends a text that begins with one "/". Prints nothing and knows no front end.
"""

import difflib
import re
from dataclasses import dataclass

from edgespec.chat import commands_answers as answers
from edgespec.chat import commands_history as history
from edgespec.chat import commands_options as options
from edgespec.chat.commands_answers import stats_text
from edgespec.chat.commands_options import draft_sentence
from edgespec.chat.controller import ChatController
from edgespec.chat.outcome import Act, Effect, Entry, Outcome

__all__ = [
    "ALIASES",
    "COMMANDS",
    "Command",
    "Entry",
    "Outcome",
    "Say",
    "Unknown",
    "completions",
    "draft_sentence",
    "help_lines",
    "parse",
    "run",
    "stats_text",
]


@dataclass(frozen=True, slots=True)
class Say:
    """A message to the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A known command."""

    name: str
    argument: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Not a command; `sentence` says so and what was probably meant."""

    sentence: str


def _only(effect: Effect) -> Act:
    """A command of which the front end does everything."""
    return lambda controller, argument: Outcome(effect=effect)


COMMANDS = {
    entry.name: entry
    for entry in (
        Entry("/help", "keys and commands", _only("help"), ("?",)),
        Entry("/new", "start a new chat; this one is kept", answers.new, ("clear",)),
        Entry("/private", "start a chat that is never saved", answers.private),
        Entry("/regen", "answer the last message again", answers.regen, ("retry",)),
        Entry("/edit [N]", "change the last (Nth last) message", answers.edit),
        Entry("/branch [M] [N|next|prev]", "other answers of message M", answers.branch),
        Entry("/remove [N]", "take out the last (Nth last) turn", answers.remove),
        Entry("/undo", "bring back what was removed or deleted", history.undo),
        Entry("/show", "the whole chat again", answers.show),
        Entry("/copy [N|code [N]]", "copy an answer or its code, raw", answers.copy),
        Entry("/stats", "figures of the last answer", answers.stats),
        Entry("/why", "what was drafted, and why", _only("why")),
        Entry("/resume [ID|WORDS]", "saved chats; open one", history.resume, ("chats",)),
        Entry("/search WORDS", "find words in all chats", history.search, ("find",)),
        Entry("/title TEXT", "give this chat a title", history.title, ("rename",)),
        Entry("/delete ID|this", "delete a saved chat", history.delete),
        Entry("/save", "save this chat, from now on", history.save),
        Entry("/export [md|json] [FILE]", "this chat as a file", history.export),
        Entry("/context [CHOICE]", "how full it is; ways on when full", options.context),
        Entry("/model [NAME]", "talk to another model", options.model),
        Entry(
            "/draft [on|off|auto|NAME]",
            "draft always, never, where it pays, or with NAME",
            options.draft,
        ),
        Entry("/gamma N|auto", "most draft tokens per step", options.gamma),
        Entry("/think on|off", "let the model think first", options.think),
        Entry("/set NAME VALUE", "sampling, limits; alone: show them", options.assign),
        Entry("/system [TEXT|none]", "the system prompt", options.system),
        Entry("/quit", "leave", _only("quit"), ("exit", "bye", "q")),
    )
}
ALIASES = {alias: entry.name for entry in COMMANDS.values() for alias in entry.aliases}


def parse(line: str) -> Say | Command | Unknown:
    """What a person typed: a message or a command."""
    if not line.startswith("/"):
        return Say(line)
    if line.startswith("//"):
        return Say(line[1:])
    found = re.fullmatch(r"/(\S*)(.*)", line, re.DOTALL)
    assert found is not None, line
    word, argument = found.groups()
    name = ALIASES.get(word.lower(), word.lower())
    if name in COMMANDS:
        return Command(name, argument.strip())
    close = difflib.get_close_matches(name, [*COMMANDS, *ALIASES], 1)
    meant = f"did you mean /{close[0]}?" if close else "/help lists the commands"
    return Unknown(f"there is no command /{word[:40]}; {meant}\nstart with // to send it as text")


def run(controller: ChatController, command: Command) -> Outcome:
    """Do it. Raises: `EdgespecError` with nothing changed, `UsageError` for a wrong argument."""
    return COMMANDS[command.name].run(controller, command.argument)


def completions(line: str) -> list[Entry]:
    """Commands that `line` may become; none once the name is complete and a space follows."""
    if not line.startswith("/") or line.startswith("//") or any(c.isspace() for c in line):
        return []
    begun = line[1:].lower()
    return [
        entry
        for entry in COMMANDS.values()
        if any(name.startswith(begun) for name in (entry.name, *entry.aliases))
    ]


def help_lines() -> list[tuple[str, str]]:
    """Every command as help shows it: how it is typed, what it does."""
    rows = []
    for entry in COMMANDS.values():
        also = f" (also {', '.join(f'/{alias}' for alias in entry.aliases)})"
        rows.append((entry.usage, entry.summary + (also if entry.aliases else "")))
    return [*rows, ("//TEXT", "send a text that begins with /")]
