"""A repository's name, asked for at a hub by the real client, and pulled."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgespec import store
from edgespec.errors import DownloadError, ModelNotFound
from edgespec.models.catalogue import Catalogue
from edgespec.models.far_file import open_far
from edgespec.models.names import resolve
from edgespec.models.spec import HubSource, ModelSpec
from tests.hub import COMMIT, LocalHub, serving

FILES = {name: name.encode() * 1000 for name in ("m-Q4_K_M.gguf", "m-Q8_0.gguf", "mmproj-m.gguf")}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving() as server:
        server.files.update({("owner/m-GGUF", name): data for name, data in FILES.items()})
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def asked(text: str) -> ModelSpec:
    found = resolve(text, Catalogue({}, {})).model
    assert isinstance(found, ModelSpec)
    return found


def test_repository_is_pinned_to_what_the_hub_lists_and_pulled(hub: LocalHub) -> None:
    spec = asked("owner/m-GGUF:Q8_0")

    path = store.pull(spec)

    assert (spec.id, spec.size_bytes) == ("owner/m-GGUF:Q8_0", len(FILES["m-Q8_0.gguf"]))
    assert spec.sha256 == hashlib.sha256(FILES["m-Q8_0.gguf"]).hexdigest()
    assert path.parent.name == COMMIT
    assert path.read_bytes() == FILES["m-Q8_0.gguf"]


def test_repository_without_a_quantisation_means_the_usual_one(hub: LocalHub) -> None:
    assert asked("owner/m-GGUF").file == "m-Q4_K_M.gguf"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("owner/other", "the hub has no repository owner/other, or it is private"),
        ("hf://owner/m-GGUF@v2", "owner/m-GGUF has no revision v2"),
        ("owner/m-GGUF:Q6_K", "has no Q6_K; there are: Q4_K_M, Q8_0"),
    ],
)
def test_what_the_hub_does_not_have_is_said(hub: LocalHub, text: str, says: str) -> None:
    with pytest.raises(ModelNotFound, match=says):
        asked(text)


def test_gated_repository_names_the_page_to_accept(hub: LocalHub) -> None:
    hub.wanted_token = "hf_secret"

    with pytest.raises(DownloadError, match="is gated, and no token is set") as caught:
        asked("owner/m-GGUF")

    assert f"accept the terms on {hub.url}/owner/m-GGUF" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "value"), [("HF_ENDPOINT", "http://127.0.0.1:port"), ("HF_TOKEN", "t\u00f6ken")]
)
def test_environment_that_cannot_be_used_is_said(
    name: str, value: str, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(DownloadError, match=f"could not be asked for owner/m-GGUF: .*{name}"):
        asked("owner/m-GGUF")
    with pytest.raises(DownloadError, match=f"could not be read from owner/m-GGUF .*{name}"):
        open_far(HubSource("owner/m-GGUF", "m-Q4_K_M.gguf"))
