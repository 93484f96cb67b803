"""`edgespec chat`: one answer on stdout, a chat line by line, or the TUI."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from edgespec.cli.doors import Doors, Shared
from edgespec.cli.flags import Flags, chat_flags, log_flags
from edgespec.cli.logs import log_to_file, show_warnings
from edgespec.cli.opening import MustTalk, Silent, is_unchecked, without_a_word
from edgespec.cli.prompt import asked
from edgespec.cli.render import Screen
from edgespec.errors import EdgespecError, UsageError

if TYPE_CHECKING:
    from edgespec.api.types import Message, Options
    from edgespec.chat.controller import ChatController
    from edgespec.chat.workers import OpenModel
    from edgespec.history.library import Library
    from edgespec.history.records import SavedChat
    from edgespec.models.catalogue import Catalogue


_SAID_OTHERWISE = ("reproducible", "logit_bias")
"""Of sampling: what is a switch, and what is no flag."""


@click.command()
@chat_flags
@log_flags
@click.pass_context
def chat(context: click.Context, /, **given: Any) -> int:
    """Chat in the terminal, or answer -p and piped text on stdout.

    Without --target it takes a model that is installed, or offers the small
    smollm2-135m. With -p, piped text becomes context before the prompt.
    """
    shared: Shared = context.obj
    flags, screen, doors = Flags(**given), shared.screen, shared.doors
    said = {n for n in given if context.get_parameter_source(n) is not ParameterSource.DEFAULT}
    is_line_mode = flags.plain or os.environ.get("TERM") == "dumb"
    question = asked(flags.prompt, reads_stdin=flags.prompt is not None or not flags.plain)
    if is_unchecked(said):
        flags.check()  # a value without a meaning is told before anything is fetched
    if question is not None:
        if flags.is_continued or flags.resume:
            raise UsageError(
                "--continue and --resume open a chat, and a prompt is answered by itself",
                hint="leave -p and the piped text out",
            )
        _answer_once(screen, doors, flags, question)
        return 0
    if flags.json or flags.json_stream:
        raise UsageError("--json needs a prompt", hint='try: edgespec --json -p "your question"')
    if flags.raw:
        raise UsageError("--raw needs a prompt", hint='try: edgespec --raw -p "Once upon a time"')
    if is_line_mode:
        _converse(screen, doors, flags)
        return 0
    return _open_tui(screen, doors, flags, said)


def _answer_once(screen: Screen, doors: Doors, flags: Flags, question: str) -> None:
    from edgespec.cli.answer import answer

    show_warnings(screen)
    with _loaded(screen, *_chat(screen, doors, flags, is_kept=False)) as chat:
        assert chat.model is not None
        options = chat.options
        if options.sampling.seed is None:
            import secrets

            # Chosen here, so that --json can name the seed that gives this answer again.
            sampling = replace(options.sampling, seed=secrets.randbelow(2**32))
            options = replace(options, sampling=sampling)
        messages: list[Message] = [*chat.messages(), {"role": "user", "content": question}]
        prompt = question if flags.raw else messages
        answer(
            screen,
            chat.model,
            prompt,
            options,
            form="json-stream" if flags.json_stream else "json" if flags.json else "text",
            with_stats=flags.stats,
            with_reasons=flags.explain,
        )


def _converse(screen: Screen, doors: Doors, flags: Flags) -> None:
    from edgespec.cli.repl import repl

    show_warnings(screen)
    with _loaded(screen, *_chat(screen, doors, flags)) as chat:
        repl(screen, chat, with_stats=flags.stats, with_reasons=flags.explain)


def _chat(
    screen: Screen,
    doors: Doors,
    flags: Flags,
    *,
    is_kept: bool = True,
    can_choose: bool = False,
    is_offline: bool = False,
) -> "tuple[ChatController, OpenModel | None]":
    """A chat, new or a saved one, and what loads its model.

    `is_kept`: as far as the flags allow. `can_choose`: where there is no model on this machine
    and none was named, nothing is to be loaded: a person will be shown what there is.
    `is_offline`: only models that are here, whatever the flags say.
    """
    from edgespec.chat.controller import ChatController
    from edgespec.cli.pick import has_nothing, pick
    from edgespec.cli.shelf import ModelShelf
    from edgespec.history.keeper import Keeper
    from edgespec.history.library import Library
    from edgespec.models.catalogue import load_catalogue

    library, catalogue = Library(), load_catalogue()
    saved = _saved(library, flags)
    if saved is not None and flags.target is None:
        flags = replace(flags, target=_known_model(saved.chat.target, catalogue))
    is_empty = can_choose and has_nothing(flags, catalogue)
    here = replace(flags, offline=True) if is_offline else flags
    picked = None if is_empty else pick(here, screen, catalogue)
    shelf = ModelShelf(doors, flags, picked)
    advice = picked.advice(flags.think) if picked is not None else {}
    chat = ChatController(
        system=flags.system,
        journal=Keeper(library.path) if is_kept and not flags.private else None,
        library=library,
        shelf=shelf,
    )
    if saved is not None:
        chat.chats.open(saved.chat.id)
        chat.conversation.system = flags.system or chat.conversation.system
    chat.options = _options(flags, advice, saved.chat.settings if saved is not None else {})
    return chat, None if picked is None else shelf.open_first()


@contextmanager
def _loaded(
    screen: Screen, chat: "ChatController", open_model: "OpenModel | None"
) -> "Iterator[ChatController]":
    """The chat once its model is there; freed at the end."""
    from edgespec.cli.repl import wait_for_model

    assert open_model is not None, "only a screen offers a choice"
    # Loading has a thread of its own: Ctrl-C cannot reach through native code.
    chat.load(open_model)
    try:
        wait_for_model(screen, chat)
        if notice := _thinking_notice(chat):
            screen.note(notice)
        yield chat
    finally:
        chat.close()
        _tell_kept(screen, chat)


def _saved(library: "Library", flags: Flags) -> "SavedChat | None":
    """The chat to go on with. Raises: `HistoryError`, `UsageError`."""
    if flags.is_continued and flags.resume:
        raise UsageError("--continue and --resume exclude each other", hint="give one")
    if flags.private and (flags.is_continued or flags.resume):
        raise UsageError("a private chat is a new one: it cannot be continued", hint="give one")
    if flags.resume:
        return library.load(flags.resume)
    return library.last() if flags.is_continued else None


def _options(flags: Flags, advice: dict[str, float], settings: dict[str, Any]) -> "Options":
    """The request: what was said now, else how the chat was held, else the publisher's advice."""
    from edgespec.api.types import Options
    from edgespec.chat.conversation import with_settings

    kept = with_settings(Options(), settings)
    if settings:
        shaping = asdict(kept.sampling)
        advice = {name: shaping[name] for name in shaping if name not in _SAID_OTHERWISE}
    said = flags.options(advice)
    is_reproducible = flags.reproducible or kept.sampling.reproducible
    return replace(
        said,
        sampling=replace(said.sampling, reproducible=is_reproducible),
        max_tokens=said.max_tokens if flags.max_tokens is not None else kept.max_tokens,
        stop=said.stop or kept.stop,
        drafter=said.drafter or kept.drafter,
        draft_len=said.draft_len or kept.draft_len,
        think=said.think if flags.think is not None else kept.think,
    )


