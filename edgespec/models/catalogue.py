"""The models edgespec knows by name: the shipped models.toml with the user's laid over it.

Owns ids and renamings. Must not know what is on disk (`edgespec.store`) or what else a person
may type (`edgespec.models.names`).
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from edgespec import paths
from edgespec.errors import ModelNotFound
from edgespec.models.spec import ModelSpec
from edgespec.models.tables import Place, Table, build, read_tables


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All known models by id, in the order of the file."""

    models: Mapping[str, ModelSpec]
    renamed: Mapping[str, str]

    def __iter__(self) -> Iterator[ModelSpec]:
        return iter(self.models.values())

    def find(self, name: str) -> tuple[ModelSpec, str]:
        """The model called `name` in any case, and a one-line notice if it was renamed.

        Raises: `ModelNotFound` with the nearest names as its hint.
        """
        key = name.strip().lower()
        if key in self.models:
            return self.models[key], ""
        if key in self.renamed:
            spec = self.models[self.renamed[key]]
            return spec, f"there is no {key}: using {spec.id} ({spec.title}, {spec.quant})"
        raise ModelNotFound(f"no model is called {name!r}", hint=self._nearest(key))

    def drafts_of(self, spec: ModelSpec) -> tuple[ModelSpec, ...]:
        """Whole models that may draft for `spec`, best evidence first; heads are left out."""
        found = (self.models[id] for id in spec.drafts)
        return tuple(draft for draft in found if draft.kind == "model")

    def _nearest(self, key: str) -> str:
        import difflib

        near = difflib.get_close_matches(key, [*self.models, *self.renamed], n=3)
        near += [id for id in self.models if key and key in id and id not in near]
        meant = f"did you mean {' or '.join(near[:4])}? " if near else ""
        return f"{meant}`edgespec models` lists all names; a path to a .gguf file works too"


def load_catalogue() -> Catalogue:
    """The shipped catalogue with the user's own models.toml laid over it.

    Raises: `UsageError` naming file, entry and key.
    """
    own = paths.config_dir() / "models.toml"
    return read_catalogue(_shipped(), *([own] if os.path.isfile(own) else []))


def read_catalogue(*files: Path) -> Catalogue:
    """The catalogue of `files`, keys of later ones laid over those of earlier ones."""
    tables: dict[str, Table] = {}
    places: dict[str, Place] = {}
    renamed: dict[str, tuple[str, Place]] = {}
    for file in files:
        new, new_names = read_tables(file)
        for id, table in new.items():
            tables[id] = tables.get(id, {}) | table
            places[id] = Place(file, f'models."{id}"')
        for name, id in new_names.items():
            renamed[name.lower()] = (id, Place(file, "renamed"))
    models = {id: build(id, table, places[id]) for id, table in tables.items()}
    for id, spec in models.items():
        _check_drafts(spec, models, places[id])
    for name, (id, place) in renamed.items():
        if id not in models:
            raise place.error(f"{name!r} leads to {id!r}, which is no model")
    names = {name: id for name, (id, _) in renamed.items() if name not in models}
    return Catalogue(models, names)


def _check_drafts(spec: ModelSpec, models: Mapping[str, ModelSpec], place: Place) -> None:
    for id in spec.drafts:
        if id not in models:
            raise place.error(f"drafts names {id!r}, which is no model")
        if models[id].vocab != spec.vocab:
            raise place.error(
                f"drafts names {id!r} of vocabulary {models[id].vocab!r}, "
                f"but {spec.id} has {spec.vocab!r}"
            )
    for gain in spec.gains:
        if gain.draft not in models:
            raise place.error(f"gains names {gain.draft!r}, which is no model")


def _shipped() -> Path:
    # Beside the package's modules in a wheel, at the repository's top in a checkout.
    package = Path(__file__).resolve().parents[1]
    inside = package / "catalogue_data" / "models.toml"
    return inside if inside.is_file() else package.parent / "models.toml"
