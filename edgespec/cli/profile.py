"""`edgespec profile`: which drafter pays for a user's own texts."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import THREADS, log_flags
from edgespec.cli.numbers import Whole
from edgespec.cli.outputs import check_file, kept
from edgespec.errors import UsageError

if TYPE_CHECKING:
    from edgespec.profile.passages import Passage

_MOST_TOKENS = 1024
_MOST_CHATS = 50
_IN = click.Path(exists=True, readable=True, path_type=Path)
_STDOUT = Path("-")
_FILE = click.Path(dir_okay=False, writable=True, allow_dash=True, path_type=Path)


@click.command()
@click.argument("files", nargs=-1, type=_IN)
@click.option("-t", "-m", "--target", required=True, metavar="MODEL", help="Model to profile.")
@click.option("--draft", metavar="MODEL|off|auto", help="Draft model. Default: auto.")
@click.option("-n", "--max-tokens", type=Whole(16), default=_MOST_TOKENS, metavar="N",
              help="Of each text. Default: 1024.")  # fmt: skip
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
@click.option("--json", "json_file", type=_FILE, metavar="FILE|-", help="All figures as JSON.")
@log_flags
@click.pass_obj
def profile(
    shared: Shared,
    /,
    files: tuple[Path, ...],
    target: str,
    draft: str | None,
    max_tokens: int,
    threads: int | None,
    json_file: Path | None,
) -> int:
    """Tell which drafter pays for which kind of your own texts, and the setting to use.

    FILES are texts, folders of texts, or chat exports (.json, .jsonl); without any, the chats that
    edgespec has kept. Nothing leaves this machine.
    """
    from edgespec.cli.wording import loading_line
    from edgespec.profile.main import run
    from edgespec.profile.report import lines

    screen = shared.screen
    if json_file not in (None, _STDOUT):
        check_file(json_file)
    found = run(
        target,
        None if draft == "off" else draft or "auto",
        _passages(files),
        most_tokens=max_tokens,
        n_threads=threads,
        progress=lambda phase, fraction: screen.status(loading_line(phase, fraction)),
        tell=screen.status,
    )
    text = json.dumps(found.to_dict(), indent=1)
    if json_file == _STDOUT:
        screen.line(text)
        return 0
    for line in lines(found):
        screen.line(line)
    if json_file is not None:
        with kept(json_file):
            json_file.write_text(text + "\n", encoding="utf-8")
    return 0


def _passages(files: tuple[Path, ...]) -> "list[Passage]":
    """Raises: `UsageError` when there is nothing to read."""
    from edgespec.history.library import Library
    from edgespec.profile.passages import of_file, of_folder, of_history

    if not files:
        library = Library()
        chats = [library.load(chat.id) for chat in library.chats()[:_MOST_CHATS]]
        passages = of_history(chats)
        if not passages:
            raise UsageError(
                "there is no saved chat to profile", hint="name files: edgespec profile FILE ..."
            )
        return passages
    found = (of_folder(file) if file.is_dir() else of_file(file) for file in files)
    return [passage for passages in found for passage in passages]
