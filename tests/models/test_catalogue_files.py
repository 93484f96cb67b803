"""The catalogue's shapes beside the headers of the real files they describe."""

import re
from collections import Counter
from pathlib import Path

import pytest

from edgespec.gguf.header import read_header
from edgespec.models.catalogue import load_catalogue
from edgespec.models.weights import estimate
from edgespec.plan.estimate import estimated

pytestmark = pytest.mark.models


def _assert_described(id: str, path: Path) -> None:
    """Shape, parameters, and the bytes of every layer to 0.5 %."""
    spec = load_catalogue().models[id]
    header = read_header(path)
    mine, real = spec.shape, header.shape
    assert mine is not None
    assert (mine.arch, mine.n_layer, mine.n_embd) == (real.architecture, real.n_layer, real.n_embd)
    assert (mine.n_head, mine.n_kv_head) == (real.n_head[0], real.n_head_kv[0])
    assert (mine.head_dim, mine.n_vocab) == (real.n_head_dim_k, real.n_vocab)
    assert mine.context_train == real.n_ctx_train
    planned = estimated(spec)
    assert planned is not None
    values = sum(layer.n_embd_k + layer.n_embd_v for layer in planned.layers)
    assert 2 * values == real.kv_bytes_per_token()
    sizes = Counter[str]()
    for tensor in header.tensors:
        layer = re.match(r"blk\.(\d+)\.", tensor.name)
        sizes[layer[1] if layer else tensor.name] += tensor.size_bytes
    weights = estimate(mine, spec.quant)
    assert weights.n_params == pytest.approx(real.n_params, rel=1e-3)
    assert weights.table_bytes == sizes["token_embd.weight"]
    assert weights.output_bytes == sizes["output.weight"]
    # Which layers get more bits depends on the order of the tensors that were quantised.
    layers = sorted(sizes[str(i)] for i in range(mine.n_layer))
    assert sorted(weights.layer_bytes) == pytest.approx(layers, rel=5e-3)


def test_smollm2_is_as_the_catalogue_says(smollm2: Path) -> None:
    _assert_described("smollm2-135m", smollm2)


@pytest.mark.qwen
def test_qwen_pair_is_as_the_catalogue_says(qwen_pair: tuple[Path, Path]) -> None:
    for id, path in zip(("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"), qwen_pair, strict=True):
        _assert_described(id, path)
