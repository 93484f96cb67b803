"""Sizes off headers and off the catalogue: windows, states, shared caches, tied tables."""

from pathlib import Path

import gguf
import numpy as np
import pytest

from edgespec.gguf.header import read_header
from edgespec.models.catalogue import load_catalogue
from edgespec.plan.estimate import estimated
from edgespec.plan.sizes import sizes_of
from edgespec.plan.types import ModelSizes
from tests.sparsegguf import SPARSE, write_sparse
from tests.tinygguf import write_hybrid, write_llama

TWINS = {
    "qwen3-14b": "qwen3-14b",
    "qwen3.5-27b": "qwen3.6-27b",
    "gemma-3-12b": "gemma-3-12b",
    "gemma-4-e4b": "gemma-4-e4b",
    "gpt-oss-20b": "gpt-oss-20b",
    "qwen3-30b-a3b": "qwen3-30b-a3b",
}
"""Catalogue entries and the sparse files of the same shape."""


def sparse_sizes(name: str, folder: Path) -> ModelSizes:
    return sizes_of(read_header(write_sparse(folder / "model.gguf", SPARSE[name])), name)


def test_weights_of_all_parts_sum_to_the_tensors_of_the_file(tmp_path: Path) -> None:
    header = read_header(write_llama(tmp_path / "tiny.gguf"))

    sizes = sizes_of(header, "tiny")

    placed = sizes.input_bytes + sizes.weight_bytes - sizes.tied_bytes
    assert placed == sum(tensor.size_bytes for tensor in header.tensors)


def test_tied_table_counts_as_head_and_as_input(tmp_path: Path) -> None:
    tied, untied = (sparse_sizes(n, tmp_path) for n in ("qwen3-0.6b", "qwen3-14b"))

    assert tied.tied_bytes == tied.input_bytes < tied.output_bytes
    assert untied.tied_bytes == 0


def test_windows_follow_the_pattern_of_the_architecture(tmp_path: Path) -> None:
    gemma, oss = (sparse_sizes(n, tmp_path) for n in ("gemma-3-12b", "gpt-oss-20b"))

    assert [layer.window for layer in gemma.layers[:7]] == [1024] * 5 + [0, 1024]
    assert [layer.window for layer in oss.layers[:4]] == [128, 0, 128, 0]


def test_hybrid_keeps_states_in_some_layers_and_caches_in_the_others(tmp_path: Path) -> None:
    sizes = sparse_sizes("qwen3.6-27b", tmp_path)

    assert [bool(layer.state_bytes) for layer in sizes.layers[:5]] == [True] * 3 + [False, True]
    assert [bool(layer.n_embd_k) for layer in sizes.layers[:5]] == [False] * 3 + [True, False]


def test_window_of_a_hybrid_is_that_of_its_attention_layers(tmp_path: Path) -> None:
    sizes = sizes_of(read_header(write_hybrid(tmp_path / "tiny.gguf", n_window=16)), "tiny")

    assert {layer.window for layer in sizes.layers if layer.n_embd_k} == {16}


@pytest.mark.parametrize(("id", "twin"), TWINS.items())
def test_catalogue_knows_caches_and_states_as_the_header_does(
    id: str, twin: str, tmp_path: Path
) -> None:
    header = sparse_sizes(twin, tmp_path)

    catalogue = estimated(load_catalogue().models[id])

    assert catalogue is not None
    for mine, theirs in zip(catalogue.layers, header.layers, strict=True):
        assert (mine.n_embd_k, mine.n_embd_v) == (theirs.n_embd_k, theirs.n_embd_v)
        assert mine.state_bytes == theirs.state_bytes
        assert mine.window == theirs.window or not mine.n_embd_k
    for name in ("n_vocab", "n_embd", "n_head", "n_ff", "n_expert_used", "n_convolved",
                 "n_per_layer", "n_ctx_train"):  # fmt: skip
        assert getattr(catalogue, name) == getattr(header, name)


def test_every_catalogue_entry_is_known_to_half_a_percent_or_says_so() -> None:
    for spec in load_catalogue():
        if spec.kind == "head" or spec.planning_bytes is None:
            continue
        sizes = estimated(spec)

        assert sizes is not None, spec.id
        total = sizes.input_bytes + sizes.weight_bytes - sizes.tied_bytes
        assert total == pytest.approx(spec.planning_bytes, rel=0.03), spec.id
        assert sizes.is_estimate


def test_absurd_numbers_of_a_file_are_taken_for_nothing(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "odd.gguf", "gemma3")
    writer.add_block_count(1)
    writer.add_context_length(512)
    writer.add_embedding_length(32)
    writer.add_head_count(2)
    writer.add_vocab_size(8)
    writer.add_float32("gemma3.expert_used_count", float("inf"))
    writer.add_array("gemma3.expert_feed_forward_length", [float("nan")])
    writer.add_int32("gemma3.nextn_predict_layers", -3)
    writer.add_int32("gemma3.attention.shared_kv_layers", -1)
    writer.add_tensor("blk.0.attn_k.weight", np.zeros((4, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    sizes = sizes_of(read_header(tmp_path / "odd.gguf"), "odd")

    assert (sizes.n_expert_used, sizes.n_ff_expert, len(sizes.layers)) == (0, 0, 1)
