"""An index that is to forget, that is damaged, or that another process changes."""

import errno
import json
import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from edgespec.errors import IndexFault, UsageError
from edgespec.index import segments
from edgespec.index.documents import Document
from edgespec.index.health import mend, verify
from edgespec.index.manifest import read_manifest
from edgespec.index.store import Index
from tests.unit.kept_texts import files_of, letters, notes, retrieved


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


@pytest.mark.parametrize(
    "damage",
    ["[" * 5000]
    + [
        json.dumps({"schema": 1, "next_number": 2, "segments": [{"number": 1, "entries": [entry]}]})
        for entry in (
            {"path": ["a"], "sha256": "0", "n_bytes": 1},
            {"path": "a", "sha256": None, "n_bytes": 1},
            {"path": "a", "sha256": "0", "n_bytes": "1"},
            {"path": "a", "sha256": "0", "n_bytes": 1, "more": 1},
        )
    ],
)
def test_list_of_documents_that_is_none_is_told_and_removable(damage: str) -> None:
    index = notes("the quick brown fox")
    (index.folder / "manifest.json").write_text(damage)

    (told,) = verify(index)
    assert "is damaged" in told
    with pytest.raises(IndexFault, match="is damaged"):
        index.add([Document("more.txt", "more")])
    assert retrieved("quick ", wanted="auto") == ""
    assert index.remove() > 0


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
