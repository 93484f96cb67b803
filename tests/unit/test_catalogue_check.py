"""The shipped catalogue against arithmetic, and faults put into it one at a time."""

import dataclasses
from typing import Any

import pytest

from edgespec.models.catalogue import Catalogue, load_catalogue
from edgespec.models.check import TOLERANCE, problems, problems_of, size_error
from edgespec.models.spec import ModelSpec, Shape
from edgespec.models.weights import estimate, fitted
from edgespec.plan.estimate import estimated

CATALOGUE = load_catalogue()
WHOLE = [spec for spec in CATALOGUE if spec.kind == "model"]


def _with(id: str, **changes: Any) -> list[str]:
    """The complaints about the shipped catalogue with one entry changed."""
    spec = dataclasses.replace(CATALOGUE.models[id], **changes)
    models = {**CATALOGUE.models, id: spec}
    return problems_of(spec, Catalogue(models, CATALOGUE.renamed))


def _shape(id: str, **changes: Any) -> Shape:
    shape = CATALOGUE.models[id].shape
    assert shape is not None
    return dataclasses.replace(shape, **changes)


def test_shipped_catalogue_has_no_problems() -> None:
    assert problems(CATALOGUE) == {}


@pytest.mark.parametrize("spec", WHOLE, ids=lambda spec: spec.id)
def test_shape_and_quantisation_give_the_files_size(spec: ModelSpec) -> None:
    error = size_error(spec)

    assert error is not None
    assert abs(error) <= TOLERANCE or spec.size_note


def test_exceptions_from_the_size_are_few() -> None:
    exceptions = {spec.id for spec in CATALOGUE if spec.size_note}

    assert exceptions == {
        "gemma-4-12b",
        "gemma-4-31b",
        "gemma-4-e2b",
        "qwen3.5-2b",
        "qwen3.5-35b-a3b",
        "qwen3.6-27b-mtp",
        "qwen3.6-35b-a3b",
        "qwen3.6-35b-a3b-mtp",
        "qwen3.8-27b",
    }


@pytest.mark.parametrize(
    ("id", "kv_bytes", "swa_bytes"),
    [
        ("qwen3-0.6b", 114_688, 0),
        ("qwen3-30b-a3b", 98_304, 0),
        ("llama-3.3-70b", 327_680, 0),
        ("gemma-3-12b", 65_536, 327_680),
        ("gemma-4-e2b", 6_144, 12_288),
        ("gemma-4-26b-a4b", 20_480, 204_800),
        ("gemma-4-31b", 81_920, 819_200),
        ("qwen3.6-27b", 65_536, 0),
        ("gpt-oss-20b", 24_576, 24_576),
        ("smollm2-135m", 23_040, 0),
    ],
)
def test_shape_gives_the_published_cache_sizes(id: str, kv_bytes: int, swa_bytes: int) -> None:
    sizes = estimated(CATALOGUE.models[id])

    assert sizes is not None
    owned = [(layer.window, 2 * (layer.n_embd_k + layer.n_embd_v)) for layer in sizes.layers]
    assert sum(size for window, size in owned if not window) == kv_bytes
    assert sum(size for window, size in owned if window) == swa_bytes


@pytest.mark.parametrize(
    ("id", "billions"),
    [("qwen3-14b", 14.768), ("llama-3.3-70b", 70.554), ("gpt-oss-120b", 116.8), ("phi-4", 14.66)],
)
def test_estimate_counts_the_published_parameters(id: str, billions: float) -> None:
    weights = estimate(_shape(id), CATALOGUE.models[id].quant)

    assert weights.n_params / 1e9 == pytest.approx(billions, rel=1e-3)


def test_estimate_has_an_output_table_only_where_it_is_not_the_token_table() -> None:
    tied = estimate(_shape("qwen3-4b"), "Q4_K_M")
    untied = estimate(_shape("qwen3-8b"), "Q4_K_M")

    assert (tied.output_bytes, len(tied.layer_bytes)) == (0, 36)
    assert untied.output_bytes == 151_936 * 4_096 * 6.5625 / 8
    assert untied.table_bytes == 151_936 * 4_096 * 4.5 / 8


@pytest.mark.parametrize("spec", WHOLE, ids=lambda spec: spec.id)
def test_fitted_weights_add_up_to_the_file(spec: ModelSpec) -> None:
    weights = fitted(spec)

    assert weights is not None
    assert spec.planning_bytes is not None
    assert weights.size_bytes == pytest.approx(spec.planning_bytes, abs=100)


@pytest.mark.parametrize(
    ("id", "changes", "complaint"),
    [
        ("qwen3-14b", {"size_bytes": 8_701_752_960}, "shape and Q4_K_M give +3.4%"),
        ("qwen3-14b", {"quant": "Q8_0"}, "shape and Q8_0 give"),
        ("qwen3-14b", {"quant": "IQ3_XXS"}, "whose size is not known"),
        ("qwen3-14b", {"size_note": "why not"}, "has a size_note, but its size is what"),
        ("qwen3-14b", {"about_bytes": 9}, "has both size_bytes and about_bytes"),
        ("qwen3-14b", {"licence": ""}, "lacks licence"),
        ("qwen3-14b", {"shape": None}, "lacks shape"),
        ("qwen3-14b", {"shape": _shape("qwen3-14b", n_layer=41)}, "give +2."),
        ("qwen3-14b", {"shape": _shape("qwen3-14b", n_ff=16_384)}, "give -"),
        ("qwen3-14b", {"shape": _shape("qwen3-14b", is_tied=True)}, "give -"),
        ("qwen3-14b", {"shape": _shape("qwen3-14b", n_kv_head=7)}, "no multiple of its 7"),
        ("qwen3-14b", {"shape": _shape("qwen3-14b", window=9)}, "has a window without layers"),
        ("qwen3-14b", {"shape": _shape("qwen3-14b", n_layer_kv=41)}, "more layers with a cache"),
        ("qwen3-30b-a3b", {"shape": _shape("qwen3-30b-a3b", n_expert_used=0)}, "lacks one of"),
        ("qwen3-14b", {"file": "Qwen3-14B-Q6_K.gguf"}, "but its file is called"),
        ("qwen3-14b", {"drafts": ("qwen3-32b",)}, "qwen3-32b, which is not smaller"),
        ("qwen3-8b", {"sources": CATALOGUE.models["qwen3-14b"].sources}, "same file as qwen3-14b"),
        ("qwen3.8-27b-mtp", {"method": None}, "is a head, but has no method"),
        ("qwen3.8-27b", {"kind": "head", "method": "mtp"}, "head that no model names"),
    ],
)
def test_check_finds_a_fault_put_in(id: str, changes: dict[str, Any], complaint: str) -> None:
    assert any(complaint in said for said in _with(id, **changes))
