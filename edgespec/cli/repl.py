"""The line-by-line chat: for screen readers, dumb terminals and people who prefer it.

Same conversation and commands as the TUI's; answers go to stdout, everything else to stderr.
"""

import signal

from edgespec.chat.commands import COMMANDS, Command, Say, Unknown, parse, run
from edgespec.chat.controller import ChatController, LoadProgress, Turn
from edgespec.cli.interrupts import stopping
from edgespec.cli.render import Screen
from edgespec.cli.wording import draft_line, loading_line, speed_line
from edgespec.errors import UsageError
from edgespec.events import PromptProgress, Round

KEYS = """\
Ctrl-C stops an answer and keeps what was said; with nothing to stop it leaves, as Ctrl-D does.
A line that ends with \\ goes on in the next one."""


def repl(screen: Screen, chat: ChatController, *, with_stats: bool) -> None:
    """Talk until /quit or the end of input. Raises: `KeyboardInterrupt` where nothing runs."""
    if chat.description is not None and (why := chat.description.drafter_note):
        screen.note(f"draft: {why}")
    screen.note("Type a message, then Enter. /help lists the commands.")
    while (text := _message(screen)) is not None:
        turn = None
        match parse(text):
            case Say(said) if said.strip():
                turn = chat.send(said)
            case Unknown(sentence):
                screen.note(sentence)
            case Command("quit"):
                return
            case Command() as command:
                turn = _obey(screen, chat, command)
        if turn is not None:
            _follow(screen, chat, turn)
            _close(screen, turn, with_stats=with_stats)


def wait_for_model(screen: Screen, chat: ChatController) -> None:
    """Show loading until it ends. Raises: what stopped it."""
    for update in chat.follow():
        if isinstance(update, LoadProgress):
            screen.status(loading_line(update.phase, update.fraction))
    if chat.load_error is not None:
        raise chat.load_error


def _message(screen: Screen) -> str | None:
    lines: list[str] = []
    while (line := screen.read_line("... " if lines else "you> ")) is not None:
        if not line.endswith("\\"):
            return "\n".join([*lines, line])
        lines.append(line[:-1])
    return "\n".join(lines) if lines else None


def _obey(screen: Screen, chat: ChatController, command: Command) -> Turn | None:
    """Do what a command says. Returns: the turn that it started."""
    try:
        outcome = run(chat, command)
    except UsageError as error:
        screen.error(error.message, error.hint)
        return None
    if outcome.effect == "help":
        screen.note("\n".join(f"{e.usage:<26}{e.summary}" for e in COMMANDS.values()))
        screen.note(KEYS)
    elif outcome.effect == "copy":
        screen.line(outcome.payload)
    elif outcome.text:
        screen.note(outcome.text)
    return outcome.turn


def _follow(screen: Screen, chat: ChatController, turn: Turn) -> None:
    """Print the turn's answer as it grows. The first Ctrl-C stops it, the second goes on up."""
    n_shown = 0
    with stopping(chat.stop) as caught:
        for update in chat.follow():
            new, n_shown = turn.text[n_shown:], len(turn.text)
            if new:
                screen.answer(new)
            elif isinstance(update, PromptProgress):
                screen.status(f"reading {update.done:,} of {update.total:,} tokens")
            elif isinstance(update, Round) and not turn.text:
                screen.status(f"thinking: {update.stats.generated_tokens:,} tokens")
    if caught.number == signal.SIGTERM:
        caught.raise_again()


def _close(screen: Screen, turn: Turn, *, with_stats: bool) -> None:
    if turn.text:
        screen.end_answer()
    if turn.error is not None:
        screen.error(turn.error.message, turn.error.hint)
    if turn.status == "stopped":
        screen.note("[stopped]")
    if with_stats:
        screen.note(f"{speed_line(turn.stats)}; {draft_line(turn.stats)}.")
