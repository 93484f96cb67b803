"""What planning reads of model files: headers once, and of long lists only what it compares."""

import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from edgespec.gguf.part import GgufPart
from edgespec.plan.gather import gather
from edgespec.plan.types import Asked
from tests.tinygguf import write_llama
from tests.unit.plan_world import machine


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    """A target and a draft of the same vocabulary, each with a gigabyte behind its header."""
    names = []
    for name, seed in (("target", 0), ("draft", 1)):
        path = write_llama(tmp_path / f"{name}.gguf", seed=seed)
        with path.open("r+b") as file:
            file.truncate(1 << 30)
        names.append(str(path))
    return names[0], names[1]


class Reads:
    """What is opened and read of model files, by their names."""

    def __init__(self) -> None:
        self.n_opens: Counter[str] = Counter()
        self.n_bytes: Counter[str] = Counter()

    def opened(self, path: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        """In the place of `Path.open`."""
        if path.suffix != ".gguf":
            return open(path, mode, *rest, **named)
        self.n_opens[path.name] += 1
        return io.BufferedReader(_Counted(path, self.n_bytes))


class _Counted(io.FileIO):
    def __init__(self, path: Path, n_bytes: Counter[str]) -> None:
        super().__init__(str(path))
        self._name, self._n_bytes = path.name, n_bytes

    def readinto(self, buffer: Any, /) -> int:
        n = super().readinto(buffer) or 0
        self._n_bytes[self._name] += n
        return n


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    reads = Reads()
    monkeypatch.setattr(
        Path, "open", lambda path, *rest, **named: reads.opened(path, *rest, **named)
    )
    return reads


def test_plan_of_a_pair_reads_headers_and_compares_lists(
    pair: tuple[str, str], reads: Reads
) -> None:
    gathered = gather(*pair, Asked(draft="required"), machine(), is_here=False)

    assert [draft.id for draft in gathered.request.drafts] == ["draft.gguf"]
    assert reads.n_opens == {"target.gguf": 3, "draft.gguf": 2}
    assert all(0 < n < 4 << 20 for n in reads.n_bytes.values()), reads.n_bytes
    assert reads.n_bytes.keys() == reads.n_opens.keys()


def test_plan_of_a_pair_takes_no_list_apart(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []
    monkeypatch.setattr(GgufPart, "texts", lambda _, key: taken.append(key))
    monkeypatch.setattr(GgufPart, "digest", lambda _, key: taken.append(key))

    gather(*pair, Asked(draft="required"), machine(), is_here=False)

    assert taken == []
