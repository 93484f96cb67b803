"""What is retrieved for a context, over several shards and many places."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from edgespec.core import Tokens
from edgespec.index import shard
from edgespec.index.retrieve import Retriever, Said
from edgespec.index.shard import Shard
from edgespec.index.suffix_array import DEPTH
from tests.fakes import ListRetriever

FINGERPRINT = bytes(32)
Make = Callable[..., Retriever]


@pytest.fixture
def retriever(tmp_path: Path) -> Iterator[Make]:
    opened: list[Retriever] = []

    def make(*shards: list[list[int]]) -> Retriever:
        made = []
        for i, documents in enumerate(shards):
            path = tmp_path / f"{i}.shard"
            shard.write(path, shard.stored(documents), FINGERPRINT)
            made.append(Shard(path, FINGERPRINT))
        opened.append(Retriever(made))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def context(*tokens: int) -> Tokens:
    return np.array(tokens, np.int32)


def test_continuation_of_the_longest_match_is_retrieved(retriever: Make) -> None:
    found = retriever([[1, 2, 3, 4, 5, 6], [9, 2, 3, 4, 8]]).retrieve(context(7, 1, 2, 3, 4))

    assert (found.tokens(5), found.match) == ((5, 6), 4)


def test_majority_decides_at_every_depth(retriever: Make) -> None:
    documents = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 6], [1, 2, 3, 7, 8], [1, 2, 3, 4, 6]]

    found = retriever(documents).retrieve(context(1, 2, 3))

    assert list(found) == [Said(4, 3, 4), Said(6, 2, 3)]


def test_draft_ends_where_most_documents_end(retriever: Make) -> None:
    found = retriever([[1, 2, 3, 4], [1, 2, 3], [1, 2, 3]]).retrieve(context(1, 2, 3))

    assert found.tokens(4) == ()
    assert found.match == 3


def test_longer_match_of_another_shard_wins(retriever: Make) -> None:
    found = retriever([[2, 3, 4, 5]], [[1, 2, 3, 4, 6]]).retrieve(context(1, 2, 3, 4))

    assert (found.tokens(3), found.match) == ((6,), 4)


def test_equal_matches_of_all_shards_vote_together(retriever: Make) -> None:
    one = [[1, 2, 3, 5]]

    found = retriever([[1, 2, 3, 4]], one, one).retrieve(context(1, 2, 3))

    assert list(found) == [Said(5, 2, 3)]


def test_match_of_two_tokens_says_nothing(retriever: Make) -> None:
    found = retriever([[1, 2, 3]]).retrieve(context(8, 1, 2))

    assert (found.tokens(4), found.match) == ((), 0)


def test_search_goes_on_as_if_it_were_the_first(retriever: Make) -> None:
    rng = np.random.default_rng(5)
    documents = [rng.integers(0, 3, 200).tolist() for _ in range(3)]
    whole = rng.integers(0, 3, 120).astype(np.int32)
    going_on = retriever(documents)

    ends = [3, 4, 5, 9, 9, 40, 39, 60, 5, 119, 120]
    read = [_read(going_on, whole[:n]) for n in ends]

    assert read == [_read(retriever(documents), whole[:n]) for n in ends]


def test_another_context_of_that_length_is_searched_for_anew(retriever: Make) -> None:
    documents = [[1, 2, 3, 4, 5, 6, 7, 8]]
    made = retriever(documents)

    matches = [
        made.retrieve(context(*tokens)).match
        for tokens in ([9, 9, 9, 9], [2, 3, 4, 5, 6], [9, 9, 4, 5, 6], [2, 3, 4, 5, 6, 7])
    ]

    assert matches == [0, 5, 3, 6]


@pytest.mark.parametrize("seed", range(4))
def test_conversation_is_answered_at_each_token_as_if_it_were_the_first(
    retriever: Make, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    documents = [rng.integers(0, 4, 300).tolist() for _ in range(3)]
    parts = [[*documents[i % 3][20 * i : 20 * i + 15], *rng.integers(0, 4, 6)] for i in range(8)]
    whole = np.array([token for part in parts for token in part], np.int32)
    going_on, anew = retriever(documents), retriever(documents)

    for n in range(1, len(whole) + 1, int(rng.integers(1, 4))):
        anew.restart()

        assert _read(going_on, whole[:n]) == _read(anew, whole[:n])


def _read(retriever: Retriever, context: Tokens) -> tuple[int, list[Said]]:
    found = retriever.retrieve(context)
    return found.match, list(found)


@pytest.mark.parametrize("seed", range(12))
def test_answer_is_that_of_a_search_by_hand(retriever: Make, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_words = int(rng.integers(2, 6))
    documents = [rng.integers(0, n_words, int(rng.integers(5, 400))).tolist() for _ in range(4)]
    whole = np.concatenate([rng.integers(0, n_words, 30), documents[0][:200]]).astype(np.int32)
    made = retriever(documents)

    for n in rng.integers(3, len(whole), 40):
        found, by_hand = made.retrieve(whole[:n]), ListRetriever(*documents).retrieve(whole[:n])

        assert found.match == min(by_hand.match, DEPTH)
        if found.match == by_hand.match and len(list(by_hand)[:1]):
            mine, theirs = list(islice(found, 40)), list(islice(by_hand, 40))
            if mine and theirs[0].n_of <= 16:  # every place has its vote
                assert [(said.n_for, said.n_of) for said in mine[:1]] == [
                    (said.n_for, said.n_of) for said in theirs[:1]
                ]
            if theirs[0].n_of == 1:
                assert mine == theirs
