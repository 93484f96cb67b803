"""`edgespec models`, `pull` and `paths`: what there is, getting it, removing it, where it lies."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import log_flags
from edgespec.cli.render import Screen
from edgespec.errors import UsageError

if TYPE_CHECKING:
    from edgespec.models.spec import ModelSpec


@click.group(invoke_without_command=True)
@log_flags
@click.pass_context
def models(ctx: click.Context) -> None:
    """List the models edgespec knows and those on this machine."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(models_ls)


@models.command("ls")
@log_flags
@click.pass_obj
def models_ls(shared: Shared, /) -> None:
    """List the catalogue; * marks what is on this machine."""
    from edgespec.models.catalogue import load_catalogue
    from edgespec.sizes import gigabytes
    from edgespec.store import list_installed

    screen, catalogue = shared.screen, load_catalogue()
    here = {found.spec.id: found for found in list_installed(catalogue)}
    id_width = max(len(spec.id) for spec in catalogue)
    quant_width = max(len(spec.quant) for spec in catalogue)
    for spec in catalogue:
        mark = "*" if spec.id in here else " "
        size = gigabytes(spec.planning_bytes) if spec.planning_bytes else "?"
        drafts = f"draft: {', '.join(spec.drafts)}" if spec.drafts else ""
        screen.line(
            f"{mark} {spec.id:<{id_width}}  {spec.quant:<{quant_width}}"
            f" {size:>9}  {drafts}".rstrip()
        )
    total = sum(found.size_bytes for found in here.values())
    screen.note(f"* on this machine: {len(here)}, {gigabytes(total)}.  edgespec pull ID gets one.")


@models.command("rm")
@click.argument("name", metavar="ID")
@log_flags
@click.pass_obj
def models_rm(shared: Shared, /, name: str) -> None:
    """Delete a model's file from this machine."""
    from edgespec.sizes import gigabytes
    from edgespec.store import remove

    screen = shared.screen
    removed = remove(_spec(screen, name))
    for path in removed.paths:
        screen.line(f"deleted {path}")
    screen.note(f"{gigabytes(removed.freed_bytes)} are free again")


@click.command()
@click.argument("name", metavar="ID")
@click.option("--offline", is_flag=True, help="Use no network: only check what is here.")
@log_flags
@click.pass_obj
def pull(shared: Shared, /, name: str, offline: bool) -> None:
    """Get a model of the catalogue onto this machine, checked by size and hash."""
    from edgespec.cli.fetch import Shown, fetch
    from edgespec.store import installed

    screen = shared.screen
    spec = _spec(screen, name)
    if path := installed(spec, Shown(screen)):
        screen.note(f"{spec.id} is here already: {path}")
        return
    fetch(screen, spec, offline=offline)


def _spec(screen: Screen, name: str) -> "ModelSpec":
    from edgespec.models.catalogue import load_catalogue
    from edgespec.models.names import resolve

    resolved = resolve(name, load_catalogue())
    if isinstance(resolved.model, Path):
        raise UsageError(
            f"{name} is a file of your own, not a model of the catalogue",
            hint="edgespec models lists the names",
        )
    if resolved.notice:
        screen.note(f"note: {resolved.notice}")
    return resolved.model


@click.command("paths")
@log_flags
@click.pass_obj
def paths(shared: Shared, /) -> None:
    """Show where edgespec keeps its files."""
    from edgespec import paths as folders

    screen = shared.screen
    for name, path in (
        ("config", folders.config_dir()),
        ("models", folders.models_dir()),
        ("data", folders.data_dir()),
        ("state", folders.state_dir()),
        ("cache", folders.cache_dir()),
        ("hub cache", folders.hub_cache()),
    ):
        screen.line(f"{name:<10} {path}")
