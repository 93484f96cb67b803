"""`edgespec models check`: the catalogue against arithmetic and, with --online, against the hub."""

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import log_flags
from edgespec.cli.render import Screen
from edgespec.models.catalogue import Catalogue

_FAILED = 1
_WORDS = {"same": "same", "open": "not pinned", "differs": "differs", "gone": "gone"}


@click.command("check")
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--online", is_flag=True, help="Compare each entry with the hub.")
@log_flags
@click.pass_obj
def models_check(shared: Shared, /, names: tuple[str, ...], online: bool) -> int:
    """Check the catalogue, your own models.toml included.

    Exit code 1 where something is wrong. What the hub knows and the catalogue does not is shown as
    lines for a models.toml.
    """
    from edgespec.models.catalogue import load_catalogue

    catalogue = load_catalogue()
    ids = {catalogue.find(name)[0].id for name in names} or set(catalogue.models)
    is_wrong = _offline(shared.screen, catalogue, ids)
    if online:
        is_wrong |= _online(shared.screen, catalogue, ids)
    return _FAILED if is_wrong else 0


def _offline(screen: Screen, catalogue: Catalogue, ids: set[str]) -> bool:
    from edgespec.models.check import problems

    found = {id: said for id, said in problems(catalogue).items() if id in ids}
    for id, complaints in found.items():
        for said in complaints:
            screen.line(f"{id} {said}")
    unpinned = sum(not spec.sha256 for spec in catalogue if spec.id in ids)
    pins = f", {unpinned} of them without a pinned hash" if unpinned else ""
    screen.note(f"{len(ids)} entries checked{pins}: {_counted(len(found))}")
    return bool(found)


def _online(screen: Screen, catalogue: Catalogue, ids: set[str]) -> bool:
    from edgespec.store import compare

    specs = [spec for spec in catalogue if spec.id in ids]
    width = max(len(id) for id in ids)
    n_wrong = n_seen = 0
    for seen in compare(specs):
        n_seen += 1
        screen.status(f"asking the hub: {n_seen} of {len(specs)}")
        screen.line(f"{seen.id:<{width}}  {_WORDS[seen.verdict]}")
        for said in seen.said:
            screen.line(f"    {said}")
        n_wrong += seen.verdict in ("differs", "gone")
    screen.note(f"{n_seen} entries compared with the hub: {_counted(n_wrong)}")
    return n_wrong > 0


def _counted(n_wrong: int) -> str:
    return f"{n_wrong} wrong" if n_wrong else "all as they should be"
