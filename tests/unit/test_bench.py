"""The pure parts of the benchmark, over a scripted model and hand-made runs."""

import json
import logging
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from edgespec.bench.main import chosen
from edgespec.bench.measure import Cell, Plan, Run, measure
from edgespec.bench.memory import Memory, logged_buffers, peak_bytes
from edgespec.bench.order import abba
from edgespec.bench.report import divergence_line, lines, table
from edgespec.bench.result import Result
from edgespec.bench.sampling import ChainCost
from edgespec.bench.score import Divergence, Score, scores, totals
from edgespec.bench.suite import KINDS, BenchPrompt, prompts
from edgespec.costs import PassCosts
from edgespec.equality import Difference
from edgespec.errors import UsageError
from edgespec.events import Stats
from tests.scripted import DESCRIPTION, ScriptedLM

ROOT = Path(__file__).parents[2]
PROMPT = BenchPrompt("chat-short", "Hello there")
PLAN = Plan((PROMPT,), ("none", "suffix"), (0.0, 0.7), max_tokens=9)


@dataclass
class ScriptedSubject:
    """A scripted model that remembers in which order it was asked for what."""

    model: ScriptedLM = field(default_factory=lambda: ScriptedLM(["one two three four five"]))
    asked: list[str] = field(default_factory=list)
    native_s: float = 0.0

    def forget_prompt(self) -> None:
        self.asked.append("forget prompt")

    def forget_draft(self) -> None:
        self.native_s += 0.01
        self.asked.append("forget draft")


def run(drafter: str, wall_s: float = 1.0, tokens: tuple[int, ...] = (1, 2, 3, 4)) -> Run:
    stats = Stats(passes=2, rounds=2, drafted=4, accepted=2, accepted_at=(2, 0), verify_s=0.004)
    return Run(drafter, tokens, stats, wall_s, native_s=0.9 * wall_s)


def cell(*turns: tuple[Run, ...], temperature: float = 0.0) -> Cell:
    return Cell("json-long", temperature, prompt_tokens=400, ttft_s=1.5, turns=turns)


def scored(cell: Cell, *arms: str) -> list[Score]:
    return scores(cell, arms, is_deterministic=lambda name: name == "suffix")


def result(*divergences: Divergence) -> Result:
    measured = cell(
        (run("none"), run("suffix", 0.5)), (run("suffix", 0.5), run("none", 1.0)), temperature=0.0
    )
    return Result(
        plan=PLAN,
        description=DESCRIPTION,
        cells=(measured,),
        scores=tuple(scored(measured, "none", "suffix")),
        divergences=divergences,
        pass_costs=PassCosts((1, 4), (0.084, 0.11525)),
        draft_pass_s=0.007,
        sampling=(ChainCost("greedy", "flat", 1, 0.031, 0.03, 0.002),),
        memory=Memory(400 * 2**20, {"model": 92 * 2**20, "KV": 180 * 2**20}),
        versions={"edgespec": "0.1.0"},
        hardware={"cpu": "a CPU", "cores": {"usable": 2, "logical": 2}, "system": "Linux",
                  "load": 0.5},
        load_after=0.75,
        commit="0123456789abcdef",
        seconds=61.0,
    )  # fmt: skip


def diverged(gap: float, deviation: float) -> Divergence:
    difference = Difference(at=2, plain=3, other=9, gap=gap, deviation=deviation)
    return Divergence("json-long", "suffix", difference, " a", " an")


def test_abba_runs_every_turn_forth_and_back() -> None:
    turns = abba(("none", "suffix", "model"), 1, offset=0)

    assert turns == [("none", "suffix", "model"), ("model", "suffix", "none")]


