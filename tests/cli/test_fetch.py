import pytest

from edgespec.cli.fetch import progress_line
from edgespec.store import Phase, PullProgress


@pytest.mark.parametrize(
    ("phase", "done", "total", "rate", "line"),
    [
        ("download", 3 * 10**9, 9 * 10**9, None, "fetching m: 3.00 GB of 9.00 GB, 33%"),
        (
            "download",
            3 * 10**9,
            9 * 10**9,
            41e6,
            "fetching m: 3.00 GB of 9.00 GB, 33%, 41 MB/s, 2:26 left",
        ),
        ("download", 5 * 10**7, None, 1e7, "fetching m: 50 MB, 10 MB/s"),
        ("download", 2 * 10**8, 10**8, 1e7, "fetching m: 200 MB of 100 MB, 100%, 10 MB/s"),
        ("verify", 5 * 10**8, 10**9, 1e9, "checking m: 500 MB of 1.00 GB, 50%"),
    ],
)
def test_progress_line_says_what_is_known(
    phase: Phase, done: int, total: int | None, rate: float | None, line: str
) -> None:
    assert progress_line(PullProgress("m", phase, "somewhere", done, total, rate)) == line
