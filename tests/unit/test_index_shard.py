"""Suffix arrays and shards against searching by hand."""

import os
import resource
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.errors import IndexFault
from edgespec.index import shard
from edgespec.index.shard import Shard
from edgespec.index.suffix_array import DEPTH, suffix_array

FINGERPRINT = bytes(range(32))
TOKENS = st.lists(st.integers(0, 2), max_size=40)


def as_bytes(context: list[int]) -> bytes:
    return (np.array(context, np.uint32) + 1).astype(">u4").tobytes()


def written(path: Path, *documents: list[int]) -> Shard:
    shard.write(path, shard.stored(documents), FINGERPRINT)
    return Shard(path, FINGERPRINT)


def occurrences(documents: list[list[int]], wanted: list[int]) -> list[list[int]]:
    """What follows each place where `wanted` stands."""
    n = len(wanted)
    return [
        document[i + n :]
        for document in documents
        for i in range(len(document) - n + 1)
        if document[i : i + n] == wanted
    ]


@given(st.lists(st.integers(1, 3), max_size=120))
def test_suffix_array_is_in_order(tokens: list[int]) -> None:
    stored = np.array(tokens, np.uint32)

    order = suffix_array(stored)

    assert sorted(order.tolist()) == list(range(len(tokens)))
    read = [tokens[i : i + DEPTH] for i in order]
    assert read == sorted(read)


def test_suffix_array_of_one_repeated_token_ends() -> None:
    order = suffix_array(np.full(5000, 7, np.uint32))

    assert sorted(order.tolist()) == list(range(5000))


@settings(max_examples=150)
@given(st.lists(TOKENS, max_size=4), TOKENS, st.integers(1, 4), st.none() | st.integers(0, 9))
def test_longest_match_is_that_of_a_search_by_hand(
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[list[int]],
    context: list[int],
    least: int,
    slack: int | None,
) -> None:
    path = tmp_path_factory.getbasetemp() / "by-hand.shard"
    lengths = range(least, len(context) + 1)
    known = [n for n in lengths if occurrences(documents, context[len(context) - n :])]

    with written(path, *documents) as opened:
        bound = None if slack is None else max(known, default=least - 1) + slack
        found = opened.longest(as_bytes(context), least, bound)

        assert found.length == max(known, default=0)
        if known:
            places = occurrences(documents, context[len(context) - found.length :])
            assert found.end - found.first == len(places)
            rows = [[*opened.read(start, 3)] for start in opened.ends(found, 1000)]
            read = sorted(_until_separator(row) for row in rows)
            assert read == sorted(place[:3] for place in places)


@pytest.mark.parametrize("seed", range(6))
def test_places_among_thousands_are_those_of_a_search_by_hand(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    documents = [rng.choice(4, 1500, p=(0.7, 0.1, 0.1, 0.1)).tolist() for _ in range(2)]

    with written(tmp_path / "a.shard", *documents) as opened:
        for _ in range(60):
            at, n = int(rng.integers(0, 1400)), int(rng.integers(3, 24))
            context = [*rng.integers(0, 4, 4).tolist(), *documents[0][at : at + n]]

            found = opened.longest(as_bytes(context), 3)

            places = occurrences(documents, context[len(context) - found.length :])
            assert not occurrences(documents, context[len(context) - found.length - 1 :]) or (
                found.length == len(context)
            )
            assert n <= found.length
            assert found.end - found.first == len(places)
            rows = [[*opened.read(start, 1)] for start in opened.ends(found, 5000)]
            read = sorted(_until_separator(row) for row in rows)
            assert read == sorted(place[:1] for place in places)


def _until_separator(row: list[int]) -> list[int]:
    n = row.index(0) if 0 in row else len(row)
    return [token - 1 for token in row[:n]]


def test_match_never_crosses_documents(tmp_path: Path) -> None:
    with written(tmp_path / "a.shard", [1, 2, 3], [4, 5, 6]) as opened:
        assert opened.longest(as_bytes([3, 4]), 2).length == 0
        assert opened.longest(as_bytes([2, 3]), 2).length == 2


def test_shard_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    written(tmp_path / "a.shard", [1, 2, 3]).close()

    assert (tmp_path / "a.shard").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["a.shard"]


@pytest.mark.parametrize("n_bytes", [0, 20, 127, 128, 140, 175])
def test_shard_cut_short_is_refused(tmp_path: Path, n_bytes: int) -> None:
    path = tmp_path / "a.shard"
    written(path, [1, 2, 3, 4]).close()
    whole = path.read_bytes()
    assert len(whole) == 176
    path.write_bytes(whole[:n_bytes])

    with pytest.raises(IndexFault):
        Shard(path, FINGERPRINT)


def test_shard_of_another_vocabulary_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "a.shard", [1, 2, 3]).close()

    with pytest.raises(IndexFault, match="built for another vocabulary"):
        Shard(tmp_path / "a.shard", bytes(32))


def test_shard_with_a_flipped_bit_fails_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.shard"
    written(path, [1, 2, 3]).close()
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)

    with Shard(path, FINGERPRINT) as opened, pytest.raises(IndexFault, match="damaged"):
        opened.verify()


def test_shard_that_was_not_touched_passes(tmp_path: Path) -> None:
    with written(tmp_path / "a.shard", [1, 2, 3], []) as opened:
        opened.verify()

        assert len(opened) == 5


def test_empty_shard_finds_nothing(tmp_path: Path) -> None:
    shard.write(tmp_path / "a.shard", shard.stored([]), FINGERPRINT)

    with Shard(tmp_path / "a.shard", FINGERPRINT) as opened:
        assert opened.longest(as_bytes([1, 2, 3]), 2).length == 0


def test_full_disk_leaves_the_old_shard(tmp_path: Path) -> None:
    path = tmp_path / "a.shard"
    written(path, [1, 2, 3]).close()
    before = path.read_bytes()
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (shard.HEADER, most))

    try:
        with pytest.raises(OSError, match="too large"):
            shard.write(path, shard.stored([[9, 9]]), FINGERPRINT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_fingerprint_of_a_shard_that_went_says_so(tmp_path: Path) -> None:
    with pytest.raises(IndexFault, match=r"gone\.shard cannot be read: No such file"):
        shard.fingerprint_of(tmp_path / "gone.shard")
