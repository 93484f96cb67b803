"""`edgespec.list_models`: what a program's picker shows."""

from pathlib import Path

import edgespec
from edgespec.models.catalogue import load_catalogue
from tests.cli.model_world import FILE, catalogue, put

MODEL = b"GGUF, as far as a list looks"


def named(name: str) -> edgespec.ListedModel:
    return next(model for model in edgespec.list_models() if model.name == name)


def test_catalogue_is_listed_with_what_is_not_here() -> None:
    names = [model.name for model in edgespec.list_models()]

    assert {spec.id for spec in load_catalogue()} <= set(names)
    assert len(set(names)) == len(names)
    assert edgespec.list_models(only_here=True) == ()
    assert named("smollm2-135m").path is None


def test_model_that_is_here_has_its_path_and_size(edgespec_home: Path) -> None:
    catalogue(edgespec_home, MODEL)
    path = put(edgespec_home / "models" / "tiny" / FILE, MODEL)

    (found,) = edgespec.list_models(only_here=True)

    assert (found.name, found.quant, found.path, found.size_bytes) == (
        "tiny",
        "Q8_0",
        path,
        len(MODEL),
    )
    assert (found.program, found.kind) == ("", "model")


def test_publishers_sampling_is_ready_for_options() -> None:
    advice = named("qwen2.5-coder-1.5b").sampling

    assert advice is not None
    assert (advice.temperature, advice.top_k, advice.top_p) == (0.7, 20, 0.8)
    edgespec.Options(sampling=advice).check()


def test_model_without_advice_has_none(edgespec_home: Path) -> None:
    catalogue(edgespec_home, MODEL)

    assert named("tiny").sampling is None
