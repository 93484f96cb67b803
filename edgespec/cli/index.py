"""`edgespec index`: the user's own texts as a source of drafts."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import log_flags
from edgespec.cli.numbers import Whole
from edgespec.cli.render import Screen
from edgespec.errors import UsageError

if TYPE_CHECKING:
    from edgespec.gguf.header import GgufHeader
    from edgespec.index.store import Index

_DEFAULT = "default"
_NAMED = click.argument("name", default=_DEFAULT)
_SHOWN = 10
"""Files that are left out are named up to here, and counted beyond."""


@click.group(invoke_without_command=True)
@log_flags
@click.pass_context
def index(ctx: click.Context) -> None:
    """Let drafts come from your own files.

    An answer that repeats what stands in them comes faster. Nothing leaves this machine; what git
    ignores and what looks like a secret is never indexed.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(ls)


@index.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH…")
@click.option("--name", default=_DEFAULT, help="Of the index; several can be kept apart.")
@click.option(
    "--for", "model", metavar="MODEL", help="Make it ready for this model now, not at its start."
)
@log_flags
@click.pass_obj
def add(shared: Shared, /, files: tuple[Path, ...], name: str, model: str | None) -> None:
    """Add files and folders; what was added before is only read again."""
    from edgespec.api.files import find_files
    from edgespec.index.documents import Document, LeftOut, documents
    from edgespec.index.store import Index, check_size

    screen, opened = shared.screen, Index(name)
    target = None if model is None else find_files(model, None, "none").target
    n_chars = 0
    taken: list[Document] = []
    left_out: list[LeftOut] = []
    for found in documents(list(files)):
        if isinstance(found, LeftOut):
            left_out.append(found)
        else:
            taken.append(found)
            n_chars += len(found.text)
            check_size(n_chars)  # of bytes there are as many, or more
            screen.status(f"reading {found.path}")
    for skipped in left_out[:_SHOWN]:
        screen.note(f"left out {skipped.path}: {skipped.reason}")
    if len(left_out) > _SHOWN:
        screen.note(f"left out {len(left_out) - _SHOWN:,} more")
    if not taken:
        raise UsageError("no text was found there")
    change = opened.add(taken)
    screen.line(
        f"{change.added:,} added, {change.replaced:,} replaced, {change.unchanged:,} unchanged"
    )
    if target is not None:
        n_tokens = _build(screen, opened, target)
        screen.line(f"ready for {model}: {n_tokens:,} tokens")
    screen.note(_summary(opened))


@index.command()
@log_flags
@click.pass_obj
def ls(shared: Shared, /) -> None:
    """List the indexes."""
    from edgespec.index.folders import names
    from edgespec.index.learned import is_learning
    from edgespec.index.store import Index

    there = names()
    for name in there:
        shared.screen.line(f"{name:<16} {_summary(Index(name))}")
    if not there:
        shared.screen.note("there is none yet: edgespec index add PATH makes one")
    learning = "answers are learned" if is_learning() else "answers are not learned"
    shared.screen.note(f"{learning}: edgespec index learn on|off")


@index.command()
@_NAMED
@log_flags
@click.pass_obj
def info(shared: Shared, /, name: str) -> None:
    """List what an index holds."""
    from edgespec.index.store import Index

    opened = Index(name).checked()
    for segment in opened.manifest.segments:
        for entry in segment.entries:
            shared.screen.line(f"{entry.n_bytes:>12,}  {entry.path}")
    shared.screen.note(f"{_summary(opened)} in {opened.folder}")


@index.command()
@_NAMED
@log_flags
@click.pass_obj
def rm(shared: Shared, /, name: str) -> None:
    """Delete an index; your files stay as they are."""
    from edgespec.index.store import Index
    from edgespec.sizes import gigabytes

    freed = Index(name).checked().remove()
    shared.screen.note(f"{gigabytes(freed)} are free again")


