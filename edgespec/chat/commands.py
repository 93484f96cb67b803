"""Slash commands: what a line means, and what the commands do to a conversation.

A line that begins with "/" never reaches the model by accident: an unknown command gets a
suggestion, "//" sends a text that begins with one "/". Prints nothing and knows no front end.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from edgespec.chat.controller import ChatController, Turn
from edgespec.chat.settings import changed, listing
from edgespec.chat.turns import ratio
from edgespec.drafters import DRAFTERS
from edgespec.errors import UsageError
from edgespec.events import Stats

Effect = Literal["", "quit", "cleared", "copy", "help", "sent"]


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did: a text for the person, and what the front end has to do."""

    text: str = ""
    effect: Effect = ""
    payload: str = ""
    """The text to copy."""
    turn: Turn | None = None
    """The turn that was sent."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A command as help shows it."""

    name: str
    usage: str
    summary: str
    run: Callable[[ChatController, str], Outcome]


def parse(line: str) -> Say | Command | Unknown:
    """What a person typed: a message or a command."""
    if not line.startswith("/"):
        return Say(line)
    if line.startswith("//"):
        return Say(line[1:])
    word, _, argument = line[1:].partition(" ")
    name = ALIASES.get(word.strip().lower(), word.strip().lower())
    if name in COMMANDS:
        return Command(name, argument.strip())
    close = difflib.get_close_matches(name, [*COMMANDS, *ALIASES], 1)
    meant = f"did you mean /{close[0]}?" if close else "/help lists the commands"
    shown = word.split("\n")[0][:40]
    return Unknown(f"there is no command /{shown}; {meant}\nstart with // to send it as text")


def run(controller: ChatController, command: Command) -> Outcome:
    """Do it. Raises: `UsageError` for an argument without a meaning."""
    return COMMANDS[command.name].run(controller, command.argument)


def _new(controller: ChatController, argument: str) -> Outcome:
    controller.clear()
    return Outcome("new chat", "cleared")


def _draft(controller: ChatController, argument: str) -> Outcome:
    if argument == "on":
        if controller.draft.word != "ON":
            controller.toggle_draft()
    elif argument:
        name = "none" if argument == "off" else argument
        if name not in (*DRAFTERS, "auto"):
            names = ", ".join(("on", "off", "auto", *DRAFTERS))
            raise UsageError(f"there is no drafter '{argument}'; /draft takes {names}")
        controller.set_drafter(name)
    return Outcome(draft_sentence(controller))


def draft_sentence(controller: ChatController) -> str:
    """Whether the next answer drafts, in words."""
    draft = controller.draft
    reason = f": {draft.note}" if draft.note else ""
    if draft.word == "ON":
        return f"draft ON ({draft.name}), from the next answer on{reason}"
    if draft.word == "OFF":
        return f"draft OFF, from the next answer on{reason}"
    return f"draft NONE: no drafter is loaded{reason}; /draft auto drafts without a second model"


def _think(controller: ChatController, argument: str) -> Outcome:
    if argument not in ("", "on", "off"):
        raise UsageError(f"/think is on or off, not '{argument}'")
    if controller.description is not None and not controller.description.can_think:
        return Outcome("this model's template has no switch for thinking")
    if argument:
        controller.set_think(argument == "on")
    word = "ON" if controller.options.think is not False else "OFF"
    return Outcome(f"thinking {word}, from the next answer on")


def _set(controller: ChatController, argument: str) -> Outcome:
    key, _, typed = argument.replace("=", " ").partition(" ")
    if not key:
        return Outcome(listing(controller.options))
    controller.options, said = changed(controller.options, key, typed.strip())
    return Outcome(said)


def _system(controller: ChatController, argument: str) -> Outcome:
    if argument:
        controller.conversation.system = None if argument in ("none", "off") else argument
    said = (
        f"system prompt: {controller.conversation.system}"
        if controller.conversation.system
        else "no system prompt"
    )
    return Outcome(said)


def _stats(controller: ChatController, argument: str) -> Outcome:
    turn = next((turn for turn in reversed(controller.turns) if turn.stats.passes), None)
    return Outcome(stats_text(turn.stats) if turn else "no answer yet")


def stats_text(stats: Stats) -> str:
    """Every figure of one answer, a line each."""
    speed, plain = stats.decode_tokens_per_s, stats.plain_tokens_per_s
    lines = [
        f"prompt     {stats.prompt_tokens} tokens, {stats.cached_tokens} cached",
        f"answer     {stats.generated_tokens} tokens, passes: {stats.passes}",
    ]
    if stats.ttft_s is not None:
        lines.append(f"first      {stats.ttft_s:.2f} s until the first token")
    if speed is not None:
        lines.append(f"speed      {speed:.1f} tok/s")
    if (times := ratio(stats)) is not None:
        lines.append(f"plain      {plain:.1f} tok/s measured, so {times:.2f}x")
    if stats.acceptance_rate is not None:
        judged = stats.accepted + stats.rejected
        lines += [
            f"accepted   {stats.acceptance_rate:.0%} ({stats.accepted} of {judged})",
            "by place   " + " ".join(f"{p:.0%}" for p in stats.acceptance_per_position),
            f"per round  {stats.mean_acceptance_length:.2f} tokens, rounds: {stats.rounds}",
            f"time       draft {stats.draft_s:.2f} s, target {stats.target_s:.2f} s, "
            f"other {stats.verify_s + stats.overhead_s:.2f} s",
        ]
    drafter = stats.drafter + (f" ({stats.drafter_note})" if stats.drafter_note else "")
    return "\n".join([*lines, f"drafter    {drafter}"])


def _copy(controller: ChatController, argument: str) -> Outcome:
    texts = [turn.text for turn in controller.turns if turn.text]
    if not texts:
        return Outcome("there is no answer to copy yet")
    back = int(argument) if argument.isdecimal() else 1
    if not 1 <= back <= len(texts):
        raise UsageError(f"there are {len(texts)} answers; /copy {argument} is none of them")
    return Outcome(effect="copy", payload=texts[-back])


def _regen(controller: ChatController, argument: str) -> Outcome:
    turn = controller.regenerate()
    if turn is None:
        return Outcome("there is nothing to answer again now")
    return Outcome(effect="sent", turn=turn)


COMMANDS = {
    entry.name: entry
    for entry in (
        Entry("help", "/help", "keys and commands", lambda c, a: Outcome(effect="help")),
        Entry("new", "/new, /clear", "start a new chat", _new),
        Entry("regen", "/regen", "answer the last message again", _regen),
        Entry("draft", "/draft [on|off|auto|NAME]", "speculative drafting", _draft),
        Entry("think", "/think on|off", "let the model think first", _think),
        Entry("set", "/set NAME VALUE", "sampling, limits; alone: show them", _set),
        Entry("system", "/system [TEXT|none]", "the system prompt", _system),
        Entry("stats", "/stats", "figures of the last answer", _stats),
        Entry("copy", "/copy [N]", "copy the last (Nth last) answer, raw", _copy),
        Entry("quit", "/quit", "leave", lambda c, a: Outcome(effect="quit")),
    )
}
ALIASES = {
    "clear": "new",
    "exit": "quit",
    "bye": "quit",
    "q": "quit",
    "retry": "regen",
    "?": "help",
}


def completions(line: str) -> list[Entry]:
    """Commands that `line` may become; none once the name is complete and a space follows."""
    if not line.startswith("/") or line.startswith("//") or any(c.isspace() for c in line):
        return []
    return [entry for name, entry in COMMANDS.items() if name.startswith(line[1:].lower())]
