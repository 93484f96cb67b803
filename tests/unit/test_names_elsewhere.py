"""Names of models that other programs keep on this machine: read in place, never copied."""

import json
from pathlib import Path

import pytest

from edgespec.errors import ModelNotFound
from edgespec.models.catalogue import Catalogue
from edgespec.models.folders import Found
from edgespec.models.hub_listing import HubRepo
from edgespec.models.hub_names import HubName
from edgespec.models.names import resolve
from edgespec.models.other_programs import all_found, shown_name
from edgespec.models.spec import HubSource, ModelSpec

DIGEST = "ab" * 32
EMPTY = Catalogue({}, {})


def no_network(name: HubName) -> HubRepo:
    raise AssertionError(f"asked the hub for {name}")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    monkeypatch.delenv("OLLAMA_MODELS", raising=False)
    return folder


def touch(path: Path, content: bytes = b"GGUF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def ollama_model(folder: Path, *name: str, digest: str = DIGEST, has_blob: bool = True) -> Path:
    """A model as Ollama stores it; its blob."""
    manifest = {
        "schemaVersion": 2,
        "layers": [
            {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:" + "0" * 64},
            {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"},
        ],
    }
    touch(folder.joinpath("manifests", *name), json.dumps(manifest).encode())
    blob = folder / "blobs" / f"sha256-{digest}"
    return touch(blob) if has_blob else blob


OFFICIAL = ("registry.ollama.ai", "library", "llama3.2")


@pytest.mark.parametrize("text", ["llama3.2:1b", "ollama:llama3.2:1b", "ollama://llama3.2:1b"])
def test_ollama_name_leads_to_its_blob(home: Path, text: str) -> None:
    blob = ollama_model(home / ".ollama" / "models", *OFFICIAL, "1b")

    resolved = resolve(text, EMPTY, ask=no_network)

    assert (resolved.model, resolved.name) == (blob, "llama3.2:1b")
    assert resolved.notice == f"using Ollama's llama3.2:1b: {blob}"


def test_ollama_name_without_a_tag_means_latest(home: Path) -> None:
    blob = ollama_model(home / ".ollama" / "models", *OFFICIAL, "latest")

    assert resolve("llama3.2", EMPTY, ask=no_network).model == blob


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("someone/model:x", ("registry.ollama.ai", "someone", "model", "x")),
        ("ollama:hf.co/a/b:Q4_K_M", ("hf.co", "a", "b", "Q4_K_M")),
    ],
)
def test_ollama_name_may_have_an_owner_and_a_host(
    home: Path, text: str, parts: tuple[str, ...]
) -> None:
    blob = ollama_model(home / ".ollama" / "models", *parts)

    assert resolve(text, EMPTY, ask=no_network).model == blob


def test_ollama_folder_is_the_one_it_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "elsewhere"))
    blob = ollama_model(tmp_path / "elsewhere", *OFFICIAL, "1b")

    assert resolve("llama3.2:1b", EMPTY, ask=no_network).model == blob


def test_ollama_model_that_is_here_comes_before_a_like_name_of_the_catalogue(home: Path) -> None:
    spec = ModelSpec("qwen3-14b", "Qwen3", "q.gguf", "Q4_K_M", (HubSource("a/b", "q.gguf"),))
    blob = ollama_model(home / ".ollama/models", "registry.ollama.ai", "library", "qwen3", "14b")

    resolved = resolve("qwen3:14b", Catalogue({"qwen3-14b": spec}, {}), ask=no_network)

    assert resolved.model == blob


def test_tag_of_ollama_is_no_quantisation_of_an_alias(home: Path) -> None:
    spec = ModelSpec("tiny-1b", "Tiny", "t.gguf", "Q4_1", (HubSource("a/b", "t.gguf"),))
    known = Catalogue({"tiny-1b": spec}, {"tiny": "tiny-1b"})
    before = resolve("tiny:1b", known, ask=no_network)
    blob = ollama_model(home / ".ollama/models", "registry.ollama.ai", "library", "tiny", "1b")

    after = resolve("tiny:1b", known, ask=no_network)

    assert (before.model, after.model) == (spec, blob)


@pytest.mark.parametrize(
    "manifest",
    [b"", b"[]", b"{", b'{"layers": 5}', b'{"layers": [1, {"mediaType": 3}]}', b"[" * 100_000],
)
def test_ollama_manifest_that_makes_no_sense_is_no_model(home: Path, manifest: bytes) -> None:
    touch(home.joinpath(".ollama/models/manifests", *OFFICIAL, "1b"), manifest)

    with pytest.raises(ModelNotFound):
        resolve("llama3.2:1b", EMPTY, ask=no_network)


def test_ollama_digest_cannot_climb_out_of_its_folder(home: Path) -> None:
    touch(home / "secret")
    ollama_model(home / ".ollama/models", *OFFICIAL, "1b", digest="../../../secret", has_blob=False)

    with pytest.raises(ModelNotFound):
        resolve("llama3.2:1b", EMPTY, ask=no_network)


