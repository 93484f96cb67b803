"""The catalogue beside a hub: the real client against a server on this machine."""

import dataclasses
import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from edgespec.errors import DownloadError
from edgespec.models.catalogue import load_catalogue
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.store import Compared, Patience, compare
from tests.hub import COMMIT, Fault, LocalHub, serving

DATA = b"GGUF of a tiny model"
SPEC = ModelSpec(
    "tiny",
    "Tiny",
    "tiny.gguf",
    "Q8_0",
    (HubSource("owner/tiny", "tiny.gguf", COMMIT),),
    size_bytes=len(DATA),
    sha256=hashlib.sha256(DATA).hexdigest(),
)
HASTY = Patience(pause_s=0.01, tries=3)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    with serving() as server:
        server.files["owner/tiny", "tiny.gguf"] = DATA
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def _compared(**changes: Any) -> Compared:
    (one,) = compare([dataclasses.replace(SPEC, **changes)], patience=HASTY)
    return one


def test_compare_fetches_nothing_and_finds_the_pinned_file(hub: LocalHub) -> None:
    assert _compared() == Compared("tiny", "same")
    assert {one.method for one in hub.asked} == {"HEAD"}


@pytest.mark.parametrize(
    ("changes", "verdict", "said"),
    [
        ({"size_bytes": 7}, "differs", "the hub has 20 bytes, the catalogue 7"),
        ({"sha256": "0" * 64}, "differs", f"the hub has sha256 {SPEC.sha256}"),
        ({"size_bytes": None, "about_bytes": 25}, "differs", "about_bytes is off by +25.0%"),
        ({"size_bytes": None}, "open", "size_bytes = 20"),
        ({"sha256": None}, "open", f'sha256 = "{SPEC.sha256}"'),
        ({"sources": (HubSource("owner/tiny", "tiny.gguf"),)}, "open", f'revision = "{COMMIT}"'),
        ({"sources": (HubSource("owner/tiny", "no.gguf"),)}, "gone", "it has no file no.gguf"),
        ({"sources": (HubSource("owner/no", "tiny.gguf"),)}, "gone", "no such repository"),
        ({"sources": (HubSource("owner/tiny", "tiny.gguf", "b" * 40),)}, "gone", "no revision"),
    ],
)
def test_compare_says_what_is_not_as_in_the_catalogue(
    changes: dict[str, Any], verdict: str, said: str, hub: LocalHub
) -> None:
    found = _compared(**changes)

    assert found.verdict == verdict
    assert said in found.said[0]


def test_compare_tries_again_when_it_is_asked_to(hub: LocalHub) -> None:
    hub.faults.append(Fault(status=429, headers={"Retry-After": "0"}, at_hub=True))

    assert _compared().verdict == "same"


def test_compare_ends_at_once_without_a_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    with pytest.raises(DownloadError, match=r"the hub cannot be asked: no connection to http"):
        next(iter(compare(load_catalogue(), patience=HASTY)))


def test_compare_asks_once_for_every_entry_of_the_shipped_catalogue(hub: LocalHub) -> None:
    specs = [
        spec
        for spec in load_catalogue()
        if any(isinstance(source, HubSource) for source in spec.sources)
    ]

    found = list(compare(specs, patience=HASTY))

    assert [one.id for one in found] == [spec.id for spec in specs]
    assert {one.verdict for one in found} == {"gone"}  # this hub has none of them
    assert len(hub.asked) == len(specs)
