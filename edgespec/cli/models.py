"""`edgespec models` and `paths`: what there is, what it is, whether it is whole, where it lies."""

import click

from edgespec.cli.check import models_check
from edgespec.cli.doors import Shared
from edgespec.cli.fewer_layers import models_fewer_layers
from edgespec.cli.flags import log_flags
from edgespec.cli.model_files import models_info, models_rm, models_verify


@click.group(invoke_without_command=True)
@log_flags
@click.pass_context
def models(ctx: click.Context) -> None:
    """List the models edgespec knows and those on this machine."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(models_ls, here=False, as_json=False)


@models.command("ls")
@click.option("--here", is_flag=True, help="Only those on this machine.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@log_flags
@click.pass_obj
def models_ls(shared: Shared, /, here: bool, as_json: bool) -> None:
    """List the catalogue, and the models of other programs; * marks what is on this machine."""
    from edgespec.cli.model_list import show_models

    show_models(shared.screen, only_here=here, as_json=as_json)


for _command in (models_info, models_verify, models_rm, models_check, models_fewer_layers):
    models.add_command(_command)


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
