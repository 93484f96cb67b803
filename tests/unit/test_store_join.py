import dataclasses
from pathlib import Path

import pytest

from edgespec.models.spec import ModelSpec, PackageSource
from edgespec.store.job import Job, SourceFailed, disk_free
from edgespec.store.join import join
from edgespec.store.progress import ignore
from tests.unit.wheels import content, spec_of, write_parts, write_wheel

DATA = content(5_000_000)
SPEC = spec_of(DATA)


def _join(folder: Path, spec: ModelSpec, wheels: list[Path]) -> Path:
    (source,) = spec.sources
    assert isinstance(source, PackageSource)
    return join(source.parts, wheels, Job(spec, folder, ignore, disk_free))


def _left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_join_puts_the_pieces_together_in_order(tmp_path: Path) -> None:
    spec = spec_of(DATA, 3)

    path = _join(tmp_path, spec, write_parts(tmp_path, DATA, 3))

    assert path == tmp_path / "tiny.gguf"
    assert path.read_bytes() == DATA


def test_join_refuses_pieces_in_another_order(tmp_path: Path) -> None:
    wheels = write_parts(tmp_path, DATA)
    write_wheel(tmp_path, "tiny-part1", DATA[len(DATA) // 2 :])
    write_wheel(tmp_path, "tiny-part2", DATA[: len(DATA) // 2])

    with pytest.raises(SourceFailed, match="instead of the pinned"):
        _join(tmp_path, SPEC, wheels)


@pytest.mark.parametrize(
    ("pinned", "complaint"),
    [
        ({"sha256": "0" * 64}, "instead of the pinned 000000"),
        ({"size_bytes": 5_000_001}, "has 5,000,000 bytes instead of the pinned 5,000,001"),
        ({"size_bytes": 4_999_999}, "is larger than the pinned 4,999,999 bytes"),
    ],
)
def test_join_removes_what_is_not_the_pinned_file(
    pinned: dict[str, object], complaint: str, tmp_path: Path
) -> None:
    wheels = write_parts(tmp_path, DATA)
    spec = dataclasses.replace(SPEC, **pinned)  # type: ignore[arg-type]

    with pytest.raises(SourceFailed) as caught:
        _join(tmp_path, spec, wheels)

    assert complaint in caught.value.reason
    assert "so it was removed" in caught.value.reason
    assert _left(tmp_path) == []


def test_join_stops_writing_past_the_pinned_size(tmp_path: Path) -> None:
    wheels = write_parts(tmp_path, DATA)
    spec = dataclasses.replace(SPEC, size_bytes=1_000)

    with pytest.raises(SourceFailed, match="larger than the pinned 1,000 bytes"):
        _join(tmp_path, spec, wheels)


def test_join_removes_only_the_damaged_wheel(tmp_path: Path) -> None:
    wheels = write_parts(tmp_path, DATA)
    wheels[1].write_bytes(wheels[1].read_bytes()[:1_000_000])

    with pytest.raises(SourceFailed, match=r"wheel of tiny-part2==1\.0 was damaged") as caught:
        _join(tmp_path, SPEC, wheels)

    assert "fetches that part only" in caught.value.hint
    assert _left(tmp_path) == [wheels[0].name]


def test_join_names_the_wheel_without_the_piece(tmp_path: Path) -> None:
    wheels = write_parts(tmp_path, DATA)
    write_wheel(tmp_path, "tiny-part2", b"", member="other")

    with pytest.raises(SourceFailed, match=r"tiny-part2==1\.0 holds no tiny_part2/data/part"):
        _join(tmp_path, SPEC, wheels)
