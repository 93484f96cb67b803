"""Measured times on the disk: there whole, or as they were."""

from pathlib import Path

from edgespec.api.samples import Samples, read, write

SAMPLES = Samples(
    {1: (0.05, 0.051), 4: (0.08,)}, draft_s=0.01, read_s=0.002, files=(("a.gguf", 9),)
)


def test_samples_come_back_as_they_were(tmp_path: Path) -> None:
    kept = tmp_path / "pace" / "pair.json"

    write(kept, SAMPLES, SAMPLES.files)

    assert read(kept) == SAMPLES
    assert [file.name for file in kept.parent.iterdir()] == ["pair.json"]


def test_samples_that_cannot_be_written_leave_nothing_behind(tmp_path: Path) -> None:
    kept = tmp_path / "pair.json"
    kept.mkdir()  # nothing can take its place

    write(kept, SAMPLES, SAMPLES.files)

    assert list(tmp_path.iterdir()) == [kept]
    assert read(kept) == Samples()
