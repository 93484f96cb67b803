"""Energy counters, from a folder that looks like the system's."""

from pathlib import Path

from edgespec.bench.energy import Rapl


def zone(folder: Path, name: str, energy_uj: int, range_uj: int = 1_000_000) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / "max_energy_range_uj").write_text(str(range_uj))
    (place / "energy_uj").write_text(str(energy_uj))
    return place / "energy_uj"


def test_energy_is_the_sum_over_packages_without_their_parts(tmp_path: Path) -> None:
    first = zone(tmp_path, "intel-rapl:0", 100_000)
    second = zone(tmp_path, "intel-rapl:1", 200_000)
    part = zone(tmp_path, "intel-rapl:0:0", 0)
    rapl = Rapl(tmp_path)

    first.write_text("600000")
    second.write_text("300000")
    part.write_text("999999")

    assert rapl() == 0.6


def test_the_whole_machines_counter_is_not_added_to_its_packages(tmp_path: Path) -> None:
    package = zone(tmp_path, "intel-rapl:0", 100_000)
    whole = zone(tmp_path, "intel-rapl:1", 100_000)
    (package.parent / "name").write_text("package-0\n")
    (whole.parent / "name").write_text("psys\n")
    rapl = Rapl(tmp_path)

    package.write_text("600000")
    whole.write_text("999999")

    assert rapl() == 0.5


def test_counter_that_starts_over_loses_nothing(tmp_path: Path) -> None:
    counter = zone(tmp_path, "intel-rapl:0", 900_000)
    rapl = Rapl(tmp_path)

    counter.write_text("100000")

    assert rapl() == 0.2


def test_machine_without_counters_says_so(tmp_path: Path) -> None:
    rapl = Rapl(tmp_path / "nothing")

    assert rapl() is None
    assert "reports no energy" in rapl.reason


def test_counter_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", 0).unlink()

    rapl = Rapl(tmp_path)

    assert rapl() is None
    assert "root only" in rapl.reason
