"""An index over its life: additions, replacements, merging, forgetting, damage."""

import errno
import gzip
import multiprocessing
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from edgespec.errors import IndexFault, UsageError
from edgespec.index import segments, store
from edgespec.index.documents import Document
from edgespec.index.folders import index_dir, names
from edgespec.index.health import mend, verify
from edgespec.index.learned import switch_learning
from edgespec.index.manifest import read_manifest
from edgespec.index.ready import retriever, shards_of
from edgespec.index.store import Change, Index

FINGERPRINT = "ab" * 32
WIDE = "cd" * 32


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))
    return tmp_path


def letters(text: str) -> list[int]:
    """A tokenizer of bytes."""
    return list(text.encode())


def silent(phase: str, share: float) -> None:
    """Nobody listens."""


def retrieved(text: str, k: int = 20, wanted: str = "notes") -> str:
    """What follows `text` in an index."""
    found = retriever(wanted, FINGERPRINT, letters, silent)
    try:
        tokens = found.retrieve(np.array(letters(text), np.int32)).tokens(k)
    finally:
        found.close()
    return bytes(tokens).decode()


def notes(*texts: str) -> Index:
    index = Index("notes")
    index.add([Document(f"{i}.txt", text) for i, text in enumerate(texts)])
    return index


def files_of(index: Index) -> dict[str, bytes]:
    """Every file, unpacked."""
    read = {file.name: file.read_bytes() for file in index.folder.iterdir()}
    return {
        name: gzip.decompress(raw) if name.endswith(".texts") else raw for name, raw in read.items()
    }


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


def test_forgotten_text_leaves_no_byte() -> None:
    index = notes("my secret is 4711 indeed", "harmless words", "also 4711 here")
    retrieved("harmless")
    ids = np.array(letters("4711"), np.uint32) + 1

    gone = index.forget("4711")

    assert gone == ("0.txt", "2.txt")
    assert retrieved("harmless w") == "ords"
    for name, raw in files_of(index).items():
        assert b"4711" not in raw, name
        assert b"secret" not in raw, name
        assert ids.astype(">u4").tobytes() not in raw, name
        assert ids.astype("<u4").tobytes() not in raw, name


def test_forgetting_everything_leaves_an_empty_index() -> None:
    index = notes("only this")

    index.forget("only")

    assert index.manifest.n_documents == 0
    assert sorted(files_of(index)) == ["manifest.json"]
    assert retrieved("only") == ""


def test_forgetting_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="an empty text"):
        notes("only this").forget("")


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


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b"])
def test_name_that_is_no_file_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name an index"):
        Index(name)


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


def test_full_disk_is_told_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    index = notes("the quick brown fox")
    before = files_of(index)

    def full(path: Path, documents: object) -> None:
        path.with_name(path.name + ".partial").write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(segments, "write_texts", full)
    with pytest.raises(IndexFault, match="No space left") as told:
        index.add([Document("more.txt", "more")])

    assert "the index is as it was" in told.value.hint
    assert {n: raw for n, raw in files_of(index).items() if ".partial" not in n} == before
    assert retrieved("the quick ") == "brown fox"


def test_what_a_killed_process_left_is_swept_away() -> None:
    index = notes("one two three")
    (index.folder / "000099.texts").write_bytes(b"orphan")
    (index.folder / "000098-abcd.shard.partial").write_bytes(b"half")

    index.add([Document("more.txt", "more")])

    assert not list(index.folder.glob("00009*"))


def test_shard_of_a_killed_change_is_not_taken_for_a_later_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = notes("the first of them", "a second one")
    retrieved("first")

    def killed(self: Index, manifest: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Index, "_commit", killed)
        with pytest.raises(KeyboardInterrupt):
            index.forget("second")
    index.add([Document("new.txt", "nothing like what was there before, and longer")])

    assert retrieved("like what ") == "was there before, an"
    assert retrieved("the fir") == "st of them"


def test_reader_finds_its_shards_though_another_process_merges_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = notes("the quick brown fox")
    retrieved("quick")
    before = index.manifest
    index.add([Document("more.txt", "the lazy dog sleeps")])
    retrieved("lazy")
    read = iter([before])

    monkeypatch.setattr(
        "edgespec.index.store.read_manifest", lambda path: next(read, None) or read_manifest(path)
    )

    assert retrieved("the quick ") == "brown fox"


def test_forgetting_says_when_another_program_keeps_a_file_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = notes("my secret is 4711 indeed", "harmless words")

    def busy(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "used by another process")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", busy)
        with pytest.raises(IndexFault, match="still in use") as told:
            index.forget("4711")
    again = index.forget("4711")

    assert "forget again" in told.value.hint
    assert again == ()
    assert not any(b"4711" in raw for raw in files_of(index).values())


def test_damaged_shard_is_built_anew() -> None:
    index = notes("the quick brown fox")
    retrieved("quick")
    (path,) = index.folder.glob("*.shard")
    path.write_bytes(path.read_bytes()[:-3])

    assert retrieved("the quick ") == "brown fox"


def test_flipped_bit_is_found_and_mended() -> None:
    index = notes("the quick brown fox")
    retrieved("quick")
    (path,) = index.folder.glob("*.shard")
    raw = bytearray(path.read_bytes())
    raw[140] ^= 1
    path.write_bytes(raw)

    told = verify(index)
    mended = mend(index)

    assert len(told) == 1
    assert "damaged" in told[0]
    assert mended == 1
    assert verify(index) == []
    assert retrieved("the quick ") == "brown fox"


def test_damaged_texts_are_told() -> None:
    index = notes("the quick brown fox")
    (path,) = index.folder.glob("*.texts")
    path.write_bytes(path.read_bytes()[:-9])

    told = verify(index)

    assert len(told) == 1
    assert "000001.texts is damaged" in told[0]


def test_damaged_index_is_left_out_of_all_and_refused_by_name() -> None:
    notes("the quick brown fox")
    other = Index("other")
    other.add([Document("a", "hello world out there")])
    (other.folder / "manifest.json").write_text("{")

    assert retrieved("the quick ", wanted="auto") == "brown fox"
    with pytest.raises(IndexFault, match="is damaged"):
        retrieved("hello", wanted="other")


def test_two_processes_add_at_once() -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_add_some, args=(os.getpid(), i)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    index = Index("notes")
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert index.manifest.n_documents == 20
    assert verify(index) == []


def _add_some(_: int, which: int) -> None:
    for i in range(10):
        Index("notes").add([Document(f"{which}-{i}", f"text {i} of process {which}")])
