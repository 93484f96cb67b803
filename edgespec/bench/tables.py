"""Figures as cells of tables: the same words in the terminal, in Markdown and in the README."""

import math
from collections.abc import Iterator, Sequence

from edgespec.bench.engine import PLAIN
from edgespec.bench.intervals import Interval
from edgespec.bench.latency import Latency
from edgespec.bench.result import Result
from edgespec.bench.score import Score
from edgespec.bench.total import Total
from edgespec.sizes import gibibytes

NONE = "-"
Rows = list[tuple[str, ...]]
TEXT_COLUMNS = frozenset(
    {"prompt", "arm", "by position", "text", "setting", "row", "best", "worst", "build", "engine",
     "answers", "place", "kind", "drafter", "use"}
)  # fmt: skip
_SPEED_HEADER = (
    "tok/s", "x plain", "95 %", "x own", "ttft s", "median ms", "p95 ms", "p99 ms", "worst ms",
)  # fmt: skip
SCORE_HEADER = (
    "prompt", "temp", "arm", "tokens", *_SPEED_HEADER, "tok/pass", "accept", "text",
)  # fmt: skip
TOTAL_HEADER = (
    "arm", "temp", "prompts", *_SPEED_HEADER, "accept", "length", "slower on", "best", "worst",
)  # fmt: skip
TIME_HEADER = ("arm", "temp", "draft", "target", "verify", "host", "by position", "J/token")
STREAM_HEADER = (
    "readers", "arm", "answers", "tok/s in all", "x plain", "95 %", "tok/s each", "ttft s",
    "worst ttft s",
)  # fmt: skip
PLACE_HEADER = ("place", "planned MiB", "allocated MiB", "difference")
BUILD_HEADER = ("engine", "version", "threads", "peak memory", "x plain", "build")
_POSITIONS = 4
"""Positions shown in a table; the JSON has all."""


def number(value: float | None, digits: int) -> str:
    """A number, or that there is none."""
    return NONE if value is None or math.isnan(value) else f"{value:,.{digits}f}"


def spread(interval: Interval | None) -> str:
    """For example "1.52-1.61"."""
    return NONE if interval is None else f"{interval.low:.2f}-{interval.high:.2f}"


def score_rows(result: Result) -> Rows:
    """A row per arm and cell."""
    return [_score_row(score) for score in result.scores]


def _score_row(score: Score) -> tuple[str, ...]:
    return (
        score.prompt,
        f"{score.temperature:g}",
        score.arm,
        str(score.n_tokens),
        *_speed(score),
        number(score.tokens_per_pass, 2),
        number(score.acceptance, 2),
        text_of(score),
    )


def _speed(found: Score | Total) -> tuple[str, ...]:
    """The columns from tokens per second to the worst gap."""
    return (
        f"{found.tokens_per_s:.1f}",
        f"{found.ratio:.2f}",
        spread(found.interval),
        number(found.own_ratio, 2),
        number(found.ttft_s, 2),
        *_latency(found.latency),
    )


def _latency(found: Latency | None) -> tuple[str, str, str, str]:
    if found is None:
        return (NONE,) * 4
    times = (found.median_ms, found.p95_ms, found.p99_ms, found.worst_gap_ms)
    return tuple(f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" for ms in times)  # type: ignore[return-value]


def text_of(score: Score) -> str:
    """Whether the answer is plain decoding's."""
    if score.arm == PLAIN:
        return ""
    if not score.is_comparable:
        return "not told" if score.temperature == 0 else "other draws"
    return "equal" if score.differs_at is None else f"differs from token {score.differs_at + 1}"


def total_rows(result: Result) -> Rows:
    """A row per arm and temperature."""
    return [_total_row(total) for total in result.totals]


def _total_row(total: Total) -> tuple[str, ...]:
    is_plain = total.arm == PLAIN
    return (
        total.arm,
        f"{total.temperature:g}",
        str(total.n_prompts),
        *_speed(total),
        number(total.acceptance, 2),
        number(total.mean_acceptance_length, 2),
        "" if is_plain else f"{total.n_losses} of {total.n_prompts}",
        "" if is_plain else f"{total.best.prompt} {total.best.ratio:.2f}",
        "" if is_plain else f"{total.worst.prompt} {total.worst.ratio:.2f}",
    )


def time_rows(result: Result) -> Rows:
    """Where the time of each arm went; arms of which nobody knows are left out."""
    rows = []
    for total in result.totals:
        if total.shares is None:
            continue
        shares = total.shares
        parts = (shares.draft, shares.target, shares.verify, shares.host)
        rows.append(
            (
                total.arm,
                f"{total.temperature:g}",
                *(f"{part:.1%}" for part in parts),
                by_position(total.acceptance_per_position),
                number(total.energy_j_per_token, 2),
            )
        )
    return rows


def by_position(rates: Sequence[float]) -> str:
    """How often the first draft positions were accepted."""
    return " ".join(f"{rate:.2f}" for rate in rates[:_POSITIONS]) or NONE


def stream_rows(result: Result) -> Rows:
    """A row per number of readers and arm."""
    return [
        (
            str(score.n_streams),
            score.arm,
            "together" if score.is_batched else "one by one",
            f"{score.tokens_per_s:.1f}",
            f"{score.ratio:.2f}",
            spread(score.interval),
            f"{score.reader_tokens_per_s:.1f}",
            f"{score.ttft_s:.2f}",
            f"{score.worst_ttft_s:.2f}",
        )
        for score in result.streams
    ]


def place_rows(result: Result) -> Rows:
    """A row per device, host memory included: how well the plan knew beforehand."""
    return [
        (
            place.where,
            number(place.planned_bytes / 2**20, 1),
            number(place.allocated_bytes / 2**20, 1),
            f"{place.allocated_bytes / place.planned_bytes - 1:+.1%}"
            if place.planned_bytes
            else NONE,
        )
        for place in result.places
    ]


def build_rows(result: Result) -> Rows:
    """A row per engine: what differs from edgespec's own build is told beside the ratio (at the
    first temperature), so that nobody takes a compiler's work for an algorithm's."""
    engines = list({note.engine: note for note in reversed(result.arms)}.values())[::-1]
    ours = engines[0].build
    ratios = {total.arm: total.ratio for total in reversed(result.totals)}
    rows: Rows = []
    for note in engines:
        build = note.build
        missing = sorted(set(ours.features) - set(build.features))
        more = sorted(set(build.features) - set(ours.features))
        if note is engines[0]:
            told = " ".join(build.features)
        elif not build.features:
            told = build.note or "not told"
        else:
            parts = [f"without {' '.join(missing)}"] * bool(missing)
            parts += [f"with {' '.join(more)}"] * bool(more)
            told = "; ".join(
                [*(parts or ["the same features"]), *([build.note] * bool(build.note))]
            )
        peak = NONE if note.peak_bytes is None else gibibytes(note.peak_bytes)
        threads = NONE if build.n_threads is None else str(build.n_threads)
        ratio = number(ratios.get(note.arm), 2)
        rows.append((note.engine, build.version, threads, peak, ratio, told))
    return rows


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as their widest cell: words left, numbers right."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    for row in (header, *rows):
        cells = (
            cell.ljust(width) if name in TEXT_COLUMNS else cell.rjust(width)
            for name, cell, width in zip(header, row, widths, strict=True)
        )
        yield "  ".join(cells).rstrip()


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The same in Markdown."""
    yield _markdown_row(header)
    yield _markdown_row(["---" if name in TEXT_COLUMNS else "---:" for name in header])
    for row in rows:
        yield _markdown_row(row)


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
