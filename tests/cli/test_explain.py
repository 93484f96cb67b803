import json
from dataclasses import replace
from typing import get_args

import pytest
from click.testing import CliRunner, Result

from edgespec.cli.doors import Doors
from edgespec.cli.main import cli
from edgespec.explanation import REASONS, Acceptance, Arm, Bound, Decision, Explanation, Reason
from tests.scripted import ScriptedLM

DECISION = Decision(
    context=40, drafter="suffix", k=7, reason="gain", bucket="match 4-11, seen once",
    expected_tokens=5.2, expected_s=0.09, expected_plain_s=0.04, rate=25.0,
    drafted=7, accepted=5, tokens=6, took_s=0.1, ledger_s=-0.1,
)  # fmt: skip
TOLD = Explanation(
    drafter="auto",
    draft_len=None,
    arms=(
        Arm("none", 4, 0, 0, 4, 0.16, ()),
        Arm("suffix", 1, 7, 5, 6, 0.1, (Acceptance("match 4-11, seen once", 0.81, 6.0),)),
        Arm("model", 0, 0, 0, 0, 0.0, (), note="the draft model is left out: too dear"),
    ),
    decisions=(DECISION,),
    costs=(),
    draft_token_s=None,
    draft_read_s=None,
    steps=5,
    tokens=10,
    took_s=0.26,
    plain_s=0.4,
    bound=Bound(0.02, 0.16, -0.1),
    reasons={"plain": 4, "gain": 1},
)


def run(*arguments: str, told: Explanation | None = TOLD) -> Result:
    lm = ScriptedLM(["Four."], explanation=told)
    return CliRunner().invoke(cli, list(arguments), obj=Doors(load=lambda *_, **__: lm))


def test_explanation_goes_to_stderr_in_sum_and_step_by_step(gguf: str) -> None:
    result = run("-m", gguf, "-p", "2+2?", "--explain")

    assert result.stdout == "Four.\n"
    assert (
        "10 tokens in 5 steps, reckoned at 0.26 s\n  plainly about 0.40 s: 1.54x" in result.stderr
    )
    assert "4 x no draft promised more than a plain step" in result.stderr
    assert "suffix     1 steps, 6 tokens; 5 of 7 drafted tokens accepted" in result.stderr
    assert "81% come true of match 4-11, seen once (6 seen)" in result.stderr
    assert "model      0 steps, 0 tokens; the draft model is left out" in result.stderr
    assert "at most 2% over plain and 0.16 s; it is 0.10 s ahead" in result.stderr
    assert "    5.2   6   100.0  gain, match 4-11, seen once" in result.stderr


def test_nothing_is_said_to_be_bought_where_nothing_was_drafted(gguf: str) -> None:
    told = replace(TOLD, arms=TOLD.arms[:1])

    result = run("-m", gguf, "-p", "2+2?", "--explain", told=told)

    assert "10 tokens in 5 steps" in result.stderr
    assert "plainly about" not in result.stderr


def test_fixed_drafts_are_timed_by_the_clock(gguf: str) -> None:
    result = run("-m", gguf, "-p", "2+2?", "--explain", told=replace(TOLD, bound=None))

    assert "10 tokens in 5 steps, 0.26 s\n" in result.stderr
    assert "reckoned" not in result.stderr


def test_explanation_is_part_of_the_json(gguf: str) -> None:
    result = run("-m", gguf, "-p", "2+2?", "--explain", "--json")

    told = json.loads(result.stdout)["explanation"]
    assert told["reasons"] == {"plain": 4, "gain": 1}
    assert told["speedup"] == pytest.approx(0.4 / 0.26)


def test_every_reason_has_words() -> None:
    assert set(REASONS) == set(get_args(Reason))


def test_nothing_is_explained_unasked(gguf: str) -> None:
    assert "plainly" not in run("-m", gguf, "-p", "2+2?").stderr


@pytest.mark.parametrize(("said", "want"), [("auto", None), ("4", 4)])
def test_draft_length_is_a_number_or_auto(gguf: str, said: str, want: int | None) -> None:
    lm = ScriptedLM(["Four."])
    doors = Doors(load=lambda *_, **__: lm)

    CliRunner().invoke(cli, ["-m", gguf, "-p", "2+2?", "--draft-len", said], obj=doors)

    assert lm.requests[0].options.draft_len == want


@pytest.mark.parametrize("said", ["0", "-1", "many"])
def test_draft_length_that_means_nothing_is_refused(gguf: str, said: str) -> None:
    assert run("-m", gguf, "-p", "2+2?", f"--draft-len={said}").exit_code == 2
