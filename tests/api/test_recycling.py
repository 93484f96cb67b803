"""Token recycling as it is measured: the tree is the paper's, and decoding with it is exact."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from edgespec.cli.main import cli
from edgespec.control.costs import Measured
from edgespec.control.fixed import Fixed
from edgespec.core import Branch, Draft, Drafter, Row, Sampling
from edgespec.costs import PassCosts
from edgespec.decode import Request, speculate
from edgespec.drafters import DrafterInputs
from edgespec.drafters.none import NoDrafter
from edgespec.proof.recycled import CHAINS, TREES, Place, Recycled, lines
from edgespec.proof.recycling import N_SUCCESSORS, Node, Recycling, as_draft, likeliest
from edgespec.sampling import RequestSampler
from tests import tinygguf
from tests.fakes import NumpyLM, tokens_of

EOG = 7


def is_eog(token: int) -> bool:
    return token == EOG


class FixedRows:
    """Logits of a last pass: of the trunk, and of each branch."""

    n_decoded = 0

    def __init__(self, trunk: list[list[float]], *branches: list[list[float]]) -> None:
        self._trunk = [np.array(row, np.float32) for row in trunk]
        self._branches = [[np.array(row, np.float32) for row in rows] for rows in branches]

    def __len__(self) -> int:
        return len(self._trunk)

    def __getitem__(self, i: int) -> Row:
        return self._trunk[i]

    def branch(self, b: int) -> Sequence[Row]:
        return self._branches[b]


def favouring(*tokens: int) -> list[float]:
    """A row of 10 logits whose largest are these, in order."""
    row = [0.0] * 10
    for rank, token in enumerate(tokens):
        row[token] = 9.0 - rank
    return row


def taught() -> Recycling:
    """A table of three tokens: 1 -> 2, 3; 2 -> 4, 5; 3 -> 6."""
    drafter = Recycling(is_eog)
    for token, row in ((1, favouring(2, 3)), (2, favouring(4, 5)), (3, favouring(6, 1))):
        drafter.draft(tokens_of(token), 0, RequestSampler(Sampling(), 10))
        drafter.learn(tokens_of(token), FixedRows([row]))
    return drafter


@pytest.mark.parametrize("n_vocab", [9, 1024, 5000, 151_936])
def test_likeliest_are_those_of_a_whole_sort(n_vocab: int) -> None:
    for seed in range(5):
        row = np.random.default_rng(seed).permutation(n_vocab).astype(np.float32)

        found = likeliest(row)

        assert found == tuple(np.argsort(-row)[:N_SUCCESSORS].tolist())


def test_draft_is_empty_where_the_last_token_stood_for_no_row() -> None:
    assert taught().draft(tokens_of(9), 8, RequestSampler(Sampling(), 10)) == Draft()


def test_tree_holds_the_likeliest_first_and_grows_by_the_next() -> None:
    drafter = taught()

    draft = drafter.draft(tokens_of(9, 1), 4, RequestSampler(Sampling(), 10))

    assert [node.token for node in drafter.tree[:3]] == [2, 4, 3]
    assert draft.tokens == (2, 4)
    assert Branch(2, (3,)) in draft.branches
    assert draft.n_nodes == 4


def test_end_of_generation_ends_its_way() -> None:
    drafter = Recycling(is_eog)
    for token in (1, EOG):
        drafter.draft(tokens_of(token), 0, RequestSampler(Sampling(), 10))
        drafter.learn(tokens_of(token), FixedRows([favouring(EOG, 2)]))

    draft = drafter.draft(tokens_of(1), 31, RequestSampler(Sampling(), 10))

    assert draft.tokens == (EOG,)


def test_ways_off_the_trunk_are_one_branch_each() -> None:
    tree = (Node(-1, 2, True), Node(-1, 3, False), Node(0, 4, True), Node(1, 6, False))

    draft = as_draft(tree, n_context=10)

    assert draft == Draft((2, 4), branches=(Branch(10, (3, 6)),))


def test_refused_rows_teach_too() -> None:
    drafter = taught()
    drafter.draft(tokens_of(1), 2, RequestSampler(Sampling(), 10))  # the trunk 2, 4

    drafter.learn(
        tokens_of(1, 9), FixedRows([favouring(9), favouring(9), favouring(5, 6)], [favouring(0)])
    )

    assert drafter.draft(tokens_of(4), 1, RequestSampler(Sampling(), 10)).tokens == (5,)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_answer_is_that_of_plain_decoding(temperature: float) -> None:
    def answered(drafter: Drafter, k: int) -> list[int]:
        lm = NumpyLM(24, scale=6.0, order=1)
        sampler = RequestSampler(Sampling(temperature=temperature, seed=3), 24)
        request = Request(
            tokens_of(1, 2), sampler, 60, lambda *_: False, lambda _: False, lambda: False
        )
        steps = list(speculate(lm, {drafter.name: drafter}, Fixed(drafter.name, k), request))
        accepted.append(sum(step.accepted for step in steps))
        return [token for step in steps for token in step.tokens]

    accepted: list[int] = []

    plain = answered(NoDrafter(DrafterInputs(24, is_eog)), 0)
    recycled = answered(Recycling(lambda token: False), 12)

    assert recycled == plain
    assert accepted[1] > 0


def place(n: int, suffix: int | None) -> Place:
    """So many tokens accepted of every tree, chain and copy."""
    copied = None if suffix is None else (suffix,) * len(CHAINS)
    return Place((n,) * len(TREES), (n,) * len(CHAINS), copied, n_nodes=7 * (n > 0))


def test_lines_tell_tokens_per_step_and_times_plain() -> None:
    places = (place(1, None), place(0, 0), place(0, 2), place(0, 1))
    costs = Measured(PassCosts((1, 2, 4, 8, 16, 32), (0.1, 0.2, 0.2, 0.2, 0.2, 0.2)))

    told = list(lines(Recycled("m", "CPU", 2, places, 1e-5, costs)))

    figures = {line[:36].strip(): line[36:].split() for line in told if line}
    assert "at 25% of the steps, suffix at 75%" in told[1]
    assert figures["all steps"] == ["1.25"] * len(TREES)
    assert figures["where suffix is silent (25%)"] == ["2.00"] * len(TREES)
    assert figures["where suffix errs at once (25%)"] == ["1.00"] * len(TREES)
    assert figures["all steps, suffix"] == ["1.75"] * len(CHAINS)
    assert figures["here, all steps"] == ["1.00"] * len(TREES)  # only one step of four drafted
    assert figures["CUDA, where suffix is silent"][0] == "1.87"
    # Three steps with a copy of one token bring 6; the silent one brings 1, or 2 with a tree.
    assert figures["CUDA, best sizes"] == [f"{7 / (3 * 1.07 + 1):.2f}", f"{8 / (4 * 1.07):.2f}"]


def test_doctor_measures_recycling(tmp_path: Path) -> None:
    target = tinygguf.write_llama(tmp_path / "target.gguf", n_ctx=2048, scale=3.0)

    result = CliRunner().invoke(cli, ["doctor", "--recycling", str(target)])

    assert result.exit_code == 0, result.output
    assert "steps of 10 answers, drafts of up to 7 tokens" in result.stdout


def test_model_that_cannot_branch_is_refused(tmp_path: Path) -> None:
    target = tinygguf.write_mamba(tmp_path / "mamba.gguf", n_ctx=2048)

    result = CliRunner().invoke(cli, ["doctor", "--recycling", str(target)])

    assert result.exit_code == 2
    assert "mamba.gguf cannot branch, which a tree needs" in result.stderr
