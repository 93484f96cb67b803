"""Names of repositories: what people write, and what the hub offers for it."""

from pathlib import Path

import pytest

from edgespec.errors import ModelNotFound
from edgespec.models.catalogue import Catalogue
from edgespec.models.hub_listing import HubFile, HubRepo, ask_nobody
from edgespec.models.hub_names import HubName, parse_hub_name
from edgespec.models.names import resolve
from edgespec.models.quants import choose, quant_of
from edgespec.models.spec import HubSource, ModelSpec

SPEC = ModelSpec(
    "m-4b", "M", "m-Q4_K_M.gguf", "Q4_K_M", (HubSource("Org/M-GGUF", "m-Q4_K_M.gguf"),)
)
CATALOGUE = Catalogue({"m-4b": SPEC}, {})
NAMES = (
    "README.md",
    "x-Q2_K.gguf",
    "x-Q4_K_M.gguf",
    "x-UD-Q6_K_XL.gguf",
    "mmproj-x-Q4_K_M.gguf",
    "mtp-x-Q8_0.gguf",
    "big-Q8_0-00001-of-00002.gguf",
    "big-Q8_0-00002-of-00002.gguf",
)


def offer(name: HubName) -> HubRepo:
    return HubRepo(name.repo, "c0ffee", tuple(HubFile(n, 7, "f" * 64) for n in NAMES))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a/b", HubName("a/b")),
        ("a/b:Q4_K_M", HubName("a/b", "Q4_K_M")),
        ("a/b@q8_0", HubName("a/b", "q8_0")),
        ("hf://a/b", HubName("a/b")),
        ("hf://a/b:Q8_0", HubName("a/b", "Q8_0")),
        ("hf://a/b/x.gguf", HubName("a/b", file="x.gguf")),
        ("hf://a/b@main/sub/x.gguf", HubName("a/b", file="sub/x.gguf")),
        ("hf://a/b@abc123/x.gguf", HubName("a/b", file="x.gguf", revision="abc123")),
        ("https://huggingface.co/a/b/blob/abc/x.gguf", HubName("a/b", "", "x.gguf", "abc")),
        ("https://huggingface.co/a/b/tree/main", HubName("a/b")),
        ("hf.co/a/b/blob/main/x%20y.gguf", HubName("a/b", "", "x y.gguf")),
        ("hf.co/a/b/blob/refs%2Fpr%2F1/x.gguf", HubName("a/b", "", "x.gguf", "refs/pr/1")),
        ("hf://a/b@refs%2Fpr%2F1", HubName("a/b", revision="refs/pr/1")),
        ("hf.co/a/b:Q4_0", HubName("a/b", "Q4_0")),
    ],
)
def test_hub_name_is_read(text: str, name: HubName) -> None:
    assert parse_hub_name(text) == name


@pytest.mark.parametrize(
    "text", ["a", "a/b/c", "a b/c", "/a/b", "hf://a", "hf://a/b/%2E./x", "~/a"]
)
def test_other_text_is_no_hub_name(text: str) -> None:
    assert parse_hub_name(text) is None


@pytest.mark.parametrize(
    ("name", "quant"),
    [
        ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "Q4_K_M"),
        ("Qwen3.6-27B-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("gpt-oss-20b-MXFP4.gguf", "MXFP4"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"),
        ("m-IQ2_XXS-00001-of-00003.gguf", "IQ2_XXS"),
        ("m-bf16.gguf", "BF16"),
        ("model.gguf", ""),
    ],
)
def test_quant_is_read_from_a_file_name(name: str, quant: str) -> None:
    assert quant_of(name) == quant


@pytest.mark.parametrize(
    ("quant", "file"),
    [
        ("", "x-Q4_K_M.gguf"),
        ("q2_k", "x-Q2_K.gguf"),
        ("Q6_K_XL", "x-UD-Q6_K_XL.gguf"),
        ("Q5_0", None),
    ],
)
def test_choose_takes_the_model_and_not_its_companions(quant: str, file: str | None) -> None:
    assert choose(NAMES, quant) == file


def test_repository_of_the_catalogue_is_its_pinned_entry() -> None:
    resolved = resolve("org/m-gguf:q4_k_m", CATALOGUE, ask=offer)

    assert resolved.model is SPEC
    assert resolved.notice == "org/m-gguf:q4_k_m is m-4b of the catalogue"


def test_another_quant_of_a_catalogued_repository_is_asked_of_the_hub() -> None:
    resolved = resolve("Org/M-GGUF:Q2_K", CATALOGUE, ask=offer)

    assert isinstance(resolved.model, ModelSpec)
    assert resolved.model.file == "x-Q2_K.gguf"


def test_repository_becomes_a_model_pinned_to_what_is_offered_now() -> None:
    spec = resolve("a/b", CATALOGUE, ask=offer).model

    assert isinstance(spec, ModelSpec)
    assert (spec.id, spec.quant) == ("a/b:Q4_K_M", "Q4_K_M")
    assert spec.sources == (HubSource("a/b", "x-Q4_K_M.gguf", "c0ffee"),)
    assert (spec.size_bytes, spec.sha256) == (7, "f" * 64)


def test_quant_that_is_not_offered_lists_those_that_are() -> None:
    with pytest.raises(ModelNotFound) as caught:
        resolve("a/b:Q4_K_S", CATALOGUE, ask=offer)

    assert "a/b has no Q4_K_S; there are: Q2_K, Q4_K_M, UD-Q6_K_XL" in caught.value.message
    assert caught.value.hint == "did you mean a/b:Q4_K_M?"


def test_file_that_is_not_offered_suggests_the_nearest() -> None:
    with pytest.raises(ModelNotFound) as caught:
        resolve("hf://a/b/x-Q4_K.gguf", CATALOGUE, ask=offer)

    assert "did you mean x-Q4_K_M.gguf" in caught.value.hint


def test_repository_without_gguf_points_to_its_gguf_sister() -> None:
    with pytest.raises(ModelNotFound) as caught:
        resolve("a/b", CATALOGUE, ask=lambda name: HubRepo(name.repo, "c", ()))

    assert caught.value.hint.endswith("try a/b-GGUF")


def test_split_model_of_the_hub_is_all_its_files() -> None:
    found = resolve("a/b:Q8_0", CATALOGUE, ask=offer).model

    assert isinstance(found, ModelSpec)
    assert found.file == "big-Q8_0-00001-of-00002.gguf"
    assert [shard.file for shard in found.shards] == ["big-Q8_0-00002-of-00002.gguf"]


def test_offline_asks_nothing_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(ModelNotFound, match="offline mode forbids asking the hub"):
        resolve("a/b", CATALOGUE, ask=offer)


@pytest.mark.parametrize("text", ["s3://a/b", "https://example.org/m.bin"])
def test_address_of_another_kind_says_what_is_understood(text: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        resolve(text, CATALOGUE, ask=offer)

    assert "hf://user/repo" in caught.value.hint


def test_nobody_to_ask_says_that_it_is_offline() -> None:
    with pytest.raises(ModelNotFound) as caught:
        resolve("a/b", CATALOGUE, ask=ask_nobody)

    assert "without --offline" in caught.value.hint
