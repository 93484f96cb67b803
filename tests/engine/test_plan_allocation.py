"""Planned bytes against llama.cpp's own: dry runs of real shapes, real loads of tiny models.

Nothing is computed. A dry run (`no_alloc`) sizes every buffer as a real load does, so that models
of 70 billion parameters take part as headers without weights.
"""

from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from edgespec.gguf.header import read_header
from edgespec.plan.sizes import sizes_of
from tests import tinygguf
from tests.dryrun import (
    MIB,
    assert_close,
    context_lines,
    loaded,
    measured,
    on_cpu,
    planned,
    weights_bytes,
)
from tests.sparsegguf import SPARSE, write_sparse

TINY: dict[str, tinygguf.Write] = {
    "llama": tinygguf.write_llama,
    "gemma3": tinygguf.write_gemma3,
    "mamba": tinygguf.write_mamba,
    "lfm2": tinygguf.write_hybrid,
}


@cache
def written(folder: Path, name: str) -> Path:
    """A model with this shape and no weights."""
    return write_sparse(folder / f"{name}.gguf", SPARSE[name])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sparse")


GRID = (
    on_cpu(1024, 128),
    on_cpu(8192, 128, "q8_0"),
    on_cpu(8192, 512, max_logits=1),
    on_cpu(32_768, 512),
    on_cpu(32_768, 512, "q4_0"),
    on_cpu(32_768, 2048),
    on_cpu(8192, 512, flash_attention=False),
)


@pytest.mark.parametrize("name", SPARSE)
def test_plan_of_a_real_shape_is_what_a_dry_run_sizes(name: str, folder: Path) -> None:
    path = written(folder, name)
    model = sizes_of(read_header(path), name)

    with loaded(path, no_alloc=True) as (handle, _):
        for placement in GRID:
            theirs = measured(context_lines(handle, placement))

            assert_close(planned(model, placement), theirs)


def test_kept_states_are_planned_as_a_dry_run_sizes_them(folder: Path) -> None:
    path = written(folder, "qwen3.6-27b")
    model = sizes_of(read_header(path), "qwen3.6-27b")
    placement = on_cpu(8192, 512, n_snapshots=8)

    with loaded(path, no_alloc=True) as (handle, _):
        theirs = measured(context_lines(handle, placement))

    assert_close(planned(model, placement), theirs)
    assert theirs["caches"] > 1800 * MIB


@pytest.mark.parametrize("name", ["gemma-3-12b", "qwen3-0.6b"])
def test_branches_are_planned_as_a_dry_run_sizes_them(name: str, folder: Path) -> None:
    path = written(folder, name)
    model = sizes_of(read_header(path), name)
    placement = on_cpu(8192, 512, max_branches=15)

    with loaded(path, no_alloc=True) as (handle, _):
        theirs = measured(context_lines(handle, placement))

    assert_close(planned(model, placement), theirs)


@pytest.mark.parametrize("name", TINY)
def test_plan_of_a_tiny_model_is_what_a_real_load_allocates(name: str, tmp_path: Path) -> None:
    path = TINY[name](tmp_path / "tiny.gguf")
    model = sizes_of(read_header(path), name)
    placement = on_cpu(512, 128)

    with loaded(path, no_alloc=False) as (handle, lines):
        theirs = measured(context_lines(handle, placement))

    mine = planned(model, placement)
    assert_close(mine, theirs)
    assert mine["weights"] == pytest.approx(weights_bytes(lines), abs=0.02 * MIB)


def test_plan_grows_with_context_and_rows_as_the_dry_run_does(folder: Path) -> None:
    path = written(folder, "qwen3-14b")
    model = sizes_of(read_header(path), "qwen3-14b")
    mine, theirs = [], []

    with loaded(path, no_alloc=True) as (handle, _):
        for n_ctx in (4096, 8192, 16_384, 32_768):
            placement = on_cpu(n_ctx, 512)
            mine.append(sum(planned(model, placement).values()))
            theirs.append(sum(measured(context_lines(handle, placement)).values()))

    assert mine == sorted(mine)
    grown = [after - before for before, after in pairwise(theirs)]
    assert [b - a for a, b in pairwise(mine)] == pytest.approx(grown, rel=0.01)
