from pathlib import Path

import pytest

from edgespec.errors import EdgespecError, ModelFileError, ModelNotFound
from edgespec.gguf.header import GgufHeader, read_header
from edgespec.models.catalogue import Catalogue
from edgespec.models.hub_listing import ask_nobody
from edgespec.models.names import Resolved, resolve
from edgespec.models.spec import HubSource, ModelSpec


def _spec(id: str, quant: str) -> ModelSpec:
    return ModelSpec(id, id.title(), f"{id}.gguf", quant, (HubSource("a/b", f"{id}.gguf"),))


CATALOGUE = Catalogue(
    {"qwen3-14b": _spec("qwen3-14b", "Q4_K_M"), "qwen3-0.6b": _spec("qwen3-0.6b", "Q8_0")},
    {"qwen3-0.5b": "qwen3-0.6b"},
)


def _touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF")
    return path


@pytest.mark.parametrize(
    "text", ["qwen3-14b", "Qwen3-14B", "qwen3-14b:Q4_K_M", "qwen3-14b@q4_k_m", " qwen3-14b "]
)
def test_resolve_finds_a_catalogue_model(text: str) -> None:
    resolved = resolve(text, CATALOGUE)

    assert resolved == Resolved(CATALOGUE.models["qwen3-14b"])


def test_resolve_says_so_when_a_name_was_renamed() -> None:
    resolved = resolve("qwen3-0.5b", CATALOGUE)

    assert resolved.name == "qwen3-0.6b"
    assert resolved.notice.startswith("there is no qwen3-0.5b: using qwen3-0.6b")


def test_resolve_takes_a_size_written_as_a_tag() -> None:
    resolved = resolve("qwen3:14b", CATALOGUE)

    assert (resolved.name, resolved.notice) == ("qwen3-14b", "qwen3:14b is called qwen3-14b here")


def test_resolve_lists_the_quants_when_another_is_wanted() -> None:
    with pytest.raises(ModelNotFound, match="catalogued as Q4_K_M only, not as Q9_9"):
        resolve("qwen3-14b:Q9_9", CATALOGUE)


def test_resolve_suggests_near_names_when_unknown() -> None:
    with pytest.raises(ModelNotFound) as caught:
        resolve("qwen-14b", CATALOGUE)

    assert "did you mean qwen3-14b" in caught.value.hint


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "\ud800"], ids=["long", "zero", "surrogate"])
@pytest.mark.parametrize(
    "form",
    [
        *("{}", "{}.gguf", "./{}", "~{}/m", "a/{}", "{}/b", "qwen3-14b:{}"),
        *("hf://a/{}", "hf://a/b@{}", "hf://a/b/{}", "https://huggingface.co/a/{}"),
        *("ollama:{}", "ollama:a/{}", "lmstudio:{}", "lmstudio:a/{}", "lmstudio:a@{}"),
    ],
)
def test_resolve_says_that_there_is_no_model_of_a_name_no_file_can_have(
    form: str, name: str
) -> None:
    with pytest.raises(ModelNotFound):
        resolve(form.format(name), CATALOGUE, ask=ask_nobody)


def test_resolve_says_that_there_is_no_home_of_a_person_nobody_knows() -> None:
    with pytest.raises(ModelNotFound, match="~nobody-knows-them"):
        resolve("~nobody-knows-them/m.gguf", CATALOGUE)


def test_resolve_refuses_an_empty_name() -> None:
    with pytest.raises(ModelNotFound, match="empty"):
        resolve("  ", CATALOGUE)


def test_resolve_takes_a_non_ascii_path(tmp_path: Path) -> None:
    file = _touch(tmp_path / "Modèle é 日本" / "m.gguf")

    resolved = resolve(str(file), CATALOGUE)

    assert (resolved.model, resolved.notice) == (file, "")


def test_resolve_expands_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    file = _touch(tmp_path / "m.gguf")

    resolved = resolve("~/m.gguf", CATALOGUE)

    assert resolved.model == file


