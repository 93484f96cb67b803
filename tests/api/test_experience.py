import json
from collections.abc import Callable
from pathlib import Path

import pytest

from edgespec.api.experience import Experience, read, write
from edgespec.api.model import LoadedModel, load
from edgespec.control.acceptance import Counts
from edgespec.drafters.arms import Bucket
from tests.api.answers import options

BUCKETS = (Bucket("rare", 0.2), Bucket("sure", 0.9))
COUNTS = Counts((3.0, 5.0), (1.0, 0.0))


def test_counts_are_read_as_they_were_written(tmp_path: Path) -> None:
    kept = tmp_path / "new" / "kept.json"
    write(kept, {"suffix": (BUCKETS, COUNTS)}, 120.0)

    found = read(kept)

    assert found.counts_of("suffix", BUCKETS) == COUNTS
    assert found.answer_tokens == 120.0
    assert list(kept.parent.iterdir()) == [kept]


def test_counts_find_their_buckets_by_name(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    write(kept, {"suffix": (BUCKETS, COUNTS)}, 120.0)
    other = (Bucket("new", 0.5), *BUCKETS[::-1])

    assert read(kept).counts_of("suffix", other) == Counts((0.0, 5.0, 3.0), (0.0, 0.0, 1.0))


def test_unknown_drafters_have_no_counts() -> None:
    assert Experience().counts_of("suffix", BUCKETS) is None


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "[]",
        "{}",
        '{"counts": {"suffix": {"sure": [1]}}, "answer_tokens": 5}',
        '{"counts": {"suffix": {"sure": [-1, 0]}}, "answer_tokens": 5}',
        '{"counts": {}, "answer_tokens": "many"}',
        '{"counts": {"suffix": {"sure": [1, 1e999]}}, "answer_tokens": 5}',
    ],
)
def test_damaged_experience_is_begun_anew(tmp_path: Path, damage: str) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text(damage)

    assert read(kept) == Experience()


def test_closing_a_model_keeps_numbers_and_no_text(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))
    with load(files["llama"], n_threads=1) as model:
        model.complete("ha ha ha ha ha ha", options(24))

    (kept,) = (tmp_path / "drafting").glob("*.json")
    found = json.loads(kept.read_text())
    assert set(found) == {"counts", "answer_tokens"}
    assert set(found["counts"]) >= {"suffix"}
    assert all(name.startswith("match") for name in found["counts"]["suffix"])


def test_answers_of_an_unmeasured_model_leave_nothing_for_the_next(
    loaded: Callable[..., LoadedModel],
) -> None:
    """A second conversation drafts and accepts as it would in a fresh process."""
    used, fresh = loaded("llama"), loaded("llama")
    used.complete("ha ha ha ha ha ha ha ha", options(40))

    replies = [model.complete("the hen and the inn; " * 4, options(40)) for model in (used, fresh)]

    assert replies[0].tokens == replies[1].tokens
    assert replies[0].stats.drafted == replies[1].stats.drafted
    assert replies[0].stats.accepted == replies[1].stats.accepted
