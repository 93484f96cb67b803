"""Models in Hugging Face's cache, whoever fetched them. Never asks the network."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from edgespec import paths
from edgespec.models.folders import Found, chosen, files_below, folders_in, with_quant
from edgespec.models.quants import model_files


def find_hub_cache(repo: str, quant: str, file: str = "", revision: str = "main") -> Found | None:
    """A file of a repository in the shared cache; the revision's own snapshot first."""
    folder = paths.hub_cache() / f"models--{repo.replace('/', '--')}"
    for snapshot in _snapshots(folder, revision):
        path = snapshot / file if file else chosen(snapshot, quant)
        if path is not None and os.path.isfile(path):
            return Found(repo, "Hugging Face", path)
    return None


def all_hub_cache() -> Iterator[Found]:
    """Every model of every repository, in the snapshot of its newest revision first."""
    for folder in folders_in(paths.hub_cache()):
        if not folder.match("models--*--*"):
            continue
        repo = folder.name.removeprefix("models--").replace("--", "/", 1)
        for snapshot in _snapshots(folder, "main"):
            for path in sorted(files_below(snapshot)):
                if model_files([path.name]) and os.path.isfile(path):
                    yield Found(with_quant(repo, ":", path), "Hugging Face", path)


def _snapshots(folder: Path, revision: str) -> Iterator[Path]:
    """Snapshots of a repository, the revision's own first, then the youngest."""
    commit = revision
    with suppress(OSError, ValueError):  # a commit has no ref of its own
        commit = (folder / "refs" / revision).read_text(encoding="utf-8", errors="replace").strip()
    found = folders_in(folder / "snapshots")
    others = [path for path in found if path.name != commit]
    wanted = [path for path in found if path.name == commit]
    if revision != "main" and wanted:
        others = []  # a revision that was named is meant
    yield from (*wanted, *sorted(others, key=lambda path: path.stat().st_mtime, reverse=True))
