"""Where other engines are ahead of edgespec, in words."""

from dataclasses import replace

from edgespec.bench.engine import PLAIN
from edgespec.bench.peers.types import Build
from edgespec.bench.report import columns_note, lines
from edgespec.bench.result import Result
from tests.unit.bench_world import (
    FakeClock,
    ScriptedEngine,
    cells_of_all,
    plan_of,
    result_of,
    with_peer,
)


def with_noisy_peer(pace_s: float, *, remembers: bool = False) -> Result:
    clock = FakeClock()
    ours = ScriptedEngine(clock, {PLAIN: 0.05, "suffix": 0.025}, noise=0.1)
    peer = ScriptedEngine(
        clock, {"other:fast": pace_s}, name="other:fast", plain=None, noise=0.1, seed=4,
        remembers=remembers,
    )  # fmt: skip
    plan = plan_of("a", "b", "c", "d")
    cells = cells_of_all([ours, peer], plan)
    return result_of(cells, plan, arms=(PLAIN, "suffix", "other:fast"))


def test_report_says_where_a_peer_is_ahead_and_why() -> None:
    (line,) = [line for line in lines(with_peer(0.01)) if line.startswith("ahead")]

    assert "other:fast on a at temperature 0: 5.00 against 2.00 (suffix)" in line
    assert "its plain decoding is 1.25 times as fast here" in line


def sooner_line(found: Result) -> str:
    """The line on first tokens, of a peer that reads a long prompt faster."""
    (cell,) = found.cells
    seconds = {"edgespec": 2.0, "other:plain": 1.5, "other:fast": 1.8}
    slow = replace(
        cell,
        prompt_tokens=700,
        ttft_s=seconds,
        readings_s={name: (s, s) for name, s in seconds.items()},
    )
    scored = tuple(replace(s, ttft_s=seconds.get(s.arm, seconds["edgespec"])) for s in found.scores)
    plan = {"target": {"n_batch": 128}}
    told = lines(replace(found, cells=(slow,), scores=scored, plan=plan))
    (line,) = [line for line in told if line.startswith("sooner first token")]
    return line


def test_report_says_where_a_peers_first_token_is_sooner_and_why() -> None:
    line = sooner_line(with_peer(0.03))

    # Its fastest arm is the one that a user would take, whichever of them reads soonest.
    assert "other in 1 of 1 cells, on a at temperature 0 with other:fast: 1.80 against" in line
    assert "edgespec reads at most 128 tokens in a pass" in line
    assert "another build of llama.cpp (1.0)" in line


def test_served_peers_engine_is_not_taken_for_llama_cpp() -> None:
    found = with_peer(0.01)
    note = "its own a-model, 4 bits where edgespec has Q4_K_M"
    build = Build("0.32.2, mlx 0.32.4", note=note, is_served=True)
    served = tuple(n if n.arm in (PLAIN, "suffix") else replace(n, build=build) for n in found.arms)

    lead = next(
        line for line in lines(replace(found, arms=served)) if line.startswith("ahead of edgespec")
    )
    sooner = sooner_line(replace(with_peer(0.03), arms=served))

    for line in (lead, sooner):
        assert f"it has an engine and a model file of its own ({note})" in line
        assert "llama.cpp" not in line


def test_report_says_whose_reader_waits_less_and_why() -> None:
    told = [line for line in lines(with_peer(0.01)) if line.startswith(("lower", "shorter"))]

    assert [line.partition(":")[0] for line in told] == [
        "lower median per token",
        "lower 95th percentile per token",
        "lower 99th percentile per token",
        "shorter worst gap",
    ]
    assert "token: other in 1 of 1 cells, on a at temperature 0 with other:fast" in told[0]
    assert "10 against 25 ms (suffix); it is faster here (5.00 against 2.00)" in told[0]


def test_leads_within_the_noise_share_a_line() -> None:
    found = with_peer(0.03)
    (cell,) = found.cells
    near = replace(cell, readings_s={"edgespec": (1.0, 2.0), "other:fast": (1.4, 1.5)})
    scored = tuple(replace(s, ttft_s=1.45 if s.arm == "other:fast" else 1.5) for s in found.scores)

    shown = list(lines(replace(found, cells=(near,), scores=scored)))

    assert not [line for line in shown if line.startswith("sooner first token")]
    assert "within the noise: other has a sooner first token in 1 of 1 cells" in shown


def test_peer_ahead_within_the_noise_is_told_in_one_line() -> None:
    shown = list(lines(with_noisy_peer(0.0245)))

    (line,) = [line for line in shown if line.startswith("ahead")]
    assert line.startswith("ahead within the noise: other on ")
    assert line.endswith("; another run may turn that round")
    assert "a (fast 1.83, edgespec's suffix 1.75), d (fast" in line
    assert "no peer is ahead of edgespec in any cell by more than the noise" in shown


def test_peer_ahead_in_its_only_turn_is_told_with_what_edgespec_had_in_that_turn() -> None:
    shown = list(lines(with_noisy_peer(0.015, remembers=True)))

    (line,) = [line for line in shown if line.startswith("ahead")]
    assert line.startswith("ahead in a single turn: other on a (fast 2.97, edgespec's ")
    assert "suffix 1.75, and 1.80 in that turn)" in line
    assert "one turn has no interval, and plain decoding of one prompt differs by" in line


def test_peer_ahead_by_more_than_the_noise_has_a_line_for_each_prompt() -> None:
    shown = [line for line in lines(with_noisy_peer(0.01)) if line.startswith("ahead")]

    assert [line.partition(" at temperature")[0] for line in shown] == [
        f"ahead of edgespec: other:fast on {name}" for name in "abcd"
    ]


def test_note_says_which_arms_had_a_single_turn() -> None:
    assert columns_note(with_noisy_peer(0.01, remembers=True)).endswith(
        "One turn only, so no interval, and tok/s of that turn alone: other:fast"
    )
    assert "One turn" not in columns_note(with_noisy_peer(0.01))


def test_waits_of_an_arm_with_a_single_turn_are_not_held_against_edgespecs() -> None:
    shown = list(lines(with_noisy_peer(0.01, remembers=True)))

    assert not [line for line in shown if line.startswith(("lower", "shorter", "sooner"))]


def test_lead_is_not_called_real_where_nothing_was_repeated() -> None:
    found = with_peer(0.01)
    cells = tuple(replace(cell, turns=cell.turns[:1]) for cell in found.cells)

    shown = list(lines(replace(found, cells=cells)))

    assert not [line for line in shown if line.startswith(("ahead of", "lower", "shorter"))]
    assert [line for line in shown if line.startswith("ahead in a single turn: other on a")]
    assert [line for line in shown if line.startswith("of no turn repeated, so noise or not:")]


def test_report_names_no_peer_that_is_behind() -> None:
    assert not [line for line in lines(with_peer(0.03)) if line.startswith("ahead")]


def test_all_arms_of_an_engine_that_are_ahead_stand_in_one_sentence() -> None:
    found = lines(with_peer(0.01, plain_s=0.02))

    (line,) = [line for line in found if line.startswith("ahead")]
    assert line.startswith("ahead of edgespec: other:fast on a at temperature 0: 5.00 against 2.00")
    assert line.endswith(" (also plain 2.50)")
