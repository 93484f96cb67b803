import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgespec.api import pace
from edgespec.api.files import find_files
from edgespec.api.load import Loaded, load_pair
from edgespec.core import Tokens
from edgespec.costs import UNMEASURED
from tests.tinygguf import write_llama


def loaded_pair(target: Path, draft: Path | None, n_ctx: int | None = None) -> Loaded:
    files = find_files(target, draft, "auto")
    return load_pair(files, n_ctx=n_ctx, n_threads=1, progress=lambda phase, share: None)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is remembered here yet."""
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path / "pace-home"))
    return tmp_path / "pace-home"


@pytest.fixture
def pair(home: Path, files: dict[str, Path]) -> Iterator[Loaded]:
    loaded = loaded_pair(files["llama"], files["draft"])
    yield loaded
    loaded.close()


def ticking() -> Callable[[], float]:
    """A clock on which every pass takes ten milliseconds."""
    return itertools.count(0.0, 0.01).__next__


def kept_files(home: Path) -> list[Path]:
    return list(home.rglob("pace/*.json"))


def test_first_load_measures_every_size_and_the_draft(pair: Loaded) -> None:
    shares: list[float] = []

    costs = pace.measured(pair, shares.append, ticking())

    assert set(costs.target.rows) == set(pace.ROWS)
    assert all(seconds > 0 for seconds in costs.target.seconds)
    assert costs.draft_s is not None
    assert costs.read_s is not None
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_later_loads_remember(pair: Loaded) -> None:
    first = pace.measured(pair, lambda share: None, ticking())
    shares: list[float] = []

    second = pace.measured(pair, shares.append, ticking())

    assert second == first
    assert shares == []


def test_room_for_more_context_is_no_other_pace(tmp_path: Path, home: Path) -> None:
    target = write_llama(tmp_path / "long.gguf", n_ctx=8192)
    for n_ctx in (2048, 4096, 8192):
        loaded = loaded_pair(target, None, n_ctx)

        pace.measured(loaded, lambda share: None, ticking())
        loaded.close()

    assert len(kept_files(home)) == 1


def test_context_too_short_to_measure_in_is_another_pace(
    pair: Loaded, home: Path, files: dict[str, Path]
) -> None:
    pace.measured(pair, lambda share: None, ticking())
    short = loaded_pair(files["llama"], files["draft"], 256)

    pace.measured(short, lambda share: None, ticking())
    short.close()

    assert len(kept_files(home)) == 2


def test_what_a_busy_machine_measured_is_used_but_not_remembered(pair: Loaded, home: Path) -> None:
    restless = (0.0001 * t * t for t in itertools.count(1.0))

    costs = pace.measured(pair, lambda share: None, restless.__next__)

    assert costs.target.rows[0] == 1
    assert kept_files(home) == []


def test_a_bad_moment_is_mended_by_the_next_load(pair: Loaded) -> None:
    """A load that was held up throughout looks quiet; the next one finds plain steps cheaper."""
    pace.measured(pair, lambda share: None, itertools.count(0.0, 0.7).__next__)

    mended = pace.measured(pair, lambda share: None, itertools.count(0.0, 0.01).__next__)

    assert mended.target.plain_s == pytest.approx(0.01)
    assert max(mended.target.seconds) == pytest.approx(0.01)
    assert mended.draft_s == pytest.approx(0.01)


def test_a_slow_model_is_measured_at_the_telling_sizes_only(pair: Loaded) -> None:
    slow = itertools.count(0.0, 30.0)

    costs = pace.measured(pair, lambda share: None, slow.__next__)

    assert costs.target.rows == (1, 4, 16)


def test_next_load_measures_what_the_time_did_not_suffice_for(pair: Loaded) -> None:
    pace.measured(pair, lambda share: None, itertools.count(0.0, 0.15).__next__)

    first = pace.measured(pair, lambda share: None, itertools.count(0.0, 0.15).__next__)
    for _ in range(40):
        last = pace.measured(pair, lambda share: None, itertools.count(0.0, 0.15).__next__)

    assert len(first.target.rows) < len(pace.ROWS)
    assert set(last.target.rows) == set(pace.ROWS)


def test_one_load_spends_about_two_seconds(pair: Loaded) -> None:
    clock = itertools.count(0.0, 0.01)

    pace.measured(pair, lambda share: None, clock.__next__)

    assert next(clock) < 2.5


def test_pass_is_timed_with_its_rows_fetched_behind_a_real_context(pair: Loaded) -> None:
    seen: list[tuple[int, int]] = []

    class Watched:
        n_ctx, n_vocab, max_logits = 2048, 100, 64

        def forward(self, tokens: Tokens, *, n_logits: int) -> list[list[float]]:
            seen.append((len(tokens), n_logits))
            return [[0.0]] * n_logits

    pace._pass_s(Watched(), 500, 4, lambda: 0.0)  # type: ignore[arg-type]

    assert seen == [(500, 0), (504, 4)]


def test_another_pair_is_measured_for_itself(
    pair: Loaded, files: dict[str, Path], home: Path
) -> None:
    pace.measured(pair, lambda share: None, ticking())
    alone = loaded_pair(files["llama"], None)

    costs = pace.measured(alone, lambda share: None, ticking())
    alone.close()

    assert costs.draft_s is None
    assert len(kept_files(home)) == 2


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{}",
        "[1, 2]",
        '{"seconds": {}, "draft_s": null, "read_s": null}',
        '{"seconds": {"2": [0.1]}, "draft_s": null, "read_s": null}',
        '{"seconds": {"1": [0.1], "4": ["0.2"]}, "draft_s": null, "read_s": null}',
        '{"seconds": {"1": [0.1], "4": []}, "draft_s": null, "read_s": null}',
        '{"seconds": {"1": [0.1], "4": [0.0]}, "draft_s": null, "read_s": null}',
        '{"seconds": {"1": [0.1], "x": [0.2]}, "draft_s": null, "read_s": null}',
        '{"seconds": {"1": [0.1]}, "draft_s": -1.0, "read_s": null}',
    ],
)
def test_a_damaged_memory_is_measured_anew(pair: Loaded, home: Path, damage: str) -> None:
    pace.measured(pair, lambda share: None, ticking())
    (kept,) = kept_files(home)
    kept.write_text(damage)

    costs = pace.measured(pair, lambda share: None, ticking())

    assert costs.target.rows[0] == 1
    assert kept.read_text() != damage


def test_a_home_that_cannot_be_written_costs_no_load(pair: Loaded, home: Path) -> None:
    (home / "cache").mkdir(parents=True, exist_ok=True)
    (home / "cache" / "pace").write_text("a file where the folder should be")

    assert pace.measured(pair, lambda share: None, ticking()).target.rows[0] == 1


def test_unmeasured_costs_are_the_same_everywhere(pair: Loaded) -> None:
    costs = pace.typical(pair)

    assert not costs.is_live
    assert costs.target.measured == UNMEASURED
    assert costs.draft is not None
