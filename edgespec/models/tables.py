"""Reads models.toml strictly: every unknown key and every odd value is an error with its place.

Knows the file's form only; which files there are, and names, are `edgespec.models.catalogue`'s.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgespec.errors import UsageError
from edgespec.models.parsed import parsed
from edgespec.models.schema import (
    ADVICE,
    ENTRY,
    GAIN,
    LISTS,
    PACKAGE,
    PLAIN,
    SAMPLING,
    SHAPE,
    SHAPE_NEEDED,
    Expectation,
    is_table,
    is_text,
)
from edgespec.models.spec import (
    Gain,
    HubSource,
    ModelSpec,
    PackageSource,
    Part,
    SamplingAdvice,
    Shape,
    Source,
)

Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which file an error is."""

    file: Path
    table: str = ""

    def error(self, text: str) -> UsageError:
        """An error that names file and table."""
        table = f" [{self.table}]" if self.table else ""
        return UsageError(f"{self.file}:{table} {text}")


def read_tables(file: Path) -> tuple[dict[str, Table], dict[str, str]]:
    """The checked raw entries and renamings of one file. Raises: `UsageError`."""
    place = Place(file)
    try:
        content = parsed(file.read_text(encoding="utf-8-sig"))  # some editors begin with a mark
    except (OSError, ValueError) as error:
        raise place.error(f"cannot be read: {error}") from error
    except RecursionError as error:
        raise place.error("cannot be read: it is nested too deeply") from error
    _check(content, {"models": is_table, "renamed": is_table}, place)
    models, renamed = content.get("models", {}), content.get("renamed", {})
    _check(renamed, dict.fromkeys(renamed, is_text), Place(file, "renamed"))
    for id, table in models.items():
        _check_entry(id, table, Place(file, f'models."{id}"'))
    return models, renamed


def build(id: str, table: Table, place: Place) -> ModelSpec:
    """The model of a checked and merged entry. Raises: `UsageError` naming what is missing."""
    for key in ("title", "file", "quant"):
        if key not in table:
            raise place.error(f"lacks {key!r}")
    values: Table = {key: table[key] for key in PLAIN if key in table}
    values |= {key: tuple(table[key]) for key in LISTS if key in table}
    values |= {key: SamplingAdvice(**table[key]) for key in ADVICE if key in table}
    if "shape" in table:
        values["shape"] = Shape(**table["shape"])
    gains = (
        Gain(gain["draft"], (gain["times"][0], gain["times"][1]), gain["source"])
        for gain in table.get("gains", ())
    )
    values["gains"] = tuple(gains)
    sources = tuple(_sources(table, place))
    return ModelSpec(id=id, file=Path(table["file"]).name, sources=sources, **values)


def _sources(table: Table, place: Place) -> Iterable[Source]:
    if "repo" in table:
        yield HubSource(table["repo"], table["file"], table.get("revision", "main"))
    for package in table.get("packages", ()):
        # Anyone can upload a wheel: without both pins there is no telling what came.
        if "size_bytes" not in table or "sha256" not in table:
            raise place.error("has packages, so it needs size_bytes and sha256")
        yield _package(package)
    if "repo" not in table and not table.get("packages"):
        raise place.error("lacks a source: 'repo' or 'packages'")


def _package(table: Table) -> PackageSource:
    def filled(text: str, n: int) -> str:
        return text.replace("{nn}", f"{n:02}").replace("{n}", str(n))

    numbers = range(1, table.get("parts", 1) + 1)
    parts = (Part(filled(table["package"], n), filled(table["member"], n)) for n in numbers)
    return PackageSource(tuple(parts), table.get("download_bytes"))


def _check_entry(id: str, table: object, place: Place) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", id):
        raise place.error("has an id that is not of a-z, 0-9, '.', '_' and '-'")
    if not isinstance(table, dict):
        raise place.error("must be a table")
    _check(table, ENTRY, place)
    if "shape" in table:
        where, shape = Place(place.file, f"{place.table}.shape"), table["shape"]
        convolves = shape.get("arch") == "lfm2"  # its layers are told apart by their number only
        _check(shape, SHAPE, where, (*SHAPE_NEEDED, *(("n_layer_kv",) if convolves else ())))
    for key in ADVICE:
        _check(table.get(key, {}), SAMPLING, Place(place.file, f"{place.table}.{key}"))
    for gain in table.get("gains", ()):
        _check(gain, GAIN, Place(place.file, f"{place.table}.gains"), GAIN)
    for package in table.get("packages", ()):
        where = Place(place.file, f"{place.table}.packages")
        _check(package, PACKAGE, where, ("package", "member"))
    for key in table.get("unverified", ()):
        if key not in ENTRY:
            raise place.error(f"marks {key!r} as unverified, which is no key{_nearest(key, ENTRY)}")


def _check(
    table: Mapping[str, object],
    keys: Mapping[str, Expectation],
    place: Place,
    needed: Iterable[str] = (),
) -> None:
    for key, value in table.items():
        if key not in keys:
            raise place.error(f"has the unknown key {key!r}{_nearest(key, keys)}")
        if wanted := keys[key](value):
            raise place.error(f"{key} is {value!r}, but must be {wanted}")
    for key in needed:
        if key not in table:
            raise place.error(f"lacks {key!r}")


def _nearest(key: str, keys: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(key, keys, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