def test_resolve_prefers_the_catalogue_to_a_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _touch(tmp_path / "qwen3-14b" / "m.gguf")

    by_name, by_path = resolve("qwen3-14b", CATALOGUE), resolve("./qwen3-14b", CATALOGUE)

    assert isinstance(by_name.model, ModelSpec)
    assert by_path.model == Path("qwen3-14b/m.gguf")


def test_resolve_names_neighbours_when_the_file_is_missing(tmp_path: Path) -> None:
    _touch(tmp_path / "Qwen3-14B-Q4_K_M.gguf")

    with pytest.raises(ModelNotFound) as caught:
        resolve(str(tmp_path / "Qwen3-14B-Q4_K.gguf"), CATALOGUE)

    assert "did you mean Qwen3-14B-Q4_K_M.gguf?" in caught.value.hint


def test_resolve_lists_what_a_folder_holds_three_levels_deep(tmp_path: Path) -> None:
    for name in ("a.gguf", "p/b.gguf", "p/r/c.gguf", "p/r/x/too-deep.gguf", "readme.txt"):
        _touch(tmp_path / name)

    with pytest.raises(ModelNotFound) as caught:
        resolve(str(tmp_path), CATALOGUE)

    listed = ", ".join([str(Path("a.gguf")), str(Path("p/b.gguf")), str(Path("p/r/c.gguf"))])
    assert caught.value.message == f"{tmp_path} holds 3 GGUF files: {listed}"


def test_resolve_takes_the_only_model_of_a_folder_and_says_so(tmp_path: Path) -> None:
    file = _touch(tmp_path / "deep" / "m.gguf")

    resolved = resolve(str(tmp_path), CATALOGUE)

    assert resolved.model == file
    assert "the only GGUF file" in resolved.notice


def test_resolve_says_how_deep_it_looked_when_a_folder_has_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="searched 3 folder levels"):
        resolve(str(tmp_path), CATALOGUE)


def test_resolve_leads_any_shard_to_the_first(tmp_path: Path) -> None:
    shards = [_touch(tmp_path / f"m-0000{n}-of-00003.gguf") for n in (1, 2, 3)]

    resolved = resolve(str(shards[1]), CATALOGUE)

    assert resolved.model == shards[0]
    assert "later shard" in resolved.notice


def test_resolve_takes_a_folder_of_shards_as_one_model(tmp_path: Path) -> None:
    shards = [_touch(tmp_path / f"m-0000{n}-of-00002.gguf") for n in (1, 2)]

    resolved = resolve(str(tmp_path), CATALOGUE)

    assert resolved.model == shards[0]


def test_resolve_names_the_missing_shards(tmp_path: Path) -> None:
    shard = _touch(tmp_path / "m-00002-of-00003.gguf")

    with pytest.raises(ModelFileError) as caught:
        resolve(str(shard), CATALOGUE)

    assert "m-00001-of-00003.gguf, m-00003-of-00003.gguf" in caught.value.message


def loaded_by_name(path: Path) -> GgufHeader:
    model = resolve(str(path), CATALOGUE).model
    assert isinstance(model, Path)
    return read_header(model)


@pytest.mark.parametrize(
    "name", [".", "a", "none.gguf", "m-00002-of-00003.gguf", "m.gguf.part1of2", "no/m.gguf"]
)
def test_path_fails_alike_as_text_and_as_a_path(tmp_path: Path, name: str) -> None:
    for there in ("m-00002-of-00003.gguf", "m.gguf.part1of2", "a/a.gguf", "b/b.gguf"):
        _touch(tmp_path / there)

    errors = []
    for load in (loaded_by_name, read_header):
        with pytest.raises(EdgespecError) as caught:
            load(tmp_path / name)
        errors.append((caught.value.exit_code, caught.value.message, caught.value.hint))

    assert errors[0] == errors[1]
