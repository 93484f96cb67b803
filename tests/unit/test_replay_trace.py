import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgespec.control.costs import Measured
from edgespec.costs import PassCosts
from edgespec.drafters import DrafterInputs
from edgespec.drafters.ways import Way
from edgespec.errors import UsageError
from edgespec.replay.grown import Grown
from edgespec.replay.record import proposals, trees
from edgespec.replay.trace import (
    Backing,
    PaidTrace,
    Proposal,
    Recording,
    Trace,
    joined,
    read,
    write,
)
from tests.fakes import ListRetriever

TRACE = Trace(
    prompt="chat-short",
    temperature=0.7,
    prompt_tokens=5,
    n_tokens=2,
    free={"suffix": (Proposal((3, 3, 7), 2), Proposal((), 0))},
    paid={"model": PaidTrace((True, False), (0.9, 0.4), {1: (0.3, 0.2)})},
)
INPUTS = DrafterInputs(10, lambda token: False, max_branches=4)
RECORDING = Recording(
    "target", "draft", Measured(PassCosts((1, 4), (0.1, 0.2)), 0.05, 0.001), (TRACE,)
)


@pytest.mark.parametrize("name", ["kept.json", "kept.json.gz"])
def test_recording_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    write(RECORDING, tmp_path / name)

    assert read(tmp_path / name) == RECORDING


def test_what_a_draft_model_says_of_copies_is_read_as_it_was_written(tmp_path: Path) -> None:
    backing = {"suffix": Backing((0.25, 0.0), (True, False))}
    paid = {"model": replace(TRACE.paid["model"], backing=backing)}
    recording = replace(RECORDING, traces=(replace(TRACE, paid=paid),))

    write(recording, tmp_path / "kept.json")

    assert read(tmp_path / "kept.json") == recording


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


@pytest.mark.parametrize(
    ("path", "damage"),
    [
        (("rows",), [4, 1]),
        (("rows",), []),
        (("seconds",), [0.1]),
        (("seconds", 0), 0.0),
        (("seconds", 1), "0.2"),
        (("draft_s",), float("nan")),
        (("traces", 0, "prompt"), None),
        (("traces", 0, "temperature"), "hot"),
        (("traces", 0, "n_tokens"), 3),
        (("traces", 0, "prompt_tokens"), -1),
        (("traces", 0, "free", "suffix"), [[2, 3, 2, 7, 1]]),
        (("traces", 0, "free", "suffix", 0, 0), None),
        (("traces", 0, "paid", "model", "accepted"), "1"),
        (("traces", 0, "paid", "model", "confidence"), [0.9]),
        (("traces", 0, "paid", "model", "confidence", 1), None),
        (("traces", 0, "paid", "model", "astray", "1", 0), "x"),
        (("traces", 0, "trees"), [[[0, 0, 1, ["suf", 3, 1]]], []]),
        (("traces", 0, "trees"), [[[0, 0, "1", ["suffix", 3, 1]]], []]),
        (("traces", 0, "windows"), {"7": [1]}),
    ],
)
def test_recording_that_was_cut_or_edited_is_refused_before_it_is_replayed(
    tmp_path: Path, path: tuple[str | int, ...], damage: object
) -> None:
    file = tmp_path / "kept.json"
    write(RECORDING, file)
    found = within = json.loads(file.read_text())
    for step in path[:-1]:
        within = within[step]
    within[path[-1]] = damage
    file.write_text(json.dumps(found))

    with pytest.raises(UsageError, match="is not a recording"):
        read(file)


def test_recordings_of_one_pair_are_joined_with_the_costs_of_the_first() -> None:
    other = replace(RECORDING, costs=Measured(PassCosts((1,), (9.0,))))

    assert joined([RECORDING, other]) == replace(RECORDING, traces=(TRACE, TRACE))


def test_recordings_of_several_pairs_are_refused() -> None:
    with pytest.raises(UsageError, match="are of target with draft and of target") as refused:
        joined([RECORDING, replace(RECORDING, draft=None)])

    assert "one pair at a time" in refused.value.hint


def test_recording_without_an_answer_is_refused(tmp_path: Path) -> None:
    write(replace(RECORDING, traces=()), tmp_path / "kept.json")

    with pytest.raises(UsageError, match="it holds no answer"):
        read(tmp_path / "kept.json")


def test_proposals_are_what_a_drafter_would_have_said_and_what_came_true() -> None:
    prompt = np.array([1, 2, 3, 4, 9, 1], np.int32)

    found = proposals(prompt, [2, 3, 7], INPUTS)

    assert [p.accepted for p in found["suffix"]] == [2, 1, 0]
    assert all(p.buckets for p in found["suffix"])


def test_every_drafter_without_a_model_is_recorded() -> None:
    prompt = np.array([1, 2, 3, 4, 9, 1], np.int32)
    alone = proposals(prompt, [2, 3], INPUTS)
    beside = proposals(prompt, [2, 3], replace(INPUTS, retriever=ListRetriever([9, 1, 2, 3])))

    assert set(alone) == {"suffix", "lookahead"}
    assert set(beside) == {"suffix", "lookahead", "index"}


def test_pool_proposes_what_the_text_said_after_the_last_token() -> None:
    prompt = np.array([1, 2, 3, 4, 9, 1], np.int32)

    found = proposals(prompt, [2, 3, 7], INPUTS)

    assert [(len(p.buckets), p.accepted) for p in found["lookahead"]] == [(3, 2), (3, 1), (3, 0)]


def test_trees_are_recorded_with_what_the_answer_went_on_with() -> None:
    prompt = np.array([1, 2, 3, 4, 4, 1, 2, 5, 6, 7, 1, 2], np.int32)

    first, second = trees(prompt, [3, 4], INPUTS)

    assert [(way.is_other, way.leaves) for way in first.ways[:2]] == [(False, 0), (True, 0)]
    assert first.accepted[:2] == (0, 2)
    assert all(way.tokens == () for way in (*first.ways, *second.ways))


def test_trees_and_windows_are_read_as_they_were_written(tmp_path: Path) -> None:
    ways = (
        Way((), (("suffix", 3), ("suffix", 3), ("suffix", 9)), 0),
        Way((), (("index", 1), ("index", 2)), 1),
        Way((), (("tree", 0), ("suffix", 5)), 1, is_other=True),
    )
    trace = replace(
        TRACE, trees=(Grown(ways, (1, 2, 1)), Grown((), ())), windows={7: (1, 0), 13: (2, 1)}
    )
    recording = replace(RECORDING, traces=(trace,))

    write(recording, tmp_path / "kept.json.gz")

    assert read(tmp_path / "kept.json.gz") == recording
