import dataclasses
import os
from pathlib import Path

import pytest

from edgespec import store
from edgespec.errors import ModelNotFound
from edgespec.models.other_programs import all_found
from edgespec.models.spec import HubSource, ModelSpec
from tests.unit.wheels import content, spec_of

DATA = content()
COMMIT = "c" * 40
SPEC = spec_of(DATA, first=(HubSource("owner/tiny", "tiny.gguf", COMMIT),))


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def _write(path: Path, data: bytes = DATA) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _write_cached(hub_cache: Path, commit: str = COMMIT) -> Path:
    """As the hub keeps it: a link in a snapshot to a blob."""
    repo = hub_cache / "models--owner--tiny"
    blob = _write(repo / "blobs" / "etag")
    link = repo / "snapshots" / commit / "tiny.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(os.path.relpath(blob, link.parent))
    return link


@pytest.mark.parametrize("name", ["tiny/tiny.gguf", "tiny.gguf"])
def test_installed_finds_a_file_in_the_models_folder(name: str, edgespec_home: Path) -> None:
    path = _write(edgespec_home / "models" / name)

    assert store.installed(SPEC) == path


@pytest.mark.parametrize("commit", [COMMIT, "d" * 40])
def test_installed_finds_the_pinned_file_in_the_hubs_cache_under_any_commit(
    commit: str, hub_cache: Path
) -> None:
    link = _write_cached(hub_cache, commit)

    assert store.installed(SPEC) == link


def test_installed_follows_a_branch_when_nothing_is_pinned(hub_cache: Path) -> None:
    source = HubSource("owner/tiny", "tiny.gguf")
    spec = ModelSpec("tiny", "Tiny", "tiny.gguf", "Q8_0", (source,))
    link = _write_cached(hub_cache)
    before = store.installed(spec)

    _write(hub_cache / "models--owner--tiny" / "refs" / "main", COMMIT.encode())

    assert before is None
    assert store.installed(spec) == link


def test_installed_never_takes_a_file_of_another_size(edgespec_home: Path) -> None:
    _write(edgespec_home / "models" / "tiny" / "tiny.gguf", DATA[:-1])

    assert store.installed(SPEC) is None
    assert store.list_installed([SPEC]) == ()


def test_installed_never_takes_a_file_with_another_hash(edgespec_home: Path) -> None:
    _write(edgespec_home / "models" / "tiny" / "tiny.gguf", bytes(len(DATA)))

    assert store.installed(SPEC) is None


def test_installed_hashes_a_file_once(edgespec_home: Path) -> None:
    _write(edgespec_home / "models" / "tiny" / "tiny.gguf")
    told: list[str] = []

    store.installed(SPEC, lambda progress: told.append("first"))
    store.installed(SPEC, lambda progress: told.append("second"))

    assert set(told) == {"first"}


def test_installed_hashes_again_when_the_file_changed(edgespec_home: Path) -> None:
    path = _write(edgespec_home / "models" / "tiny" / "tiny.gguf")
    before = store.installed(SPEC)

    _write(path, bytes(len(DATA)))
    os.utime(path, ns=(0, 12_345))

    assert before == path
    assert store.installed(SPEC) is None


def test_installed_hashes_again_when_its_notes_are_damaged(edgespec_home: Path) -> None:
    path = _write(edgespec_home / "models" / "tiny" / "tiny.gguf")
    _write(edgespec_home / "models" / "tiny" / "verified.json", b'{"cut o')

    assert store.installed(SPEC) == path


def test_list_installed_says_where_each_one_is(edgespec_home: Path, hub_cache: Path) -> None:
    link = _write_cached(hub_cache)
    other = dataclasses.replace(SPEC, id="other", file="other.gguf", sources=())
    path = _write(edgespec_home / "models" / "other" / "other.gguf")

    found = store.list_installed([SPEC, other, dataclasses.replace(SPEC, id="x", size_bytes=1)])

    assert [(one.path, one.is_shared) for one in found] == [(link, True), (path, False)]
    assert found[0].size_bytes == len(DATA)