@pytest.mark.parametrize("arms", [("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")])
def test_abba_lets_no_arm_always_begin(arms: tuple[str, ...]) -> None:
    firsts = [turn[0] for offset in range(12) for turn in abba(arms, 1, offset)]

    assert {firsts.count(arm) for arm in arms} == {24 // len(arms)}


def test_suite_has_every_kind_short_and_long() -> None:
    short, full = prompts("short"), prompts("full")

    assert {p.name for p in full} == {f"{k}-{n}" for k in KINDS for n in ("short", "long")}
    assert set(short) < set(full)
    assert all(p.text and p.text == p.text.strip() for p in full)


def test_long_prompts_are_longer_than_short_ones() -> None:
    lengths = {prompt.name: len(prompt.text) for prompt in prompts("full")}

    assert all(lengths[f"{kind}-long"] > 2 * lengths[f"{kind}-short"] for kind in KINDS)


def test_measure_gives_each_turn_one_run_of_every_arm() -> None:
    cells = list(measure(ScriptedSubject(), PLAN))

    assert [(c.prompt, c.temperature) for c in cells] == [("chat-short", 0.0), ("chat-short", 0.7)]
    order = [[run.drafter for run in turn] for c in cells for turn in c.turns]
    assert order == [["none", "suffix"], ["suffix", "none"], ["suffix", "none"], ["none", "suffix"]]


def test_measure_keeps_tokens_statistics_and_native_time() -> None:
    (first, _) = measure(ScriptedSubject(), PLAN)

    plain = first.turns[0][0]
    assert len(plain.tokens) == plain.stats.generated_tokens == plain.stats.passes == 5
    assert plain.native_s == 0.0
    assert plain.wall_s > 0


def test_measure_reads_the_prompt_again_before_every_answer_and_drops_the_warm_up() -> None:
    subject = ScriptedSubject()

    list(measure(subject, replace(PLAN, temperatures=(0.0,))))

    asked = [(r.options.drafter, r.options.max_tokens) for r in subject.model.requests]
    read = ("none", 0)
    warm_up = [read, ("none", 8), read, ("suffix", 8)]
    timed = [read, ("none", 9), read, ("suffix", 9), read, ("suffix", 9), read, ("none", 9)]
    assert asked == [*warm_up, ("none", 1), *timed]
    assert subject.asked.count("forget prompt") == 1
    assert subject.asked.count("forget draft") == 6


def test_measure_asks_all_arms_with_one_seed() -> None:
    subject = ScriptedSubject()

    list(measure(subject, replace(PLAN, temperatures=(0.7,))))

    timed = [r.options.sampling for r in subject.model.requests if r.options.max_tokens == 9]
    assert len(set(timed)) == 1
    assert timed[0].seed is not None


def test_ratio_is_the_median_of_the_turns_own_ratios() -> None:
    # The machine became three times slower between the turns: only pairs can be compared.
    measured = cell(
        (run("none", 1.0), run("suffix", 0.5)), (run("suffix", 1.8), run("none", 3.0))
    )  # fmt: skip

    plain, suffix = scored(measured, "none", "suffix")

    assert plain.ratio == 1
    assert suffix.ratio == pytest.approx((2.0 + 3.0 / 1.8) / 2)


def test_score_counts_per_step() -> None:
    measured = cell((run("none"), run("suffix")))

    score = scored(measured, "none", "suffix")[1]

    assert score.tokens_per_pass == 2
    assert score.step_ms == pytest.approx(500)
    assert score.overhead_ms == pytest.approx(50)
    assert score.overhead_share == pytest.approx(0.1)
    assert score.verify_ms == pytest.approx(2)
    assert score.acceptance == pytest.approx(0.5)
    assert score.acceptance_per_position == (1, 0)


@pytest.mark.parametrize(
    ("drafter", "temperature", "is_comparable"),
    [("model", 0.0, True), ("suffix", 0.7, True), ("model", 0.7, False)],
)
def test_score_compares_texts_where_they_must_be_equal(
    drafter: str, temperature: float, is_comparable: bool
) -> None:
    measured = cell((run("none"), run(drafter, tokens=(1, 2, 9, 9))), temperature=temperature)

    score = scored(measured, "none", drafter)[1]

    assert score.is_comparable == is_comparable
    assert score.differs_at == (2 if is_comparable else None)


def test_totals_tell_the_losses() -> None:
    base = scored(cell((run("none"), run("suffix"))), "none", "suffix")[1]
    found = totals([replace(base, prompt=name, ratio=r) for name, r in (("a", 0.5), ("b", 2.0))])

    (total,) = found
    assert (total.ratio, total.worst.prompt, total.best.prompt) == (1.0, "a", "b")
    assert (total.n_losses, total.n_prompts) == (1, 2)


def test_table_aligns_words_left_and_numbers_right() -> None:
    shown = list(table(("prompt", "tok/s"), [("a", "1.0"), ("bcdefgh", "100.0")]))

    assert shown == ["prompt   tok/s", "a          1.0", "bcdefgh  100.0"]


def test_report_shows_every_figure_that_was_asked_for() -> None:
    text = "\n".join(lines(result()))

    assert "2.00" in text  # suffix against plain
    assert "all 1 equal plain decoding's" in text
    assert "first token after 1.50 s with nothing cached, 400 tokens" in text
    assert "1: 84.0, 4: 115.2" in text
    assert "peak memory 400 MiB; llama.cpp's buffers 272 MiB" in text
    assert "128 MiB beyond them" in text
    assert "commit 012345678" in text


def test_near_tie_is_reported_with_gap_and_deviation() -> None:
    line = divergence_line(diverged(gap=0.02, deviation=0.31))

    assert "differs from token 3: ' an' for ' a'" in line
    assert "0.020" in line
    assert "0.310" in line
    assert line.endswith("a near-tie")


def test_result_is_not_lossless_when_rounding_explains_nothing() -> None:
    near, far = diverged(0.02, 0.31), diverged(0.5, 0.31)

    assert result(near).is_lossless
    assert not result(near, far).is_lossless
    assert divergence_line(far).endswith("NOT LOSSLESS")


def test_json_has_the_fields_that_readers_rely_on() -> None:
    found = json.loads(json.dumps(result(diverged(0.02, 0.31)).to_dict(), allow_nan=False))

    assert found["schema"] == 1
    assert set(found) == {
        "schema", "versions", "commit", "hardware", "seconds", "model", "plan", "prompts",
        "left_out", "scores", "totals", "runs", "divergences", "is_lossless", "pass_ms", "sampling",
        "memory",
    }  # fmt: skip
    assert found["scores"][1]["ratio"] == 2
    assert found["runs"][1]["arms"][0]["drafter"] == "suffix"
    assert found["runs"][1]["arms"][0]["tokens"] == [1, 2, 3, 4]
    assert found["pass_ms"]["target"] == pytest.approx({"1": 84.0, "4": 115.25})
    assert found["pass_ms"]["draft"] == {"1": 7.0}
    assert found["sampling"][0]["shape_ms"] == 0.031
    assert found["divergences"][0]["is_near_tie"] is True
    assert found["memory"]["beyond_bytes"] == 128 * 2**20


def test_json_of_an_answer_that_ended_early_has_no_infinite_number() -> None:
    ended = Divergence("a", "model", Difference(2, 3, None, float("inf"), 0.0), " a", "")

    found = json.loads(json.dumps(result(ended).to_dict(), allow_nan=False))

    assert found["divergences"][0]["gap"] is None
    assert found["is_lossless"] is False


def test_report_shows_the_costs_that_lengths_are_chosen_by() -> None:
    text = "\n".join(lines(result()))

    assert "as draft lengths are chosen by: 1: 84.0, 4: 115.2" in text
    assert "a draft model's pass in ms: 7.0" in text


def test_report_ends_with_the_cost_of_sampling() -> None:
    *_, row_width, header, row = lines(result())

    assert row_width == "sampling from a row of 151,936 logits"
    assert header.split() == ["setting", "row", "kept", "shape", "ms", "best", "ms", "draw", "ms"]
    assert row.split() == ["greedy", "flat", "1", "0.031", "0.030", "0.002"]


def test_logged_buffers_add_up_what_lies_in_host_memory() -> None:
    logger = logging.getLogger("edgespec.llama")

    with logged_buffers() as log:
        logger.debug("load_tensors:   CPU_Mapped model buffer size =    92.10 MiB")
        logger.debug("load_tensors:   CPU_REPACK model buffer size =     7.90 MiB")
        logger.debug("llama_kv_cache:        CPU KV buffer size =   180.00 MiB")
        logger.debug("llama_kv_cache:      CUDA0 KV buffer size =   999.00 MiB")
        logger.debug("~llama_context: CPU compute buffer size is 6.7 MiB, matches expectation")
    logger.debug("llama_kv_cache:        CPU KV buffer size =   180.00 MiB")

    assert log.buffers == {"model": 100 * 2**20, "KV": 180 * 2**20}


def test_logged_buffers_leave_the_logger_as_it_was() -> None:
    logger = logging.getLogger("edgespec.llama")
    before = (logger.level, logger.propagate, list(logger.handlers))

    with logged_buffers():
        pass

    assert (logger.level, logger.propagate, logger.handlers) == before


def test_peak_memory_is_that_of_this_process() -> None:
    assert 10 * 2**20 < peak_bytes() < 2**36


def test_chosen_drafters_default_to_all_that_can_be_built() -> None:
    assert chosen((), has_draft=False) == ("none", "suffix")
    assert chosen((), has_draft=True) == ("none", "model", "suffix", "suffix+model")


@pytest.mark.parametrize(
    ("name", "message"), [("sufix", "no drafter 'sufix'"), ("model", "needs a draft model")]
)
def test_chosen_refuses_a_drafter_that_cannot_be_built(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chosen((name,), has_draft=False)


def test_a_child_does_not_begin_with_its_parents_peak() -> None:
    held = np.ones(2**25)  # 256 MiB
    code = "from edgespec.bench.memory import peak_bytes; print(peak_bytes())"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT)

    assert int(done.stdout) < held.nbytes < peak_bytes()
