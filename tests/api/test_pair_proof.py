"""The proof on a pair: it finds a sound pair sound, and a faulty verification faulty."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from edgespec.cli.main import cli
from edgespec.control.costs import Measured
from edgespec.core import Dist, Draft, Sampling
from edgespec.costs import PassCosts
from edgespec.equality import Difference
from edgespec.proof.pair import Agreement, Greedy, Proof
from edgespec.proof.tally import Acceptance, Share, Tally
from edgespec.proof.words import lines
from edgespec.sampling import RequestSampler
from tests import tinygguf
from tests.fakes import tokens_of

SAMPLING = Sampling(temperature=1, seed=1)


def dist(*probs: float) -> Dist:
    return Dist(tokens_of(*range(len(probs))), np.array(probs))


TARGET = dist(0.45, 0.35, 0.2)
DRAFT = dist(0.1, 0.2, 0.7)


class Gullible(RequestSampler):
    """Accepts whatever it may."""

    def uniform(self) -> float:
        return 0.0


class Biased(RequestSampler):
    """Draws the first token it may, not one by its probability."""

    def draw(self, dist: Dist, position: int) -> int:
        return int(dist.ids[0])


def tallied(sampler: RequestSampler) -> Acceptance:
    tally = Tally(sampler)
    for position in range(20):
        tokens = tuple(sampler.draw_draft(DRAFT, position) for _ in range(2))
        tally.add(Draft(tokens, (DRAFT, DRAFT)), (TARGET, TARGET, TARGET), position)
    return tally.acceptance()


def test_tally_finds_exact_verification_sound() -> None:
    found = tallied(RequestSampler(SAMPLING, 3))

    assert found.is_sound
    assert found.accepted.expected == pytest.approx(0.5)
    assert found.accepted.measured == pytest.approx(0.5, abs=0.03)
    assert found.best.expected == pytest.approx(0.45)


@pytest.mark.parametrize("faulty", [Gullible, Biased])
def test_tally_finds_faulty_verification(faulty: type[RequestSampler]) -> None:
    assert not tallied(faulty(SAMPLING, 3)).is_sound


def test_share_is_sound_within_its_error() -> None:
    assert Share(0.52, 0.5, 0.01).is_sound
    assert not Share(0.56, 0.5, 0.01).is_sound


def proof(*differences: Difference | None) -> Proof:
    greedy = tuple(Greedy("chat-short", "suffix", d, (" a", " an")) for d in differences)
    return Proof(
        "target",
        "draft",
        greedy,
        tallied(RequestSampler(SAMPLING, 3)),
        Agreement(n_positions=64, n_agreed=48),
        Measured(PassCosts((1, 2, 4, 8), (1.0, 1.5, 2.0, 4.0)), draft_s=0.5, read_s=0.1),
    )


def test_worth_is_that_of_the_best_length_on_this_machine() -> None:
    told = list(lines(proof()))

    # 1.75 tokens in 1.5 + 0.5 plain steps; 2.31 take 1.75 + 1.
    assert "one token of draft takes 0.50 plain steps of target" in told[-4]
    assert "0.750 of its tokens accepted" in told[-3]
    assert "is 1: 0.88 times plain decoding, and 1.17 if rows cost nothing" in told[-3]
    assert "at temperature 1, top-k 40: 0.500 of its tokens accepted" in told[-2]


def test_near_tie_is_lossless_and_told() -> None:
    found = proof(None, Difference(4, 1, 2, gap=0.02, deviation=0.3))

    told = list(lines(found))

    assert found.is_lossless
    assert told[1].startswith("Greedy: 1 of 2 answers")
    assert "a near-tie at token 5: ' an' for plain decoding's ' a' are 0.020 apart" in told[2]
    assert told[-1].startswith("Verdict: lossless.")


def test_difference_beyond_rounding_is_not_lossless() -> None:
    found = proof(Difference(4, 1, 2, gap=0.9, deviation=0.3))

    assert not found.is_lossless
    assert list(lines(found))[-1].startswith("Verdict: NOT lossless.")


def test_third_token_is_not_lossless_and_told() -> None:
    found = proof(Difference(4, 1, 2, gap=0.1, deviation=0.3, are_best=False))

    told = list(lines(found))

    assert not found.is_lossless
    assert "NOT EQUAL at token 5" in told[2]
    assert "a third token is likelier than one of them" in told[2]


def test_doctor_proves_a_sound_pair(tmp_path: Path) -> None:
    target = tinygguf.write_llama(tmp_path / "target.gguf", n_ctx=2048)
    draft = tinygguf.write_llama(tmp_path / "draft.gguf", n_ctx=2048, noise=0.1)

    result = CliRunner().invoke(cli, ["doctor", "--pair", str(target), str(draft)])

    assert result.exit_code == 0, result.output
    assert re.search(r"Greedy: (\d+) of \1 answers", result.stdout), result.stdout
    assert "100 draws at each of 48 positions" in result.stdout
    assert "at temperature 0: 0." in result.stdout
    assert "Verdict: lossless." in result.stdout


def test_doctor_proves_a_pair_quickly_on_one_prompt(tmp_path: Path) -> None:
    target = tinygguf.write_llama(tmp_path / "target.gguf", n_ctx=2048)
    draft = tinygguf.write_llama(tmp_path / "draft.gguf", n_ctx=2048, noise=0.1)

    result = CliRunner().invoke(cli, ["doctor", "--quick", "--pair", str(target), str(draft)])

    assert result.exit_code == 0, result.output
    assert " drafters and 1 prompt, equal" in result.stdout
    assert "Verdict: lossless." in result.stdout


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--quick"], "--quick is for --pair"),
        (["--draft-vocab", "intersect"], "--draft-vocab is for --pair"),
        (["--draft", "m"], "--draft is for --curve"),
        (["--pair", "t", "d", "--curve", "t"], "--pair and --curve exclude each other"),
        (["--recycling", "t", "--rpc", "desk"], "--recycling knows no workers"),
    ],
)
def test_doctor_refuses_flags_that_it_would_ignore(flags: list[str], told: str) -> None:
    result = CliRunner().invoke(cli, ["doctor", *flags])

    assert result.exit_code == 2
    assert told in result.stderr


@pytest.mark.parametrize("n_ctx", [4, 64])
def test_doctor_proves_a_pair_whose_draft_has_a_short_context(tmp_path: Path, n_ctx: int) -> None:
    """It sees the end of the text; what it says of that is judged as any draft."""
    target = tinygguf.write_llama(tmp_path / "target.gguf", n_ctx=2048)
    draft = tinygguf.write_llama(tmp_path / "draft.gguf", n_ctx=n_ctx, noise=0.1)

    result = CliRunner().invoke(cli, ["doctor", "--pair", str(target), str(draft)])

    assert result.exit_code == 0, result.output
    assert "100 draws at each of 48 positions" in result.stdout


def test_doctor_refuses_another_vocabulary(tmp_path: Path) -> None:
    target = tinygguf.write_llama(tmp_path / "target.gguf")
    draft = tinygguf.write_llama(tmp_path / "draft.gguf", vocab=tinygguf.OTHER_VOCAB)

    result = CliRunner().invoke(cli, ["doctor", "--pair", str(target), str(draft)])

    assert result.exit_code == 5
    assert "cannot draft for" in result.stderr
