"""Which models there are: the catalogue's, then those that other programs have on this machine."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgespec.models.catalogue import Catalogue, load_catalogue
from edgespec.models.folders import Found
from edgespec.models.other_programs import all_found
from edgespec.models.quants import quant_of
from edgespec.models.spec import ModelSpec
from edgespec.shaping import Sampling
from edgespec.store import Installed, list_installed


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model, for a picker."""

    name: str
    """What `load` and `download` take."""
    quant: str
    size_bytes: int | None
    """Of its files; None where only its publisher knows."""
    path: Path | None
    """None: not on this machine; `download` gets it."""
    program: str
    """Whose file it is; empty for the catalogue's."""
    drafts: tuple[str, ...]
    """Names of models that draft for it, the best first."""
    kind: str
    """"model", or "head" for one that only drafts."""
    sampling: Sampling | None
    """The publisher's advice, for `Options`; None where there is none."""


def list_models(*, only_here: bool = False) -> tuple[ListedModel, ...]:
    """Every model that can be loaded by name or fetched; reads folders, loads nothing, asks nobody.

    `only_here`: those on this machine.
    """
    found = _all(load_catalogue())
    return tuple(model for model in found if model.path is not None or not only_here)


def _all(catalogue: Catalogue) -> Iterator[ListedModel]:
    here = {installed.spec.id: installed for installed in list_installed(catalogue)}
    for spec in catalogue:
        yield _of_catalogue(spec, here.get(spec.id))
    known = {installed.path.resolve() for installed in here.values()}
    for found in all_found():
        if found.path.resolve() not in known:
            yield _of_others(found)


def _of_catalogue(spec: ModelSpec, here: Installed | None) -> ListedModel:
    advice: dict[str, Any] = spec.sampling.given()
    return ListedModel(
        spec.id,
        spec.quant,
        here.size_bytes if here else spec.planning_bytes,
        here.path if here else None,
        "",
        spec.drafts,
        spec.kind,
        Sampling(**advice) if advice else None,
    )


def _of_others(found: Found) -> ListedModel:
    quant = quant_of(found.path.name)
    return ListedModel(
        found.name, quant, found.size_bytes, found.path, found.program, (), "model", None
    )
