"""`edgespec pull`: gets models onto this machine, by any name that `models.names` understands."""

from pathlib import Path

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import log_flags


@click.command()
@click.argument("names", metavar="MODEL...", nargs=-1, required=True)
@click.option("--offline", is_flag=True, help="Use no network: only check what is here.")
@log_flags
@click.pass_obj
def pull(shared: Shared, /, names: tuple[str, ...], offline: bool) -> None:
    """Get models onto this machine, checked by size and hash.

    A pull that was stopped or killed goes on where it was.
    """
    from edgespec.cli.fetch import Shown, fetch
    from edgespec.gguf.header import read_header
    from edgespec.models.catalogue import load_catalogue
    from edgespec.models.hub_listing import ask_hub, ask_nobody
    from edgespec.models.names import resolve
    from edgespec.store import installed

    screen = shared.screen
    catalogue = load_catalogue()
    ask = ask_nobody if offline else ask_hub
    for resolved in [resolve(name, catalogue, ask=ask) for name in names]:
        if resolved.notice:
            screen.note(f"note: {resolved.notice}")
        model = resolved.model
        if isinstance(model, Path):
            read_header(model)  # a file that is no model is not one that is here
        here = model if isinstance(model, Path) else installed(model, Shown(screen))
        if here is not None:
            screen.note(f"{resolved.name} is here already: {here}")
        elif not isinstance(model, Path):
            fetch(screen, model, offline=offline)