def test_remove_frees_the_file_and_what_unfinished_pulls_left(edgespec_home: Path) -> None:
    folder = edgespec_home / "models" / "tiny"
    _write(folder / "tiny.gguf")
    _write(folder / "parts" / "tiny-part1==1.0.whl", b"12345")

    removed = store.remove(SPEC)

    assert removed == store.Removed((folder,), len(DATA) + 5)
    assert not folder.exists()


def test_remove_frees_a_file_once_whose_name_is_the_id(edgespec_home: Path) -> None:
    path = _write(edgespec_home / "models" / "tiny.gguf")

    removed = store.remove(SPEC)

    assert removed == store.Removed((path,), len(DATA))


def test_remove_frees_the_blob_in_the_hubs_cache(hub_cache: Path) -> None:
    link = _write_cached(hub_cache)

    removed = store.remove(SPEC)

    assert removed == store.Removed((link,), len(DATA))
    assert list((hub_cache / "models--owner--tiny" / "blobs").iterdir()) == []


def test_remove_keeps_a_blob_that_another_file_links_to(hub_cache: Path) -> None:
    link = _write_cached(hub_cache)
    other = link.parent.with_name("e" * 40) / "renamed.gguf"
    other.parent.mkdir()
    other.symlink_to(link.readlink())

    removed = store.remove(SPEC)

    assert removed == store.Removed((link,), 0)
    assert other.read_bytes() == DATA


def test_remove_keeps_the_blob_of_another_program_behind_a_link(
    edgespec_home: Path, tmp_path: Path
) -> None:
    blob = _write(tmp_path / "ollama" / "blobs" / "sha256-1")
    link = edgespec_home / "models" / "tiny.gguf"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(blob)

    removed = store.remove(SPEC)

    assert removed == store.Removed((link,), 0)
    assert not link.is_symlink()
    assert blob.read_bytes() == DATA


def test_remove_frees_nothing_of_a_file_with_another_name(
    edgespec_home: Path, tmp_path: Path
) -> None:
    mine = _write(tmp_path / "mine.gguf")
    path = edgespec_home / "models" / "tiny" / "tiny.gguf"
    path.parent.mkdir(parents=True)
    os.link(mine, path)

    removed = store.remove(SPEC)

    assert removed == store.Removed((path.parent,), 0)
    assert mine.read_bytes() == DATA


def test_remove_says_so_when_there_is_nothing(edgespec_home: Path) -> None:
    with pytest.raises(ModelNotFound, match="tiny is not on this machine"):
        store.remove(SPEC)


def test_places_that_cannot_be_looked_into_hold_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / ("x" * 300)))  # no name for a file system
    monkeypatch.setenv("HOME", str(tmp_path))
    spec = dataclasses.replace(SPEC, file=f"{'y' * 300}.gguf")

    assert store.installed(spec) is None
    assert store.list_installed([spec]) == ()
    assert list(all_found()) == []
    with pytest.raises(ModelNotFound, match="is not on this machine"):
        store.remove(spec)


def test_branch_that_cannot_be_read_is_passed_over(hub_cache: Path) -> None:
    _write(hub_cache / "models--owner--tiny" / "refs" / "main", b"\xff\xfe")
    spec = dataclasses.replace(SPEC, sources=(HubSource("owner/tiny", "tiny.gguf"),))
    link = _write_cached(hub_cache)

    assert store.installed(spec) == link


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="a file that reads as an error")
def test_file_that_cannot_be_read_is_not_installed(edgespec_home: Path) -> None:
    spec = dataclasses.replace(SPEC, size_bytes=None)
    link = edgespec_home / "models" / "tiny.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to("/proc/self/mem")

    assert store.installed(spec) is None
