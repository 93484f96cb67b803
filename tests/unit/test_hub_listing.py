"""Split models among the files of a repository."""

import pytest

from edgespec.errors import ModelNotFound
from edgespec.models.hub_listing import HubFile, HubRepo, spec_of
from edgespec.models.hub_names import parse_hub_name
from edgespec.models.spec import ModelSpec

NAMES = [f"Q4_K_M/big-Q4_K_M-0000{i}-of-00003.gguf" for i in (1, 2, 3)]


def _spec(names: list[str]) -> ModelSpec:
    name = parse_hub_name("owner/big:Q4_K_M")
    assert name is not None
    files = tuple(HubFile(file, 10 + i, f"{i}" * 64) for i, file in enumerate(names))
    return spec_of(name, lambda asked: HubRepo(asked.repo, "c" * 40, files))


def test_split_model_is_pinned_file_by_file() -> None:
    spec = _spec(NAMES)

    assert [one.size_bytes for one in (spec, *spec.shards)] == [10, 11, 12]
    assert [one.file for one in spec.shards] == [name.partition("/")[2] for name in NAMES[1:]]
    assert [str(one.sha256)[0] for one in (spec, *spec.shards)] == ["0", "1", "2"]
    assert spec.planning_bytes == 33
    assert len({one.id for one in (spec, *spec.shards)}) == 3


def test_split_model_with_a_missing_file_is_refused_by_name() -> None:
    with pytest.raises(ModelNotFound, match=r"lacks Q4_K_M/big-Q4_K_M-00003-of-00003\.gguf"):
        _spec(NAMES[:2])


def test_model_in_one_file_has_no_shards() -> None:
    assert _spec(["big-Q4_K_M.gguf"]).shards == ()
