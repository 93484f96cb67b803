"""`edgespec history`: the saved chats, listed, searched, shown, exported, imported, deleted."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import log_flags
from edgespec.errors import HistoryError

if TYPE_CHECKING:
    from edgespec.history.records import ChatSummary


@click.group(invoke_without_command=True)
@log_flags
@click.pass_context
def history(ctx: click.Context) -> None:
    """List the saved chats; --continue and --resume ID of edgespec chat go on with one."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(history_ls)


@history.command("ls")
@click.argument("words", nargs=-1)
@log_flags
@click.pass_obj
def history_ls(shared: Shared, /, words: tuple[str, ...] = ()) -> None:
    """List the chats, the latest first; with WORDS those that have them all."""
    from edgespec.history.library import Library

    chats = Library().chats(" ".join(words))
    for chat in chats:
        shared.screen.line(_line(chat))
    shared.screen.note(f"chats: {len(chats)}.  edgespec chat --resume ID goes on with one.")


@history.command("search")
@click.argument("words", nargs=-1, required=True)
@log_flags
@click.pass_obj
def history_search(shared: Shared, /, words: tuple[str, ...]) -> None:
    """Show where WORDS stand, in every language; *asterisks* mark them."""
    from edgespec.chat.commands_history import hit_line
    from edgespec.history.library import Library

    hits = Library().search(" ".join(words))
    for hit in hits:
        shared.screen.line(hit_line(hit))
    shared.screen.note(f"places: {len(hits)}.")


@history.command("show")
@click.argument("chat_id", metavar="ID")
@log_flags
@click.pass_obj
def history_show(shared: Shared, /, chat_id: str) -> None:
    """Print a chat as Markdown."""
    from edgespec.history.exchange import as_markdown
    from edgespec.history.library import Library

    shared.screen.line(as_markdown(Library().load(chat_id)).rstrip("\n"))


@history.command("export")
@click.argument("chat_ids", metavar="[ID]...", nargs=-1)
@click.option("--format", "kind", type=click.Choice(("md", "json")), help="Default: by the name.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A new file.")
@log_flags
@click.pass_obj
def history_export(
    shared: Shared,
    /,
    chat_ids: tuple[str, ...],
    kind: Literal["md", "json"] | None,
    output: Path | None,
) -> None:
    """Write chats, or all of them: JSON keeps every branch and can be imported again."""
    from edgespec.chat.turns import counted
    from edgespec.history.exchange import as_json, as_markdown, write_new
    from edgespec.history.library import Library

    library = Library()
    chosen = [library.load(name) for name in chat_ids] or [
        library.load(chat.id) for chat in library.chats()
    ]
    is_markdown = kind == "md" or (kind is None and output is not None and output.suffix == ".md")
    text = "\n".join(map(as_markdown, chosen)) if is_markdown else as_json(chosen)
    if output is None:
        shared.screen.line(text.rstrip("\n"))
        return
    write_new(output, text)
    shared.screen.note(f"{output}: {counted(len(chosen), 'chat')}")


@history.command("import")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@log_flags
@click.pass_obj
def history_import(shared: Shared, /, files: tuple[Path, ...]) -> None:
    """Take chats in from JSON files; of a turn that is here already the newer one stays."""
    from edgespec.chat.turns import counted
    from edgespec.history.exchange import from_json
    from edgespec.history.library import Library

    library = Library()
    for path in files:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise HistoryError(f"{path} cannot be read: {error}") from error
        chats = from_json(text)
        n_taken = sum(library.merge(saved) for saved in chats)
        taken = counted(n_taken, "new turn")
        shared.screen.note(f"{path}: {counted(len(chats), 'chat')}, {taken}")


@history.command("rm")
@click.argument("chat_ids", metavar="ID...", nargs=-1, required=True)
@log_flags
@click.pass_obj
def history_rm(shared: Shared, /, chat_ids: tuple[str, ...]) -> None:
    """Delete chats for good."""
    from edgespec.history.library import Library

    library = Library()
    for chat_id in chat_ids:
        saved = library.delete(chat_id)
        shared.screen.note(f'deleted "{saved.chat.title}", {len(saved.turns)} turns')


@history.command("title")
@click.argument("chat_id", metavar="ID")
@click.argument("words", nargs=-1, required=True)
@log_flags
@click.pass_obj
def history_title(shared: Shared, /, chat_id: str, words: tuple[str, ...]) -> None:
    """Give a chat a title."""
    from edgespec.history.library import Library

    Library().rename(chat_id, " ".join(words))


@history.command("check")
@log_flags
@click.pass_obj
def history_check(shared: Shared, /) -> int:
    """Look at the whole file for damage."""
    from edgespec.history.library import Library

    library = Library()
    wrong = library.check()
    for sentence in wrong:
        shared.screen.line(sentence)
    shared.screen.note(f"{library.path} is {'damaged' if wrong else 'whole'}")
    return 1 if wrong else 0


def _line(chat: "ChatSummary") -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(chat.updated_s))
    title = " ".join(chat.title.split())
    return f"{chat.id}  {when}  {chat.n_turns:>3}  {chat.target or '-':<20}  {title}"
