import io
from typing import Any

import pytest

from edgespec.cli.fetch import Shown, progress_line
from edgespec.cli.render import Screen
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
        ("download", 9 * 10**7, 10**8, 3e6, "fetching m: 90 MB of 100 MB, 90%, 3.0 MB/s, 3 s left"),
        ("download", 5 * 10**7, None, 1e7, "fetching m: 50 MB, 10 MB/s"),
        ("download", 2 * 10**8, 10**8, 1e7, "fetching m: 200 MB of 100 MB, 100%, 10 MB/s"),
        ("download", 0, 10**8, None, "fetching m: 0 bytes of 100 MB, 0%"),
        ("wait", 0, 10**8, None, "waiting for another process that fetches m"),
        ("verify", 5 * 10**8, 10**9, 1e9, "checking m: 500 MB of 1.00 GB, 50%"),
    ],
)
def test_progress_line_says_what_is_known(
    phase: Phase, done: int, total: int | None, rate: float | None, line: str
) -> None:
    assert progress_line(PullProgress("m", phase, "somewhere", done, total, rate)) == line


def test_progress_line_says_that_nothing_comes() -> None:
    state = PullProgress("m", "download", "somewhere", 5 * 10**7, 10**8, 1e6, stalled_s=12.3)

    assert progress_line(state) == "fetching m: 50 MB of 100 MB, 50%, no data for 12 s"


def _logged(*states: PullProgress) -> list[str]:
    """What goes to a log, line by line."""
    err = io.StringIO()
    shown = Shown(Screen(io.StringIO(), err))
    for state in states:
        shown(state)
    return err.getvalue().splitlines()


def _state(done_bytes: int, **more: Any) -> PullProgress:
    return PullProgress("m", "download", "a hub", done_bytes, 100, **{"bytes_per_s": None, **more})


def test_log_has_a_line_per_tenth() -> None:
    assert _logged(_state(0), *(_state(done, bytes_per_s=5.0) for done in (9, 10, 19, 100))) == [
        "fetching m (100 bytes) from a hub",
        "10 %",
        "100 %",
    ]


@pytest.mark.parametrize("first", [(), (0,)])
def test_log_says_where_a_pull_goes_on(first: tuple[int, ...]) -> None:
    asking = [_state(done_bytes) for done_bytes in first]  # before anybody knows what was kept

    assert _logged(*asking, _state(45), _state(50)) == [
        "fetching m (100 bytes) from a hub",
        "going on after 45 bytes",
        "50 %",
    ]


def test_log_says_once_per_stall_that_nothing_comes() -> None:
    stalled = _state(5, stalled_s=6.0), _state(5, stalled_s=7.0)

    assert _logged(_state(5), *stalled, _state(6), *stalled)[2:] == ["no data for 6 s"] * 2


def test_log_says_once_whom_a_pull_waits_for() -> None:
    waiting = PullProgress("m", "wait", "another process", 0, 100, None)

    assert _logged(waiting, waiting, _state(0)) == [
        "waiting for another process that fetches m",
        "fetching m (100 bytes) from a hub",
    ]


def test_log_has_each_note_once() -> None:
    noted = _state(5, note="it answers with status 503: try 2 of 5 in 1 s")

    assert _logged(_state(5), noted, noted, _state(6))[2:] == [noted.note]
