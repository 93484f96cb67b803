"""Pulling from a Hugging Face hub: the real client against a server on this machine."""

import dataclasses
import email.utils
import os
import time
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from edgespec import store
from edgespec.errors import DownloadError
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


def test_pull_puts_the_file_into_the_hubs_own_cache(hub: LocalHub, cache: Path) -> None:
    told: list[PullProgress] = []

    path = pull(told=told)

    assert path.read_bytes() == DATA
    assert path.parts[-4:] == ("models--owner--tiny", "snapshots", COMMIT, FILE)
    assert [blob.name for blob in blobs(cache)] == [SPEC.sha256]
    assert told[-1].done_bytes == len(DATA)
    assert {state.phase for state in told} == {"download"}  # hashed while it came


def test_pull_keeps_the_layout_that_the_hubs_own_client_reads(hub: LocalHub) -> None:
    from huggingface_hub import try_to_load_from_cache

    path = pull(UNPINNED)

    found = try_to_load_from_cache(REPO, FILE, cache_dir=os.environ["HF_HUB_CACHE"])
    assert found == str(path)


def test_pull_asks_nothing_when_the_file_is_cached(hub: LocalHub) -> None:
    path = pull()
    hub.asked.clear()

    assert pull() == path
    assert store.pull(SPEC, offline=True) == path
    assert hub.asked == []


