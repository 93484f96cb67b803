"""The `edgespec` command: which commands there are, and how every one of them ends.

Owns exit codes and the sentence an error becomes. Imports nothing heavy: each command imports
what it needs when it runs (numpy 90 ms, Textual 250 ms, llama.cpp 200 ms of CPU).
"""

import importlib
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from edgespec import __version__
from edgespec.cli.doors import Doors, Shared
from edgespec.cli.interrupts import Terminated, unwind_on_sigterm
from edgespec.cli.render import (
    ReaderGone,
    Screen,
    drop_output,
    leave,
    open_standard_streams,
)
from edgespec.errors import EdgespecError

INTERRUPTED = 130
TERMINATED = 143


COMMANDS = {
    "chat": ("edgespec.cli.chat", "Chat, or answer -p and piped text on stdout."),
    "history": ("edgespec.cli.history", "List, search, export and delete saved chats."),
    "pull": ("edgespec.cli.pull", "Get models onto this machine."),
    "models": ("edgespec.cli.models", "List, describe, check and delete models."),
    "pair": ("edgespec.cli.pair", "Show which drafts fit a model, and what they bring."),
    "plan": ("edgespec.cli.plan", "Show what would go where, in bytes."),
    "doctor": ("edgespec.cli.doctor", "Report what works here and what does not."),
    "bench": ("edgespec.cli.bench", "Measure every drafter on this machine."),
    "profile": ("edgespec.cli.profile", "Tell which drafter pays for your own texts."),
    "index": ("edgespec.cli.index", "Let drafts come from your own files."),
    "worker": ("edgespec.cli.worker", "Lend this machine's devices to another one."),
    "paths": ("edgespec.cli.models", "Show where edgespec keeps its files."),
}
"""Module and help of each command, so that `edgespec --help` imports none of them."""


class _Edgespec(click.Group):
    """A group that imports its commands late, runs `chat` by default, ends with our exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(COMMANDS[cmd_name][0]), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--version", *ctx.help_option_names}
        is_default = not args or (args[0].startswith("-") and args[0] not in own)
        if is_default and not ctx.resilient_parsing:  # which is the shell asking what may follow
            args = ["chat", *args]
        with _told_of_broken_pipes(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean: edgespec {close[0]}" if close else _ask_hint(args[0])
            raise EdgespecUsage(f"there is no command '{args[0]}'", hint)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _told_of_broken_pipes(ctx):
                return super().invoke(ctx)
        finally:  # before click itself ends the line of an interrupted command
            shared: Shared = ctx.obj
            shared.screen.clear_status()

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> None:
        arguments = list(sys.argv[1:] if args is None else args)
        doors = extra.pop("obj", None) or Doors()
        sys.exit(_run(self, arguments, doors))


@contextmanager
def _told_of_broken_pipes(ctx: click.Context) -> Iterator[None]:
    """Click ends at any broken pipe, a socket's too, with 1 and in silence; we tell them apart."""
    try:
        yield
    except BrokenPipeError as error:
        shared: Shared = ctx.obj
        if shared.screen.is_unread:
            raise ReaderGone from error
        raise ConnectionError(error.strerror) from error


class EdgespecUsage(click.UsageError):
    """A usage error with a hint of its own."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@click.group(cls=_Edgespec, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="edgespec %(version)s")
def cli() -> None:
    """Talk to a GGUF model, faster and without any loss.

    Without a command, edgespec opens a chat: see edgespec chat --help.
    """


_NOWHERE = click.Context(cli)


def main(arguments: Sequence[str] | None = None, *, doors: Doors | None = None) -> None:
    """Run the command line and exit; `doors` leads tests to another engine."""
    try:
        cli.main(arguments, obj=doors)
    except SystemExit as end:
        if isinstance(end.code, int) and _has_daemons():
            # Everything was closed in order, except a model still loading: native code does not
            # end because the interpreter does.
            leave(end.code)
        raise


def _has_daemons() -> bool:
    """Whether a thread that nobody waits for outlives the command."""
    return any(thread.daemon for thread in threading.enumerate())


def _run(group: click.Group, arguments: list[str], doors: Doors) -> int:
    open_standard_streams()
    screen = Screen()
    try:
        unwind_on_sigterm()
        return _ended(Shared(screen, doors), group, arguments)
    except ReaderGone:
        drop_output()
        return 0


def _ended(shared: Shared, group: click.Group, arguments: list[str]) -> int:
    """Run the command and say how it ended. Returns: the exit code."""
    screen = shared.screen
    try:
        result = click.Group.main(
            group, arguments, prog_name="edgespec", standalone_mode=False, obj=shared
        )
        return result if isinstance(result, int) else 0
    except EdgespecError as error:
        _show_traceback(screen, arguments)
        screen.error(error.message, error.hint)
        return error.exit_code
    except click.UsageError as error:
        screen.error(_sentence(error), _usage_hint(error, arguments))
        return error.exit_code
    except click.ClickException as error:
        screen.error(_sentence(error))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Terminated:
        return TERMINATED
    except ReaderGone:
        raise
    except Exception as error:
        _show_traceback(screen, arguments)
        if isinstance(error, OSError) and (full := screen.unwritten()) is not None:
            screen.error(full.message, full.hint)
            return full.exit_code
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        again = "" if "--debug" in arguments else "the same command with --debug shows where"
        screen.error(f"a fault of edgespec's own: {what}", again)
        return 1


def _sentence(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split()).rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _usage_hint(error: click.UsageError, arguments: list[str]) -> str:
    if isinstance(error, EdgespecUsage):
        return error.hint
    return f"try: {error.ctx.command_path if error.ctx else _named(arguments)} --help"


def _named(arguments: list[str]) -> str:
    """The command that is meant, down to its subcommand; `chat` where none is said."""
    command: click.Command = cli
    words = ["edgespec"]
    for word in ["chat"] if arguments[0].startswith("-") else arguments:
        found = isinstance(command, click.Group) and command.get_command(_NOWHERE, word)
        if found:
            command = found
            words.append(word)
    return " ".join(words)


def _ask_hint(words: str) -> str:
    import shlex

    return f"to ask the model, say: edgespec -p {shlex.quote(words or 'your question')}"


def _show_traceback(screen: Screen, arguments: list[str]) -> None:
    if "--debug" in arguments:
        import traceback

        screen.note(traceback.format_exc().rstrip())
