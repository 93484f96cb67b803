"""Loading a model for its ids only: the same numbers, without the texts that take memory."""

import logging
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgespec.engine.model import LoadOptions, Model
from edgespec.errors import ModelFileError
from edgespec.gguf.header import read_header
from tests.engine.conftest import SMALL, WRITERS
from tests.rawgguf import KEYS, STRING, RawGguf, array_key, packed_text, text_key

TOKENS = np.array([1, 40, 7, 301, 12, 5], np.int32)
Opener = Callable[[Path, LoadOptions], Model]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens models and closes them after the test."""
    models: list[Model] = []

    def opener(path: Path, options: LoadOptions) -> Model:
        models.append(Model(path, options))
        return models[-1]

    yield opener
    for model in models:
        model.close()


def ids_only(path: Path) -> LoadOptions:
    return LoadOptions(ids_of=read_header(path).shape)


def last_row(model: Model) -> tuple[float, ...]:
    session = model.new_session(SMALL)
    row = tuple(session.forward(TOKENS, n_logits=1)[0].tolist())
    session.close()
    return row


@pytest.mark.parametrize("architecture", ["llama", "gemma3", "mamba", "lfm2"])
def test_model_for_ids_computes_the_same_logits(
    tmp_path: Path, opened: Opener, architecture: str
) -> None:
    path = WRITERS[architecture](tmp_path / "m.gguf")

    whole, bare = opened(path, LoadOptions()), opened(path, ids_only(path))

    assert last_row(bare) == last_row(whole)


def test_model_for_ids_reads_no_texts(
    tmp_path: Path, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    path = WRITERS["llama"](tmp_path / "m.gguf")
    caplog.set_level(logging.DEBUG, "edgespec.llama")

    for options in (LoadOptions(), ids_only(path)):
        opened(path, options)

    kinds = [m.split("=")[1].strip() for m in caplog.messages if "vocab type" in m]
    assert kinds == ["SPM", "no vocab"]


def test_model_for_ids_has_no_tokenizer_to_ask(tmp_path: Path, opened: Opener) -> None:
    path = WRITERS["llama"](tmp_path / "m.gguf")
    model = opened(path, ids_only(path))

    with pytest.raises(AssertionError, match=r"m\.gguf was loaded without its texts"):
        _ = model.vocab


def test_model_for_ids_of_an_architecture_with_a_long_name_is_refused(tmp_path: Path) -> None:
    path = RawGguf(keys=(text_key("general.architecture", "a" * 500),)).write(tmp_path / "m.gguf")
    shape = replace(
        read_header(WRITERS["llama"](tmp_path / "l.gguf")).shape, architecture="a" * 500
    )

    with pytest.raises(ModelFileError, match=r"could not load m\.gguf"):
        Model(path, LoadOptions(ids_of=shape))


KEYS_OF_A_VOCABULARY = (
    packed_text(b"llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-5),
    text_key("tokenizer.ggml.model", "gpt2"),
    text_key("tokenizer.ggml.pre", "gpt-99"),
    array_key("tokenizer.ggml.tokens", STRING, 1, packed_text(b"a")),
    array_key("tokenizer.ggml.merges", STRING, 1, packed_text(b"a a")),
)


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ((text_key("general.architecture", "zebra"),), "architecture 'zebra'"),
        ((*KEYS, *KEYS_OF_A_VOCABULARY), "pre-tokenizer 'gpt-99'"),
    ],
)
def test_what_only_a_newer_llama_cpp_reads_is_no_damage(
    tmp_path: Path, keys: tuple[bytes, ...], what: str
) -> None:
    path = RawGguf(keys=keys).write(tmp_path / "new.gguf")

    with pytest.raises(ModelFileError) as refusal:
        Model(path)

    assert what in refusal.value.message
    assert "which this llama.cpp does not know" in refusal.value.message
    assert "comes with a newer edgespec" in refusal.value.hint
