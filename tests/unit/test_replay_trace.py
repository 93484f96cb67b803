from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgespec.control.costs import Measured
from edgespec.costs import PassCosts
from edgespec.errors import UsageError
from edgespec.replay.record import proposals
from edgespec.replay.trace import PaidTrace, Proposal, Recording, Trace, read, write

TRACE = Trace(
    prompt="chat-short",
    temperature=0.7,
    prompt_tokens=5,
    n_tokens=2,
    free={"suffix": (Proposal((3, 3, 7), 2), Proposal((), 0))},
    paid={"model": PaidTrace((True, False), (0.9, 0.4), {1: (0.3, 0.2)})},
)
RECORDING = Recording(
    "target", "draft", Measured(PassCosts((1, 4), (0.1, 0.2)), 0.05, 0.001), (TRACE,)
)


@pytest.mark.parametrize("name", ["kept.json", "kept.json.gz"])
def test_recording_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    write(RECORDING, tmp_path / name)

    assert read(tmp_path / name) == RECORDING


def test_recording_holds_no_text_unless_asked(tmp_path: Path) -> None:
    write(RECORDING, tmp_path / "kept.json")

    assert "tokens" not in (tmp_path / "kept.json").read_text().replace("_tokens", "")


@pytest.mark.parametrize(
    "damage", ["", "[]", "{}", '{"version": 99}', '{"version": 1, "target": "x"}', "\x00\x01"]
)
def test_other_files_are_refused_with_the_next_command(tmp_path: Path, damage: str) -> None:
    (tmp_path / "kept.json").write_text(damage)

    with pytest.raises(UsageError) as refused:
        read(tmp_path / "kept.json")

    assert "--record" in refused.value.hint


def test_compressed_recording_that_is_damaged_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "kept.json.gz"
    write(RECORDING, file)
    whole = file.read_bytes()

    for broken in (whole[:-9], whole[:12] + b"\xff" * 9 + whole[21:]):
        file.write_bytes(broken)

        with pytest.raises(UsageError, match="is not a recording"):
            read(file)


def test_recording_without_an_answer_is_refused(tmp_path: Path) -> None:
    write(replace(RECORDING, traces=()), tmp_path / "kept.json")

    with pytest.raises(UsageError, match="it holds no answer"):
        read(tmp_path / "kept.json")


def test_proposals_are_what_a_drafter_would_have_said_and_what_came_true() -> None:
    prompt = np.array([1, 2, 3, 4, 9, 1], np.int32)

    found = proposals(prompt, [2, 3, 7], lambda token: False, n_vocab=10)

    assert [p.accepted for p in found["suffix"]] == [2, 1, 0]
    assert all(p.buckets for p in found["suffix"])
