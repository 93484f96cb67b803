"""Pulling from a hub: what the file must be, the room for it, and models of several files."""

import dataclasses
import hashlib
import os
from pathlib import Path

import pytest

from edgespec import store
from edgespec.errors import DownloadError
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.store import PullProgress
from tests.hub import COMMIT, Fault, LocalHub
from tests.unit.hub_world import (
    DATA,
    FILE,
    HASTY,
    REPO,
    SPEC,
    UNPINNED,
    blobs,
    notes,
    pull,
)
from tests.unit.wheels import content


def test_pull_says_that_an_unpinned_file_is_pinned_now(hub: LocalHub) -> None:
    told: list[PullProgress] = []

    path = pull(UNPINNED, told)

    assert f"the one of sha256 {SPEC.sha256}" in notes(told)[-1]
    assert store.installed(UNPINNED) == path


def test_pull_leaves_what_is_here_when_the_hub_has_another_file(hub: LocalHub) -> None:
    """Neither deleted nor fetched anew behind anybody's back (row 67)."""
    path = pull(UNPINNED)
    hub.files[REPO, FILE], hub.commit = DATA[::-1], "d" * 40
    hub.asked.clear()

    again = pull(UNPINNED)

    assert again == path
    assert path.read_bytes() == DATA
    assert hub.asked == []


def test_pull_refuses_another_file_than_the_one_pinned_here(hub: LocalHub) -> None:
    path = pull(UNPINNED)
    path.resolve().unlink()
    path.unlink()
    hub.files[REPO, FILE], hub.commit = DATA[::-1], "d" * 40

    with pytest.raises(DownloadError, match=f"it has no revision {COMMIT}"):
        pull(UNPINNED)

    store.remove(UNPINNED)  # forgets the pin
    assert pull(UNPINNED).read_bytes() == DATA[::-1]


def test_pull_leaves_a_shared_copy_with_another_hash_alone(hub: LocalHub) -> None:
    link = pull()
    link.resolve().write_bytes(bytes(len(DATA)))
    os.utime(link, ns=(0, 12_345))

    with pytest.raises(DownloadError) as caught:
        pull()

    assert f"the copy in {link} does not have the pinned sha256" in caught.value.message
    assert f"delete {link}" in caught.value.hint
    assert link.exists()


@pytest.mark.parametrize(
    ("data", "reason"),
    [(DATA[:-1], "now offers 2,999,999 bytes"), (DATA[::-1], "now offers a file of sha256")],
)
def test_pull_fetches_nothing_when_the_offer_is_not_the_pinned_file(
    data: bytes, reason: str, hub: LocalHub
) -> None:
    hub.files[REPO, FILE] = data

    with pytest.raises(DownloadError, match=reason):
        pull()

    assert hub.gets == []


@pytest.mark.parametrize(
    ("unverified", "hint"),
    [((), "the file was replaced there"), (("size_bytes",), "rests on one public source")],
)
def test_pull_says_how_sure_the_pin_is_that_does_not_fit(
    unverified: tuple[str, ...], hint: str, hub: LocalHub
) -> None:
    hub.files[REPO, FILE] = DATA[:-1]

    with pytest.raises(DownloadError) as caught:
        pull(dataclasses.replace(SPEC, unverified=unverified))

    assert hint in caught.value.hint
    assert "edgespec models check tiny --online" in caught.value.hint


def test_pull_checks_the_room_in_the_hubs_cache(hub: LocalHub) -> None:
    with pytest.raises(DownloadError, match=r"3\.0 MB .* are needed in .* and 1\.0 MB are free"):
        store.pull(SPEC, free_bytes=lambda _: 1_000_000, patience=HASTY)

    assert hub.gets == []


def test_pull_needs_room_only_for_what_is_missing(hub: LocalHub) -> None:
    hub.faults.extend([Fault(cut_after=2_500_000), *[Fault(cut_after=0)] * 3])
    with pytest.raises(DownloadError):
        pull()
    hub.faults.clear()

    assert store.pull(SPEC, free_bytes=lambda _: 600_000, patience=HASTY).read_bytes() == DATA


def _split(hub: LocalHub) -> ModelSpec:
    """A model in three files."""
    names = [f"big-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
    files = {name: content(400_000 + i) for i, name in enumerate(names)}
    hub.files |= {(REPO, name): data for name, data in files.items()}
    specs = [
        dataclasses.replace(
            SPEC,
            id=f"owner/tiny:Q8_0#{i}",
            file=name,
            sources=(HubSource(REPO, name, COMMIT),),
            size_bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
        )
        for i, (name, data) in enumerate(files.items(), 1)
    ]
    return dataclasses.replace(specs[0], id="owner/tiny:Q8_0", shards=tuple(specs[1:]))


def test_pull_of_a_split_model_gets_all_files_into_one_folder(hub: LocalHub) -> None:
    spec = _split(hub)

    path = pull(spec)

    assert path.name == "big-00001-of-00003.gguf"
    assert len(list(path.parent.glob("big-*.gguf"))) == 3
    assert store.installed(spec) == path
    assert store.list_installed([spec])[0].size_bytes == spec.planning_bytes


def test_split_model_is_not_here_while_one_file_is_missing(hub: LocalHub) -> None:
    spec = _split(hub)
    path = pull(spec)
    path.with_name("big-00002-of-00003.gguf").unlink()

    assert store.installed(spec) is None
    assert store.list_installed([spec]) == ()


def test_pull_of_a_split_model_needs_room_for_all_files(hub: LocalHub) -> None:
    spec = _split(hub)

    with pytest.raises(DownloadError, match=r"3 files of owner/tiny:Q8_0 need 1\.2 MB in"):
        store.pull(spec, free_bytes=lambda _: 500_000, patience=HASTY)

    assert hub.gets == []


def test_remove_of_a_split_model_removes_all_files(hub: LocalHub) -> None:
    spec = _split(hub)
    path = pull(spec)

    removed = store.remove(spec)

    assert removed.freed_bytes >= (spec.planning_bytes or 0)
    assert list(path.parent.glob("big-*")) == []


def test_remove_frees_what_an_unfinished_pull_left(hub: LocalHub, cache: Path) -> None:
    hub.faults.extend([Fault(cut_after=1_000_000), *[Fault(cut_after=0)] * 3])
    with pytest.raises(DownloadError):
        pull()

    removed = store.remove(SPEC)

    assert removed.freed_bytes >= 1_000_000
    assert blobs(cache) == []
