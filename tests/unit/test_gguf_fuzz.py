"""Random damage: nothing but `ModelFileError` comes out, and memory stays small."""

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgespec.errors import ModelFileError
from edgespec.gguf.header import read_header
from edgespec.models.pairing import check_pair
from edgespec.plan.sizes import sizes_of
from tests.rawgguf import KEYS, STRING, RawGguf, array_key, packed_text, text_key
from tests.tinygguf import write_gemma3, write_hybrid, write_llama

_HEADER_BYTES = 12_000
_MOST_BYTES = 8 << 20


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("originals")
    writers: tuple[Callable[[Path], Path], ...] = (write_llama, write_gemma3, write_hybrid)
    return [write(folder / f"{i}.gguf").read_bytes() for i, write in enumerate(writers)]


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "m.gguf"


def refusal(path: Path) -> ModelFileError | None:
    """What everything that looks at the file before llama.cpp does has to say."""
    try:
        header = read_header(path)
        header.shape.kv_bytes_per_token()
        header.tokens.check()
        check_pair(header, header)
    except ModelFileError as error:
        return error
    return None


# Numbers near the borders of 32 and 64 bits do more harm than random bytes.
_words = st.sampled_from([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1])
_patches = st.lists(
    st.tuples(
        st.integers(0, _HEADER_BYTES),
        st.one_of(st.binary(min_size=1, max_size=8), _words.map(lambda n: n.to_bytes(8, "little"))),
    ),
    min_size=1,
    max_size=6,
)


@settings(
    max_examples=600,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(which=st.integers(0, 2), patches=_patches, cut=st.none() | st.integers(0, _HEADER_BYTES))
def test_damaged_file_is_read_or_refused(
    originals: list[bytes],
    victim: Path,
    which: int,
    patches: list[tuple[int, bytes]],
    cut: int | None,
) -> None:
    damaged = bytearray(originals[which])
    for at, new in patches:
        damaged[at : at + len(new)] = new
    victim.write_bytes(damaged[:cut])

    error = refusal(victim)

    assert error is None or (error.message.isprintable() and error.hint)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(content=st.binary(max_size=400), version=st.sampled_from([2, 3]))
def test_random_bytes_behind_the_magic_are_refused(
    victim: Path, content: bytes, version: int
) -> None:
    victim.write_bytes(b"GGUF" + version.to_bytes(4, "little") + content)

    with pytest.raises(ModelFileError):
        read_header(victim)


@pytest.mark.parametrize("claimed", [1000, 2**20, 2**40, 2**63])
def test_hostile_counts_cost_no_memory(originals: list[bytes], victim: Path, claimed: int) -> None:
    """Every aligned place in the counts and the first keys claims `claimed` of something."""
    tracemalloc.start()
    try:
        for at in range(8, 700, 4):
            damaged = bytearray(originals[0][:30_000])
            damaged[at : at + 8] = claimed.to_bytes(8, "little")
            victim.write_bytes(damaged)
            refusal(victim)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak_bytes < _MOST_BYTES


def test_reading_a_large_vocabulary_costs_little_memory(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf", n_vocab_extra=100_000)
    tracemalloc.start()
    try:
        header = read_header(path)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert header.shape.n_vocab > 100_000
    assert peak_bytes < _MOST_BYTES


def test_long_lists_where_layers_are_counted_cost_no_memory(tmp_path: Path) -> None:
    n = 2_000_000
    names = ("expert_count", "attention.recurrent_layers", "feed_forward_length")
    lists = (array_key(f"llama.{name}", 0, n, bytes(n)) for name in names)
    path = RawGguf(keys=(*KEYS, *lists)).write(tmp_path / "m.gguf")
    tracemalloc.start()
    try:
        sizes_of(read_header(path), "m")
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak_bytes < _MOST_BYTES


GROWTH = """
import sys
from pathlib import Path
from edgespec.gguf.header import read_header
from tests.fuzz.campaign import peak_bytes
before = peak_bytes()
read_header(Path(sys.argv[1])).tokens.check()
print(peak_bytes() - before)
"""


def test_largest_vocabulary_that_is_read_costs_under_64_mb(tmp_path: Path) -> None:
    n = 300_000
    texts = b"".join(packed_text(b"%030d" % i) for i in range(n))
    keys = (*KEYS, text_key("tokenizer.ggml.model", "gpt2"),
            array_key("tokenizer.ggml.tokens", STRING, n, texts))  # fmt: skip
    path = RawGguf(keys=keys).write(tmp_path / "m.gguf")

    grown = subprocess.run(
        [sys.executable, "-c", GROWTH, str(path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )

    assert 0 < int(grown.stdout) < 64 << 20
