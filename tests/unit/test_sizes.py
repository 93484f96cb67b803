import pytest

from edgespec.sizes import gibibytes, gigabytes


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (98_362_432, "98 MB"),
        (1_117_320_768, "1.12 GB"),
        (1_500_000, "1.5 MB"),
        (4_096, "4 kB"),
        (7, "7 bytes"),
    ],
)
def test_gigabytes_is_short(size_bytes: int, text: str) -> None:
    assert gigabytes(size_bytes) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"), [(327_155_712, "312 MiB"), (2**30, "1.0 GiB"), (0, "0 MiB")]
)
def test_gibibytes_are_powers_of_1024(size_bytes: int, text: str) -> None:
    assert gibibytes(size_bytes) == text
