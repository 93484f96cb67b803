"""A result as lines of text: tables whose losing rows are as plain to see as the winning ones."""

from collections.abc import Iterator, Sequence

from edgespec.bench.measure import PLAIN
from edgespec.bench.result import Result
from edgespec.bench.sampling import N_VOCAB, ChainCost
from edgespec.bench.score import Divergence, Score, Total, totals
from edgespec.costs import PassCosts
from edgespec.sizes import gibibytes

_HEADER = (
    "prompt",
    "temp",
    "drafter",
    "tokens",
    "tok/s",
    "x plain",
    "tok/pass",
    "accept",
    "by position",
    "step ms",
    "overhead ms",
    "share",
    "verify ms",
    "text",
)
_CHAIN_HEADER = ("setting", "row", "kept", "shape ms", "best ms", "draw ms")
_LEFT = {"prompt", "drafter", "by position", "text", "setting", "row"}
_POSITIONS = 4
"""Positions shown in the table; the JSON has all."""


def lines(result: Result) -> Iterator[str]:
    """The whole report."""
    yield from _about(result)
    yield ""
    yield from table(_HEADER, [_row(score) for score in result.scores])
    yield ""
    yield from _totals(totals(result.scores))
    yield ""
    yield from _texts(result)
    yield ""
    yield from _first_tokens(result)
    yield ""
    yield from _costs(result.pass_costs, result.draft_pass_s)
    yield from _memory(result)
    yield ""
    yield from _sampling(result.sampling)


def score_line(score: Score) -> str:
    """One arm of a cell, as it is told while the benchmark runs."""
    where = f"{score.prompt} at temperature {score.temperature:g}"
    ratio = "" if score.drafter == PLAIN else f", {score.ratio:.2f}x plain"
    return f"{where}: {score.drafter} {score.tokens_per_s:.1f} tok/s{ratio}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as their widest cell."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    for row in (header, *rows):
        cells = (
            cell.ljust(width) if name in _LEFT else cell.rjust(width)
            for name, cell, width in zip(header, row, widths, strict=True)
        )
        yield "  ".join(cells).rstrip()


def _row(score: Score) -> tuple[str, ...]:
    by_position = " ".join(f"{p:.2f}" for p in score.acceptance_per_position[:_POSITIONS])
    return (
        score.prompt,
        f"{score.temperature:g}",
        score.drafter,
        str(score.n_tokens),
        f"{score.tokens_per_s:.1f}",
        f"{score.ratio:.2f}",
        f"{score.tokens_per_pass:.2f}",
        "-" if score.acceptance is None else f"{score.acceptance:.2f}",
        by_position or "-",
        f"{score.step_ms:.1f}",
        f"{score.overhead_ms:.2f}",
        f"{score.overhead_share:.1%}",
        f"{score.verify_ms:.2f}",
        _text(score),
    )


def _text(score: Score) -> str:
    if score.drafter == PLAIN:
        return ""
    if not score.is_comparable:
        return "other draws"
    return "equal" if score.differs_at is None else f"differs from token {score.differs_at + 1}"


def _about(result: Result) -> Iterator[str]:
    model, hardware = result.description, result.hardware
    draft = f", draft {model.draft} {model.draft_quant}" if model.draft else ""
    yield f"target {model.target} {model.target_quant}{draft}; {model.backend}"
    yield f'--drafter auto takes "{model.drafter}"' + (
        f": {model.drafter_note}" if model.drafter_note else ""
    )
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    yield versions + (f", commit {result.commit[:9]}" if result.commit else "")
    cores = hardware["cores"]
    yield f"{hardware['cpu']}, {cores['usable']} of {cores['logical']} cores; {hardware['system']}"
    if hardware["load"] is not None and result.load_after is not None:
        yield f"load average {hardware['load']:.1f} before, {result.load_after:.1f} after"
    yield (
        f"up to {result.plan.max_tokens} tokens per answer, {2 * result.plan.n_rounds} answers "
        f"per arm in turns, medians; took {result.seconds:.0f} s"
    )
    if result.left_out:
        names = ", ".join(result.left_out)
        yield f"left out, too long for a context of {result.description.n_ctx}: {names}"


def _totals(found: Sequence[Total]) -> Iterator[str]:
    for total in found:
        yield (
            f"{total.drafter} at temperature {total.temperature:g}: {total.ratio:.2f}x plain in "
            f"the geometric mean; best {total.best.prompt} {total.best.ratio:.2f}, worst "
            f"{total.worst.prompt} {total.worst.ratio:.2f}; slower than plain on "
            f"{total.n_losses} of {total.n_prompts} prompts"
        )


def _texts(result: Result) -> Iterator[str]:
    n_greedy = sum(s.temperature == 0 and s.drafter != PLAIN for s in result.scores)
    if n_greedy and not result.divergences:
        yield f"greedy texts: all {n_greedy} equal plain decoding's"
    for found in result.divergences:
        yield divergence_line(found)


def divergence_line(found: Divergence) -> str:
    """A greedy answer that is not plain decoding's, and whether rounding explains it."""
    difference = found.difference
    where = f"{found.prompt}, {found.drafter}: greedy text differs from token {difference.at + 1}"
    if difference.plain is None or difference.other is None:
        return f"{where}: NOT LOSSLESS, one answer ended and the other went on"
    what = (
        f"{where}: {found.other_text!r} for {found.plain_text!r}; these are "
        f"{difference.gap:.3f} apart, passes of one row and of many differ by "
        f"{difference.deviation:.3f}"
    )
    return f"{what}: a near-tie" if difference.is_near_tie else f"{what}: NOT LOSSLESS"


def _first_tokens(result: Result) -> Iterator[str]:
    for cell in {cell.prompt: cell for cell in result.cells}.values():
        yield (
            f"{cell.prompt}: first token after {cell.ttft_s:.2f} s with nothing cached, "
            f"{cell.prompt_tokens} tokens of prompt"
        )


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
