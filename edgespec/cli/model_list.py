"""The list of `edgespec models`: the catalogue, then what other programs have on this machine."""

import json
from dataclasses import dataclass
from typing import Any

from edgespec.cli.render import Screen
from edgespec.models.catalogue import Catalogue, load_catalogue
from edgespec.models.folders import Found
from edgespec.models.other_programs import all_found
from edgespec.models.quants import quant_of
from edgespec.models.spec import ModelSpec
from edgespec.sizes import gigabytes
from edgespec.store import Installed, list_installed


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the list."""

    name: str
    quant: str
    size_bytes: int | None
    path: str
    """Empty for a model that is not here."""
    program: str
    """Whose file it is; empty for the catalogue's."""
    drafts: tuple[str, ...]
    kind: str

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "name": self.name,
            "quant": self.quant,
            "size_bytes": self.size_bytes,
            "here": bool(self.path),
            "path": self.path or None,
            "program": self.program or None,
            "kind": self.kind,
            "drafts": list(self.drafts),
        }


def show_models(screen: Screen, *, only_here: bool, as_json: bool) -> None:
    """Print the list."""
    catalogue = load_catalogue()
    here = {found.spec.id: found for found in list_installed(catalogue)}
    rows = [row for row in _rows(catalogue, here) if row.path or not only_here]
    if as_json:
        screen.line(json.dumps({"models": [row.to_json() for row in rows]}, indent=1))
        return
    width = max((len(row.name) for row in rows), default=0)
    quant_width = max((len(row.quant) for row in rows), default=0)
    for row in rows:
        screen.line(_line(row, width, quant_width))
    total = sum(found.size_bytes for found in here.values())
    screen.note(f"* on this machine: {len(here)}, {gigabytes(total)}.  edgespec pull ID gets one.")


def _rows(catalogue: Catalogue, here: dict[str, Installed]) -> list[Row]:
    rows = [_of_catalogue(spec, here.get(spec.id)) for spec in catalogue]
    known = {found.path.resolve() for found in here.values()}
    return rows + [_of_others(one) for one in all_found() if one.path.resolve() not in known]


def _of_catalogue(spec: ModelSpec, found: Installed | None) -> Row:
    path = str(found.path) if found else ""
    return Row(spec.id, spec.quant, spec.planning_bytes, path, "", spec.drafts, spec.kind)


def _of_others(found: Found) -> Row:
    quant = quant_of(found.path.name)
    return Row(found.name, quant, found.size_bytes, str(found.path), found.program, (), "model")


def _line(row: Row, width: int, quant_width: int) -> str:
    size = gigabytes(row.size_bytes) if row.size_bytes else "?"
    if row.program:
        told = f"{row.program}'s, read in place"
    elif row.kind == "head":
        told = "a draft head"
    else:
        told = f"draft: {', '.join(row.drafts)}" if row.drafts else ""
    mark = "*" if row.path else " "
    return f"{mark} {row.name:<{width}}  {row.quant:<{quant_width}} {size:>9}  {told}".rstrip()
