"""A result as lines of text: tables whose losing rows are as plain to see as the winning ones."""

from collections.abc import Iterator, Sequence
from statistics import median

from edgespec.bench import tables
from edgespec.bench.ahead import ahead
from edgespec.bench.coverage import NO_TIME, coverage
from edgespec.bench.engine import PLAIN, is_ours
from edgespec.bench.readers import paying
from edgespec.bench.result import Result
from edgespec.bench.rivals import turns_apart
from edgespec.bench.same_text import texts
from edgespec.bench.sampling import N_VOCAB, ChainCost
from edgespec.bench.score import Score
from edgespec.bench.tables import table
from edgespec.costs import PassCosts
from edgespec.sizes import gibibytes

_CHAIN_HEADER = ("setting", "row", "kept", "shape ms", "best ms", "draw ms")


def lines(result: Result) -> Iterator[str]:
    """The whole report."""
    yield from about(result)
    yield ""
    yield from table(tables.SCORE_HEADER, tables.score_rows(result))
    yield ""
    yield "all prompts"
    yield from table(tables.TOTAL_HEADER, tables.total_rows(result))
    yield columns_note(result)
    yield ""
    yield "where the time went, and how often each draft position was accepted"
    yield from table(tables.TIME_HEADER, tables.time_rows(result))
    yield ""
    if result.streams:
        yield "several readers at once"
        yield from table(tables.STREAM_HEADER, tables.stream_rows(result))
        yield from paying(result)
        yield ""
    yield from ahead(result)
    yield from texts(result)
    yield ""
    yield from _costs(result.pass_costs, result.draft_pass_s)
    yield from _memory(result)
    if result.places:
        yield ""
        yield from table(tables.PLACE_HEADER, tables.place_rows(result))
    if len({note.engine for note in result.arms}) > 1:
        yield ""
        yield from table(tables.BUILD_HEADER, tables.build_rows(result))
    yield ""
    yield from _sampling(result.sampling)


def columns_note(result: Result) -> str:
    """What the columns of speed mean."""
    ours = [arm for arm in _arms(result) if is_ours(arm)]
    told = (
        f"edgespec's own: {', '.join(ours)}; {PLAIN} is its plain decoding. x plain: to that in "
        "the same turn. 95 %: where another run of the same prompts on this machine would put it "
        "(bootstrap over turns); it says nothing about other prompts"
    )
    speeds = {arm: {len(cell.speeds(arm)) for cell in result.cells} for arm in _arms(result)}
    single = [arm for arm, n_turns in speeds.items() if max(n_turns) == 1]
    if single and len(single) < len(speeds):
        told += (
            f". One turn only, so no interval, and tok/s of that turn alone: {', '.join(single)}"
        )
    return told


def _arms(result: Result) -> list[str]:
    return list(dict.fromkeys(score.arm for score in result.scores))


def score_line(score: Score, n_turns: int) -> str:
    """One arm of a cell, as it is told while the benchmark runs."""
    where = f"{score.prompt} at temperature {score.temperature:g}"
    ratio = "" if score.arm == PLAIN else f", {score.ratio:.2f}x plain"
    so_far = f" ({n_turns} turns)" if n_turns > 1 else ""
    return f"{where}: {score.arm} {score.tokens_per_s:.1f} tok/s{ratio}{so_far}"


def about(result: Result) -> Iterator[str]:
    """What was measured, where, and under which conditions."""
    model, hardware, asked = result.model, result.hardware, result.asked
    draft = f", draft {model['draft']} {model['draft_quant']}" if model["draft"] else ""
    yield f"target {model['target']} {model['target_quant']}{draft}; {model['backend']}"
    takes = f'takes "{model["drafter"]}"' if model["drafter"] != "auto" else "chooses at each step"
    note = f": {model['drafter_note']}" if model["drafter_note"] else ""
    yield f"--drafter auto {takes}{note}"
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    yield versions + (f", commit {result.commit[:9]}" if result.commit else "")
    cores = hardware["cores"]
    yield f"{hardware['cpu']}, {cores['usable']} of {cores['logical']} cores; {hardware['system']}"
    yield from result.conditions.notes()
    yield from _noise(result)
    longest = max(prompt.max_tokens for prompt in asked.prompts)
    yield (
        f"up to {longest} tokens per answer, at most {2 * asked.n_rounds} answers per arm and "
        f"prompt in turns{_often(result)}, order drawn with seed {asked.seed}; took "
        f"{result.seconds:.0f} s"
    )
    yield from coverage(result)
    for name, reason in result.left_out.items():
        if reason != NO_TIME:
            yield f"left out: {name}: {reason}"


def _often(result: Result) -> str:
    """How often plain decoding, with which all others are compared, answered in a turn."""
    n = max(sum(run.arm == PLAIN for run in turn) for cell in result.cells for turn in cell.turns)
    return f" (plain decoding {n} per turn, spread among the others)" if n > 1 else ""


def _noise(result: Result) -> Iterator[str]:
    """How far two answers of the same arm to the same prompt were apart."""
    ratios = turns_apart(result)
    if ratios:
        yield (
            f"plain decoding of one prompt differed by {median(ratios) - 1:.0%} from turn to turn "
            f"(median; at most {max(ratios) - 1:.0%})"
        )
        if all(total.interval is None for total in result.totals):
            yield "too few turns were repeated for intervals; --rounds 2 or more prompts give them"
    else:
        yield "no turn was repeated, so no interval is known; more --minutes would give them"


def _costs(costs: PassCosts, draft_s: float | None) -> Iterator[str]:
    points = ", ".join(
        f"{n}: {1e3 * s:.1f}" for n, s in zip(costs.rows, costs.seconds, strict=True)
    )
    yield f"a target pass of n rows in ms, as draft lengths are chosen by: {points}"
    if draft_s is not None:
        yield f"a draft model's pass in ms: {1e3 * draft_s:.1f}"


def _memory(result: Result) -> Iterator[str]:
    memory = result.memory
    kinds = ", ".join(f"{kind} {gibibytes(size)}" for kind, size in memory.buffers.items())
    yield (
        f"peak memory {gibibytes(memory.peak_bytes)}; llama.cpp's buffers "
        f"{gibibytes(memory.buffer_bytes)} ({kinds}); {gibibytes(memory.beyond_bytes)} beyond them"
    )


def _sampling(costs: Sequence[ChainCost]) -> Iterator[str]:
    if costs:
        yield f"sampling from a row of {N_VOCAB:,} logits"
        yield from table(_CHAIN_HEADER, [_chain_row(cost) for cost in costs])


def _chain_row(cost: ChainCost) -> tuple[str, ...]:
    times_ms = (cost.shape_ms, cost.shape_best_ms, cost.draw_ms)
    return (cost.setting, cost.row, f"{cost.n_kept:,}", *(f"{ms:.3f}" for ms in times_ms))
