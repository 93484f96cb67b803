"""`edgespec chat`: one answer on stdout, a chat line by line, or the TUI."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from edgespec.cli.doors import Doors, Shared
from edgespec.cli.flags import Flags, chat_flags, log_flags
from edgespec.cli.logs import log_to_file, show_warnings
from edgespec.cli.prompt import asked
from edgespec.cli.render import Screen
from edgespec.errors import UsageError

if TYPE_CHECKING:
    from edgespec.api.types import Message
    from edgespec.chat.controller import ChatController, OpenModel
    from edgespec.cli.pick import Pick
    from edgespec.models.names import Resolved


@click.command()
@chat_flags
@log_flags
@click.pass_obj
def chat(shared: Shared, /, **given: Any) -> int:
    """Chat in the terminal, or answer -p and piped text on stdout.

    Without --target it takes a model that is installed, or offers the small
    smollm2-135m. With -p, piped text becomes context before the prompt.
    """
    flags, screen, doors = Flags(**given), shared.screen, shared.doors
    is_line_mode = flags.plain or os.environ.get("TERM") == "dumb"
    question = asked(flags.prompt, reads_stdin=flags.prompt is not None or not flags.plain)
    flags.options()  # a value without a meaning is told before anything is fetched
    if question is not None:
        _answer_once(screen, doors, flags, question)
        return 0
    if flags.json:
        raise UsageError("--json needs a prompt", hint='try: edgespec --json -p "your question"')
    if flags.raw:
        raise UsageError("--raw needs a prompt", hint='try: edgespec --raw -p "Once upon a time"')
    if is_line_mode:
        _converse(screen, doors, flags)
        return 0
    return _open_tui(screen, doors, flags)


def _answer_once(screen: Screen, doors: Doors, flags: Flags, question: str) -> None:
    from edgespec.cli.answer import answer

    with _conversation(screen, doors, flags) as chat:
        assert chat.model is not None
        options = chat.options
        if options.sampling.seed is None:
            # Chosen here, so that --json can name the seed that gives this answer again.
            sampling = replace(options.sampling, seed=secrets.randbelow(2**32))
            options = replace(options, sampling=sampling)
        messages: list[Message] = [*chat.messages(), {"role": "user", "content": question}]
        prompt = question if flags.raw else messages
        answer(screen, chat.model, prompt, options, as_json=flags.json, with_stats=flags.stats)


def _converse(screen: Screen, doors: Doors, flags: Flags) -> None:
    from edgespec.cli.repl import repl

    with _conversation(screen, doors, flags) as chat:
        repl(screen, chat, with_stats=flags.stats)


@contextmanager
def _conversation(screen: Screen, doors: Doors, flags: Flags) -> "Iterator[ChatController]":
    """A chat without a screen of its own, its model loaded; freed at the end."""
    from edgespec.chat.controller import ChatController
    from edgespec.cli.pick import pick
    from edgespec.cli.repl import wait_for_model

    show_warnings(screen)
    picked = pick(flags, screen)
    chat = ChatController(flags.options(picked.advice(flags.think)), system=flags.system)
    # Loading has a thread of its own: Ctrl-C cannot reach through native code.
    chat.load(_opener(doors, flags, picked))
    try:
        wait_for_model(screen, chat)
        if notice := _thinking_notice(chat):
            screen.note(notice)
        yield chat
    finally:
        chat.close()


def _open_tui(screen: Screen, doors: Doors, flags: Flags) -> int:
    if not sys.stdout.isatty():
        raise UsageError(
            "a chat on the whole screen needs a terminal, and stdout is none",
            hint='one answer: edgespec -p "your question"; line by line: edgespec --plain',
        )
    from edgespec import paths
    from edgespec.cli.pick import pick

    picked = pick(flags, screen)
    screen.clear_status()  # what was checked would stay below the shell's prompt
    log_to_file(paths.state_dir() / "edgespec.log")
    from edgespec.tui.app import run_chat

    code: int = run_chat(
        _opener(doors, flags, picked),
        options=flags.options(picked.advice(flags.think)),
        system=flags.system,
        can_color=not flags.no_color and not os.environ.get("NO_COLOR"),
    )
    return code


def _opener(doors: Doors, flags: Flags, picked: "Pick") -> "OpenModel":
    from edgespec.chat.controller import LoadProgress

    template = flags.template_text()
    return lambda tell: doors.load(
        _name(picked.target),
        draft=_draft_name(picked),
        drafter=picked.drafter,
        n_ctx=flags.ctx,
        n_threads=flags.threads,
        template=template,
        progress=lambda phase, fraction: tell(LoadProgress(phase, fraction)),
    )


def _draft_name(picked: "Pick") -> str | Path | None:
    if picked.draft is None:
        return None
    # "auto" never fails: a draft nobody named is left out, with a reason, where it does not fit.
    return _name(picked.draft) if picked.is_draft_named else "auto"


def _name(resolved: "Resolved") -> str | Path:
    model = resolved.model
    return model if isinstance(model, Path) else model.id


def _thinking_notice(chat: "ChatController") -> str:
    think, about = chat.options.think, chat.description
    if think is None or about is None or about.can_think:
        return ""
    flag = "--think" if think else "--no-think"
    return f"note: {about.target} cannot switch thinking, so {flag} changes nothing"
