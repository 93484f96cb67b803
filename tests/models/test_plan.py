"""The plan of real models against what llama.cpp allocates for them. Nothing is decoded."""

from pathlib import Path

import pytest

from edgespec.gguf.header import read_header
from edgespec.models.catalogue import load_catalogue
from edgespec.plan.estimate import estimated
from edgespec.plan.sizes import sizes_of
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

GRID = [
    on_cpu(n_ctx, n_batch, kv_type)
    for n_ctx in (512, 4096, 8192)
    for n_batch in (128, 512)
    for kv_type in ("f16", "q8_0", "q4_0")
]


def check(path: Path) -> None:
    """Every point of the grid by dry runs, one by a real load."""
    model = sizes_of(read_header(path), path.name)
    with loaded(path, no_alloc=True) as (handle, _):
        for placement in GRID:
            assert_close(planned(model, placement), measured(context_lines(handle, placement)))
    placement = on_cpu(4096, 128, max_logits=1)
    with loaded(path, no_alloc=False) as (handle, lines):
        theirs = measured(context_lines(handle, placement))
    mine = planned(model, placement)
    assert_close(mine, theirs)
    assert mine["weights"] == pytest.approx(weights_bytes(lines), abs=0.1 * MIB)


@pytest.mark.models
def test_plan_of_smollm2_is_what_llama_cpp_allocates(smollm2: Path) -> None:
    check(smollm2)


@pytest.mark.qwen
def test_plan_of_the_qwen_pair_is_what_llama_cpp_allocates(qwen_pair: tuple[Path, Path]) -> None:
    for path in qwen_pair:
        check(path)


@pytest.mark.qwen
def test_estimate_of_the_qwen_pair_agrees_with_its_headers(qwen_pair: tuple[Path, Path]) -> None:
    for path, id in zip(qwen_pair, ("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"), strict=True):
        guess, real = estimated(load_catalogue().models[id]), sizes_of(read_header(path), id)

        assert guess is not None
        assert guess.weight_bytes == pytest.approx(real.weight_bytes, rel=0.01)
        assert planned(guess, GRID[0])["compute"] == planned(real, GRID[0])["compute"]
