"""Short runs of each fuzzer; the long ones are commands, each named in its module's first line."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.anatomy import Anatomy, mutated
from tests.fuzz.campaign import campaign
from tests.fuzz.looking import refusal, write_hollow
from tests.fuzz.originals import WRITERS, originals


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> list[Anatomy]:
    return originals(tmp_path_factory.mktemp("originals"))


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "m.gguf"


def test_file_put_together_again_is_the_same(tmp_path: Path, sound: list[Anatomy]) -> None:
    for write, anatomy in zip(WRITERS, sound, strict=True):
        assert anatomy.build() == write(tmp_path / "m.gguf").read_bytes()


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(which=st.integers(0, len(WRITERS) - 1), rng=st.randoms(use_true_random=False))
def test_file_with_changed_fields_is_read_or_refused(
    sound: list[Anatomy], victim: Path, which: int, rng: random.Random
) -> None:
    write_hollow(victim, *mutated(sound[which], rng).hollow())

    error = refusal(victim)

    assert error is None or (error.message.isprintable() and error.hint)


def test_short_campaign_finds_no_crash_no_hang_no_growth(tmp_path: Path) -> None:
    tally = campaign(400, 0, tmp_path)

    assert tally.faults == []
    assert tally.is_clean
    assert 0 < tally.n_accepted < tally.n


def test_llama_cpp_survives_what_the_reader_accepts() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.native", "-n", "40"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "'used'" in done.stdout