@index.command()
@click.argument("text")
@click.option("--name", help="Only in this index. Default: in all.")
@log_flags
@click.pass_obj
def forget(shared: Shared, /, text: str, name: str | None) -> int:
    """Remove every document that contains TEXT from the index, to the last byte."""
    from edgespec.errors import IndexFault
    from edgespec.index.folders import names
    from edgespec.index.store import Index

    screen = shared.screen
    n = 0
    is_held = False
    for one in (name,) if name else names():
        try:
            for path in Index(one).checked().forget(text):
                screen.line(f"forgot {path}")
                n += 1
        except IndexFault as fault:  # the others must not keep it for that
            is_held = True
            screen.error(f"the index {one!r} may still hold it: {fault.message}", fault.hint)
    screen.note(f"{n:,} document{'s' if n != 1 else ''} forgotten")
    return 1 if is_held else 0


@index.command()
@click.argument("name", required=False)
@click.option("--mend", is_flag=True, help="Throw damaged shards away; they are built anew.")
@log_flags
@click.pass_obj
def verify(shared: Shared, /, name: str | None, mend: bool) -> int:
    """Read every byte and compare the checksums. Exits with 1 where something is damaged."""
    from edgespec.index import health
    from edgespec.index.folders import names
    from edgespec.index.store import Index

    wrong = 0
    for one in (name,) if name else names():
        opened = Index(one).checked()
        if mend and (n := health.mend(opened)):
            shared.screen.note(f"{one}: {n} damaged shard{'s' if n > 1 else ''} thrown away")
        found = health.verify(opened)
        for sentence in found:
            shared.screen.line(f"{one}: {sentence}")
        wrong += len(found)
    if not wrong:
        shared.screen.note("nothing is damaged")
    return 1 if wrong else 0


@index.command()
@click.argument("switch", type=click.Choice(("on", "off")))
@log_flags
@click.pass_obj
def learn(shared: Shared, /, switch: str) -> None:
    """Keep accepted answers as a source of drafts, or no more. Off by default."""
    from edgespec.index.learned import NAME, switch_learning

    switch_learning(is_on=switch == "on")
    shared.screen.note(
        f"answers are kept in the index {NAME!r} from now on; edgespec index forget TEXT removes"
        if switch == "on"
        else f"no answer is kept any more; edgespec index rm {NAME} removes those that were"
    )


@index.command()
@click.option("--tokens", type=Whole(10_000, 2**63 - 1), default=20_000_000, show_default=True,
              metavar="N", help="Of the index that is built.")  # fmt: skip
@log_flags
@click.pass_obj
def bench(shared: Shared, /, tokens: int) -> None:
    """Measure what an index of so many tokens costs here, with made-up text."""
    from edgespec.bench.index_speed import measure
    from edgespec.sizes import gigabytes

    found = measure(tokens, shared.screen.status)
    line = shared.screen.line
    line(f"tokens        {found.n_tokens:,}")
    line(f"build         {found.build_s:.1f} s of CPU time, tokenising not counted")
    line(f"memory        {gigabytes(found.build_beyond_bytes)} beyond the tokens themselves")
    line(f"on disk       {gigabytes(found.shard_bytes)}")
    line(f"query, there  {1e6 * found.hit_s:.0f} us, its continuation {1e6 * found.next_s:.0f} us")
    line(f"query, not    {1e6 * found.miss_s:.0f} us")


def _summary(opened: "Index") -> str:
    from edgespec.errors import IndexFault
    from edgespec.sizes import gigabytes

    try:
        manifest = opened.manifest
    except IndexFault as fault:
        return fault.message
    n = manifest.n_documents
    return (
        f"{n:,} document{'s' if n != 1 else ''}, {gigabytes(manifest.n_bytes)} of text,"
        f" {gigabytes(opened.size_bytes)} on disk"
    )


def _build(screen: Screen, opened: "Index", target: "GgufHeader") -> int:
    from edgespec.engine.tokenizer import Tokenizer
    from edgespec.index.ready import shards_of
    from edgespec.index.vocabulary import vocabulary_of

    with Tokenizer(target.path) as tokenizer:
        shards = shards_of(
            opened,
            vocabulary_of(target),
            lambda text: tokenizer.vocab.tokenize(text, parse_special=False),
            lambda phase, share: screen.status(f"{phase}: {share:.0%}"),
        )
    n = sum(len(shard) for shard in shards)
    for shard in shards:
        shard.close()
    return n
