"""Trees where several ways on are seen: edits of files that only the index holds, and records of
one form in which only values change.

Counts only, up to 96 tokens each, greedy; by the figures in the drafters' README.
"""

from functools import cache
from pathlib import Path

import pytest

from edgespec.replay.branches import brought
from edgespec.replay.curves import ELSEWHERE
from edgespec.replay.nodes import Brought, of_sizes
from edgespec.replay.trace import read

FOLDER = Path(__file__).parents[1] / "data" / "traces"
EDITS = read(FOLDER / "qwen-trees-index.json.gz").traces
OTHERS = read(FOLDER / "qwen-trees.json.gz").traces
RECORDS = [trace for trace in OTHERS if trace.prompt.startswith("records")]
TRACES = (*EDITS, *OTHERS)


@cache
def by_size(kind: str) -> dict[int, Brought]:
    traces = {"edits": EDITS, "records": RECORDS}[kind]
    return {one.n_nodes: one for one in of_sizes(traces, {"AMX": ELSEWHERE["AMX"]})}


def test_traces_are_of_both_kinds_and_hold_trees() -> None:
    assert {trace.prompt for trace in RECORDS} == {"records-short", "records-long"}
    assert all("index" in trace.free for trace in EDITS)
    assert all(trace.trees and trace.tokens is None for trace in TRACES)


@pytest.mark.parametrize("kind", ["edits", "records"])
def test_a_tree_brings_a_little_more_than_a_chain_of_its_size(kind: str) -> None:
    for n_nodes in (3, 5, 7, 15):
        found = by_size(kind)[n_nodes]
        assert 1.005 < found.tree / found.chain < 1.06, n_nodes


@pytest.mark.parametrize("curve", ELSEWHERE)
def test_trees_cost_the_controller_no_answer_more_than_its_estimates_err(curve: str) -> None:
    for trace in (*EDITS, *RECORDS):
        found = brought(curve, [trace], ELSEWHERE[curve])

        assert found.with_trees >= 0.95 * found.chains, trace.name