def test_ollama_blob_that_is_not_there_is_no_model(home: Path) -> None:
    ollama_model(home / ".ollama/models", *OFFICIAL, "1b", has_blob=False)

    with pytest.raises(ModelNotFound):
        resolve("llama3.2:1b", EMPTY, ask=no_network)


def test_ollama_name_that_is_near_is_suggested(home: Path) -> None:
    ollama_model(home / ".ollama/models", *OFFICIAL, "1b")

    for text in ("llama3.2:1", "ollama:llama3.2:1"):
        with pytest.raises(ModelNotFound) as caught:
            resolve(text, EMPTY, ask=no_network)

        assert caught.value.hint == "did you mean llama3.2:1b?"


@pytest.mark.parametrize(
    "text",
    [
        "lmstudio-community/Qwen3-4B-GGUF",
        "lmstudio:qwen3-4b@q8_0",
        "lmstudio-community/Qwen3-4B-GGUF@q8_0",
    ],
)
def test_lmstudio_model_is_read_in_its_folder(home: Path, text: str) -> None:
    folder = home / ".lmstudio/models/lmstudio-community/Qwen3-4B-GGUF"
    touch(folder.parent / "qwen3-4b" / "Qwen3-4B-Q8_0.gguf")
    file = touch(folder / "Qwen3-4B-Q8_0.gguf")
    touch(folder / "mmproj-Qwen3-4B-F16.gguf")

    resolved = resolve(text, EMPTY, ask=no_network)

    assert isinstance(resolved.model, Path)
    assert resolved.model.name == file.name
    assert "LM Studio" in resolved.notice


def test_lmstudio_folder_is_the_one_of_its_settings(home: Path, tmp_path: Path) -> None:
    touch(
        home / ".lmstudio/settings.json", json.dumps({"downloadsFolder": f"{tmp_path}/m"}).encode()
    )
    file = touch(tmp_path / "m/pub/mod/x-Q4_K_M.gguf")

    assert resolve("pub/mod", EMPTY, ask=no_network).model == file


@pytest.mark.parametrize("folder", ["a\0b", "a\ud800b"])
def test_lmstudio_folder_that_can_be_none_is_passed_over(folder: str, home: Path) -> None:
    touch(home / ".lmstudio/settings.json", json.dumps({"downloadsFolder": folder}).encode())
    file = touch(home / ".lmstudio/models/pub/mod/x-Q4_K_M.gguf")

    assert resolve("pub/mod", EMPTY, ask=no_network).model == file
    assert [found.path for found in all_found()] == [file]


def in_hub_cache(repo: str, commit: str, name: str, *, ref: str = "") -> Path:
    from edgespec import paths

    folder = paths.hub_cache() / f"models--{repo.replace('/', '--')}"
    if ref:
        touch(folder / "refs" / ref, commit.encode())
    blob = touch(folder / "blobs" / f"{commit}-{Path(name).name}")
    link = folder / "snapshots" / commit / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(blob)
    return link


@pytest.mark.parametrize("text", ["a/b", "a/b:q4_k_m", "a/b@Q4_K_M", "hf://a/b", "hf.co/a/b:Q4_K_M",
                                  "hf://a/b/x-Q4_K_M.gguf", "https://huggingface.co/a/b",
                                  "https://huggingface.co/a/b/resolve/main/x-Q4_K_M.gguf?download=true"]
)  # fmt: skip
def test_repository_in_the_hubs_cache_needs_no_network(text: str) -> None:
    in_hub_cache("a/b", "111", "x-Q8_0.gguf", ref="main")
    file = in_hub_cache("a/b", "111", "x-Q4_K_M.gguf")
    in_hub_cache("a/b", "000", "x-Q4_K_M.gguf")

    assert resolve(text, EMPTY, ask=no_network).model == file


def test_revision_that_is_named_is_meant() -> None:
    in_hub_cache("a/b", "111", "x-Q4_K_M.gguf", ref="main")
    old = in_hub_cache("a/b", "000", "x-Q4_K_M.gguf")

    assert resolve("hf://a/b@000", EMPTY, ask=no_network).model == old


def test_all_found_gives_each_file_once_with_a_name_to_type(home: Path) -> None:
    blob = ollama_model(home / ".ollama/models", *OFFICIAL, "1b")
    ollama_model(home / ".ollama/models", *OFFICIAL, "latest")
    lms = touch(home / ".lmstudio/models/pub/mod/x-Q4_K_M.gguf")
    hub = in_hub_cache("a/b", "111", "y-Q8_0.gguf", ref="main")
    in_hub_cache("a/b", "111", "mmproj-y-Q8_0.gguf")

    found = list(all_found())

    assert found == [
        Found("llama3.2:1b", "Ollama", blob),
        Found("pub/mod@Q4_K_M", "LM Studio", lms),
        Found("a/b:Q8_0", "Hugging Face", hub),
    ]
    assert all(resolve(one.name, EMPTY, ask=no_network).model == one.path for one in found)


def test_blob_is_called_by_its_name_and_any_other_file_by_its_own(home: Path) -> None:
    blob = ollama_model(home / ".ollama/models", *OFFICIAL, "1b")

    assert shown_name(blob) == "llama3.2:1b"
    assert shown_name(home / "blobs" / "m.gguf") == "m.gguf"