def _known_model(name: str, catalogue: "Catalogue") -> str | None:
    """The model a chat was held with, if it is on this machine."""
    from edgespec.store import list_installed

    here = {found.spec.id for found in list_installed(catalogue)}
    return name if name in here else None


def _open_tui(screen: Screen, doors: Doors, flags: Flags, said: set[str]) -> int:
    if not sys.stdout.isatty():
        raise UsageError(
            "a chat on the whole screen needs a terminal, and stdout is none",
            hint='one answer: edgespec -p "your question"; line by line: edgespec --plain',
        )
    from edgespec.tui.start import hurried

    with hurried():
        if (silent := without_a_word(flags, said)) is not None:
            with suppress(MustTalk):
                return _run_tui(screen, flags, open_chat=lambda: _silent_chat(doors, silent))
        chat, open_model = _chat(screen, doors, flags, can_choose=True)
        return _run_tui(screen, flags, chat=chat, open_model=open_model)


def _silent_chat(doors: Doors, flags: Flags) -> "tuple[ChatController, OpenModel | None]":
    """A chat with models that are here. Raises: `MustTalk` where that takes a word."""
    try:
        return _chat(Silent(), doors, flags, is_offline=True)
    except EdgespecError as error:
        raise MustTalk from error


def _run_tui(screen: Screen, flags: Flags, **chat: Any) -> int:
    """Show a chat that is there, or is made once its screen is shown: as `run_chat` takes it."""
    from edgespec import paths
    from edgespec.tui.app import run_chat

    screen.clear_status()  # what was checked would stay below the shell's prompt
    log_to_file(paths.state_dir() / "edgespec.log")
    can_color = not flags.no_color and not os.environ.get("NO_COLOR")
    code: int = run_chat(**chat, can_color=can_color, at_end=partial(_tell_kept, screen))
    return code


def _tell_kept(screen: Screen, chat: "ChatController") -> None:
    """The last words of a chat: how to go on with it, or where its text is."""
    state = chat.chats.state
    if state.word == "UNSAVED" and chat.turns:
        screen.note(f"not saved: {state.note}")
    elif state.word == "SAVED" and chat.turns and screen.is_typed:
        screen.note(f"edgespec --resume {chat.conversation.id} goes on with this chat")


def _thinking_notice(chat: "ChatController") -> str:
    think, about = chat.options.think, chat.description
    if think is None or about is None or about.can_think:
        return ""
    flag = "--think" if think else "--no-think"
    return f"note: {about.target} cannot switch thinking, so {flag} changes nothing"