def test_pull_of_a_whole_file_never_says_that_nothing_is_there(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, told = huggingface_hub.hf_hub_download, list[PullProgress]()

    def slow(*args: Any, **kwargs: Any) -> Any:  # it may ask the hub again
        time.sleep(0.5)
        return real(*args, **kwargs)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", slow)

    pull(told=told)

    done = [state.done_bytes for state in told]
    assert done == sorted(done)
    assert done[-1] == len(DATA)


@pytest.mark.parametrize(
    ("faults", "n_gets"),
    [
        ([Fault(cut_after=1_000_000)], 2),
        ([Fault(cut_after=0), Fault(cut_after=0)], 3),
        ([Fault(cut_after=1_000_000), Fault(cut_after=0), Fault(cut_after=500_000)], 4),
        ([Fault(cut_after=1_000_000, is_silent=True)], 2),
        ([Fault(cut_after=1_000_000, is_short=True)], 2),
        ([Fault(cut_after=1_000_000), Fault(ignores_range=True)], 2),
        ([Fault(cut_after=1_000_000), Fault(lies_about_range=True)], 3),
        ([Fault(cut_after=1_000_000), Fault(flips=True)], 3),
        ([Fault(status=503), Fault(status=500), Fault()], 3),
        ([Fault(status=429, headers={"Retry-After": "0"})], 2),
        ([Fault(status=429, headers={"Retry-After": "Mon, 01 Jan 20152 00:00:00 GMT"})], 2),
        ([Fault(status=429, headers={"Retry-After": "\u00b2"})], 2),
        ([Fault(status=416)], 2),
        ([Fault(status=403)], 2),
        ([Fault(cut_after=100_000)] * 12, 13),
        ([Fault(rate=30_000_000)], 1),
        ([Fault(status=503, at_hub=True), Fault(status=429, at_hub=True)], 1),
    ],
    ids=lambda value: (
        "+".join(
            " ".join(f"{k}={v}" for k, v in vars(f).items() if v not in (None, False, 0, {}))
            for f in value[:3]
        )
        if isinstance(value, list)
        else None
    ),
)
def test_pull_gets_a_good_file_through_faults(
    faults: list[Fault], n_gets: int, hub: LocalHub, cache: Path
) -> None:
    hub.faults.extend(faults)

    path = pull(faults=faults)

    assert path.read_bytes() == DATA
    assert len(hub.gets) == n_gets
    assert [blob.name for blob in blobs(cache)] == [SPEC.sha256]


@pytest.mark.parametrize(
    ("faults", "reason", "is_kept"),
    [
        ([Fault(cut_after=0)] * 3, "3 times without a new byte", True),
        ([Fault(cut_after=9, is_silent=True), *[Fault(cut_after=0)] * 9], "without a new", True),
        ([Fault(status=500)] * 3, "it answers with status 500, 3 times", True),
        ([Fault(flips=True)], "does not have the pinned sha256, so it was removed", False),
        ([Fault(extra=5)], "it sent more than the 3,000,000 bytes of the file", True),
        ([Fault(status=404)], "it answered with HTTP status 404", True),
        ([Fault(status=429, headers={"Retry-After": "3600"})], "asks to wait 3,600 s", True),
        ([Fault(status=451)], "it answered with HTTP status 451", True),
        ([Fault(status=403, headers={"X-Error-Code": "x"})], "forbids the file", True),
    ],
)
def test_pull_ends_in_a_clear_sentence_when_faults_do_not_end(
    faults: list[Fault], reason: str, is_kept: bool, hub: LocalHub, cache: Path
) -> None:
    hub.faults.extend(faults)

    with pytest.raises(DownloadError) as caught:
        pull(faults=faults)

    assert reason in caught.value.message
    assert caught.value.hint
    assert store.installed(SPEC) is None
    assert [blob.suffix for blob in blobs(cache)] == [".part"] * is_kept
    hub.faults.clear()
    assert pull().read_bytes() == DATA  # and once the faults are gone, it works


def test_pull_goes_on_where_a_cancelled_one_stopped(hub: LocalHub, cache: Path) -> None:
    hub.faults.append(Fault(rate=4_000_000))

    def cancel(state: PullProgress) -> None:
        if state.done_bytes > 500_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.pull(SPEC, cancel, patience=HASTY)
    (part,) = blobs(cache)
    kept = part.stat().st_size
    told: list[PullProgress] = []
    path = pull(told=told)

    assert 500_000 < kept < len(DATA)
    assert hub.gets[-1].range == f"bytes={kept}-"
    assert "verify" in {state.phase for state in told}
    assert path.read_bytes() == DATA


def test_pull_cancels_while_the_connection_is_silent(hub: LocalHub) -> None:
    hub.faults.append(Fault(cut_after=0, is_silent=True))
    ticks = 0

    def cancel(state: PullProgress) -> None:
        nonlocal ticks
        ticks += state.phase == "download"
        if ticks > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.pull(SPEC, cancel, patience=dataclasses.replace(HASTY, silence_s=20))


def test_pull_starts_over_when_what_was_kept_is_spoilt(hub: LocalHub, cache: Path) -> None:
    hub.faults.extend([Fault(cut_after=1_000_000), *[Fault(cut_after=0)] * 3])
    with pytest.raises(DownloadError):
        pull()
    (part,) = blobs(cache)
    part.write_bytes(bytes(part.stat().st_size))
    hub.faults.clear()
    told: list[PullProgress] = []

    path = pull(told=told)

    assert path.read_bytes() == DATA
    assert any("does not fit: fetching all of it again" in note for note in notes(told))


def test_pull_takes_no_part_of_another_version(
    hub: LocalHub, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.faults.extend([Fault(cut_after=1_000_000), *[Fault(cut_after=0)] * 3])
    with pytest.raises(DownloadError):
        pull(UNPINNED)
    hub.faults.clear()
    hub.files[REPO, FILE], hub.commit = DATA[::-1], "d" * 40

    path = pull(UNPINNED)

    assert path.read_bytes() == DATA[::-1]
    assert hub.gets[-1].range == ""
    assert [blob.suffix for blob in blobs(cache)] == [""]


def test_pull_tells_why_it_waits(hub: LocalHub) -> None:
    hub.faults.extend([Fault(status=503), Fault(cut_after=0)])
    told: list[PullProgress] = []

    pull(told=told)

    assert notes(told)[0] == "it answers with status 503: try 2 of 3 in 0 s"
    assert "try 3 of 3" in notes(told)[1]


def test_pull_waits_as_long_as_it_is_asked_to(hub: LocalHub) -> None:
    when = email.utils.formatdate(time.time() + 2, usegmt=True)
    hub.faults.append(Fault(status=429, headers={"Retry-After": when}))
    told: list[PullProgress] = []

    pull(told=told)

    assert any("it is asked too often: try 2 of 3 in" in note for note in notes(told))


def test_pull_reads_the_hubs_own_rate_limit(hub: LocalHub) -> None:
    hub.faults.append(Fault(status=429, headers={"RateLimit": '"resolvers";r=0;t=4000'}))

    with pytest.raises(DownloadError, match="it is asked too often, and it asks to wait 4,000 s"):
        pull()


def test_unfinished_pull_does_not_disturb_the_hubs_own_tools(hub: LocalHub, cache: Path) -> None:
    from huggingface_hub import scan_cache_dir

    hub.faults.extend([Fault(cut_after=1_000_000), *[Fault(cut_after=0)] * 3])
    with pytest.raises(DownloadError):
        pull()
    (cache / "models--owner--tiny" / "snapshots").mkdir()

    assert scan_cache_dir(cache).warnings == []
