"""An index over its life: additions, replacements, merging, removal, caps."""

import os
import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from edgespec.errors import UsageError
from edgespec.index import store
from edgespec.index.documents import Document
from edgespec.index.folders import index_dir, names
from edgespec.index.learned import switch_learning
from edgespec.index.ready import shards_of
from edgespec.index.store import Change, Index
from tests.unit.kept_texts import FINGERPRINT, WIDE, files_of, letters, notes, retrieved, silent


def test_added_text_is_retrieved() -> None:
    notes("the quick brown fox", "nothing of interest")

    assert retrieved("a quick bro") == "wn fox"


def test_same_text_again_changes_nothing() -> None:
    index = notes("one", "two")
    before = files_of(index)

    change = index.add([Document("0.txt", "one")])

    assert change == Change(added=0, replaced=0, unchanged=1)
    assert files_of(index) == before


def test_changed_text_replaces_the_old_one() -> None:
    index = notes("the quick brown fox", "another")

    change = index.add([Document("0.txt", "the quick grey cat")])

    assert change == Change(added=0, replaced=1, unchanged=0)
    assert index.manifest.n_documents == 2
    assert retrieved("the quick ") == "grey cat"


def test_segments_are_merged_so_that_few_are_searched() -> None:
    index = Index("notes")
    for i in range(40):
        index.add([Document(f"{i}.txt", f"document {i:03} says hello {i * 7:04}")])

    sizes = [segment.n_bytes for segment in index.manifest.segments]
    assert index.manifest.n_documents == 40
    assert len(sizes) <= store.MOST_SEGMENTS
    assert all(a >= 2 * b for a, b in pairwise(sizes))
    assert retrieved("document 017 says ") == "hello 0119"


def test_merging_keeps_shards_without_tokenising_again() -> None:
    notes("the quick brown fox", "and more of it")
    retrieved("quick")
    Index("notes").add([Document("late.txt", "x" * 50)])  # merged with what is there
    asked: list[str] = []

    def counting(text: str) -> Sequence[int]:
        asked.append(text)
        return letters(text)

    for opened in shards_of(Index("notes"), FINGERPRINT, counting, silent):
        opened.close()
    retrieved("quick")
    Index("notes").add([Document("1.txt", "and a little less of it")])
    asked.clear()
    for opened in shards_of(Index("notes"), FINGERPRINT, counting, silent):
        opened.verify()
        opened.close()

    assert "the quick brown fox" not in asked
    assert retrieved("the quick ") == "brown fox"


def test_another_vocabulary_gets_shards_of_its_own() -> None:
    index = notes("the quick brown fox")
    retrieved("quick")

    for opened in shards_of(index, WIDE, lambda text: [b + 500 for b in text.encode()], silent):
        assert opened.tokens.min() == 0
        assert opened.tokens.max() > 500
        opened.close()

    assert len(list(index.folder.glob("*.shard"))) == 2


def test_ids_that_a_model_wrote_are_kept() -> None:
    index = Index("notes")
    index.add([Document("answer", "abc", ids=(7, 8, 9), fingerprint=FINGERPRINT)])

    (opened,) = shards_of(index, FINGERPRINT, letters, silent)
    (other,) = shards_of(index, WIDE, letters, silent)

    assert opened.tokens.tolist() == [8, 9, 10, 0]
    assert other.tokens.tolist() == [98, 99, 100, 0]
    opened.close()
    other.close()


def test_removed_index_leaves_nothing(home: Path) -> None:
    index = notes("only this")

    size = index.remove()

    assert size > 0
    assert not index.folder.exists()
    assert names() == ()


def test_damaged_index_can_be_removed(home: Path) -> None:
    index = notes("only this")
    (index.folder / "manifest.json").write_text("{")

    size = index.remove()

    assert size > 0
    assert not index.folder.exists()


def test_index_of_another_name_is_told_with_those_that_there_are() -> None:
    notes("x y z")

    with pytest.raises(UsageError, match="there is no index 'nots'; there are: notes"):
        Index("nots").checked()


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b", "x" * 201, "\u00e4" * 101])
def test_name_that_is_no_file_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name an index"):
        Index(name)


def test_copy_that_somebody_keeps_beside_an_index_is_none(home: Path) -> None:
    index = notes("the quick brown fox")
    for name in ("notes copy", ".notes"):
        shutil.copytree(index.folder, index.folder.with_name(name))

    assert names() == ("notes",)
    assert retrieved("quick ", wanted="auto") == "brown fox"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_everything_belongs_to_its_owner_alone_whatever_the_umask(umask: int) -> None:
    before = os.umask(umask)
    try:
        index = notes("the quick brown fox")
        retrieved("quick")
        index.add([Document("more.txt", "more of it")])
        retrieved("quick")
        switch_learning(is_on=True)
    finally:
        os.umask(before)

    found = {path: path.stat().st_mode & 0o777 for path in index_dir().rglob("*")}

    assert len(found) >= 5
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in found.items()), found
    assert index_dir().stat().st_mode & 0o777 == 0o700


def test_cap_refuses_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_BYTES", 100)
    index = notes("a" * 60)

    with pytest.raises(UsageError, match="of at most"):
        index.add([Document("big.txt", "b" * 60)])

    assert index.manifest.n_documents == 1
    assert retrieved("aaaa") != ""


def test_cap_drops_the_oldest_where_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_BYTES", 100)
    index = notes("a" * 60)

    index.add([Document("new.txt", "b" * 60)], drops_oldest=True)

    assert [e.path for s in index.manifest.segments for e in s.entries] == ["new.txt"]
