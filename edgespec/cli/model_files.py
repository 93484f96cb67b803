"""`edgespec models info`, `verify` and `rm`: one model's facts, its hash again, its deletion."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import log_flags
from edgespec.cli.render import Screen
from edgespec.errors import UsageError

if TYPE_CHECKING:
    from edgespec.api.removal import Removal
    from edgespec.api.verify import Checked
    from edgespec.models.names import Resolved

BAD_FILE = 6
"""Exit code: a file is not what it claims to be, as after a failed download."""


def resolved(screen: Screen, name: str) -> "Resolved":
    """The model that a name means, with its notice shown."""
    from edgespec.models.catalogue import load_catalogue
    from edgespec.models.names import resolve

    found = resolve(name, load_catalogue())
    if found.notice:
        screen.note(f"note: {found.notice}")
    return found


@click.command("info")
@click.argument("name", metavar="MODEL")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@log_flags
@click.pass_obj
def models_info(shared: Shared, /, name: str, as_json: bool) -> None:
    """Show what a model is. Of one that is not here, only the header is fetched."""
    from edgespec.api.located import locate_header
    from edgespec.models.card import card_of
    from edgespec.sizes import gigabytes

    screen = shared.screen
    found = locate_header(resolved(screen, name))
    card = card_of(found.header, found.spec, found.label, found.where)
    if as_json:
        screen.line(json.dumps(card.to_json(), indent=1))
    else:
        for title, value in card.lines().items():
            screen.line(f"{title:<14} {value}")
    if found.fetched_bytes:
        of = gigabytes(card.size_bytes)
        screen.note(f"{gigabytes(found.fetched_bytes)} of {of} were fetched: the header")


@click.command("verify")
@click.argument("name", metavar="MODEL", required=False)
@click.option("--all", "is_all", is_flag=True, help="Every model that is on this machine.")
@log_flags
@click.pass_obj
def models_verify(shared: Shared, /, name: str | None, is_all: bool) -> int:
    """Hash a model's files again and compare. Exits with 6 when one is wrong."""
    if (name is None) is not is_all:
        raise UsageError("verify needs the name of a model, or --all", hint="edgespec models ls")
    from edgespec.api.verify import verify
    from edgespec.errors import ModelNotFound

    screen = shared.screen
    models = _all_here() if name is None else [resolved(screen, name)]
    checked: list[Checked] = []
    for model in models:
        for one in verify(model, _shown(screen)):
            screen.line(f"{one.outcome:<8} {one.path}: {one.told}")
            checked.append(one)
    if not checked:
        what = f"{models[0].name} is not" if models else "no model is"
        raise ModelNotFound(f"{what} on this machine", hint="edgespec models ls")
    bad = [one for one in checked if one.outcome == "bad"]
    if bad:
        screen.note(
            "what is bad is not used any more; edgespec models rm MODEL, then pull, mends it"
        )
    return BAD_FILE if bad else 0


def _all_here() -> "list[Resolved]":
    from edgespec.models.catalogue import load_catalogue
    from edgespec.models.names import Resolved
    from edgespec.models.other_programs import all_found
    from edgespec.store import list_installed

    here = list_installed(load_catalogue())
    known = {found.path.resolve() for found in here}
    others = (found for found in all_found() if found.path.resolve() not in known)
    return [
        *(Resolved(found.spec) for found in here),
        *(Resolved(found.path, label=found.name) for found in others),
    ]


def _shown(screen: Screen) -> Callable[[Path, int, int], None]:
    from edgespec.sizes import gigabytes

    def show(path: Path, done_bytes: int, size_bytes: int) -> None:
        of = gigabytes(size_bytes)
        screen.status(f"checking {path.name}: {gigabytes(done_bytes)} of {of}")

    return show


@click.command("rm")
@click.argument("name", metavar="MODEL")
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would be deleted.")
@click.option("-y", "--yes", is_flag=True, help="Delete without asking.")
@log_flags
@click.pass_obj
def models_rm(shared: Shared, /, name: str, dry_run: bool, yes: bool) -> None:
    """Delete a model's files, as far as nothing else uses them, and show what that frees."""
    from edgespec.api.removal import carry_out, plan_removal
    from edgespec.sizes import gigabytes

    screen = shared.screen
    removal = plan_removal(resolved(screen, name))
    _show_removal(screen, removal, "would delete" if dry_run else "delete")
    freed = gigabytes(removal.freed_bytes)
    if dry_run:
        screen.note(f"{freed} would be free again")
        return
    if not yes and screen.is_err_terminal and not screen.ask(f"Free {freed}?"):
        screen.note("nothing was deleted")
        return
    screen.note(f"{gigabytes(carry_out(removal))} are free again")


def _show_removal(screen: Screen, removal: "Removal", verb: str) -> None:
    from edgespec.sizes import gigabytes

    for one in removal.doomed:
        screen.line(f"{verb} {one.path} ({one.why or gigabytes(one.frees_bytes)})")
