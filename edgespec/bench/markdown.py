"""A result as a Markdown document, and as the table that a README shows."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from edgespec.bench import tables
from edgespec.bench.ahead import ahead
from edgespec.bench.engine import PLAIN
from edgespec.bench.readers import paying
from edgespec.bench.report import about, columns_note
from edgespec.bench.result import Result
from edgespec.bench.same_text import texts
from edgespec.bench.score import Score
from edgespec.bench.tables import NONE, markdown_table, number, spread

PLOT_TITLES = {
    "speedup": "Speed-up by task and arm",
    "acceptance": "Acceptance by draft position",
    "curve": "What a pass costs, and how far was drafted",
    "latency": "Latency per token",
    "time": "Where the time went",
    "streams": "Several readers at once",
}


def document(result: Result, plots: Sequence[Path] = (), folder: Path = Path()) -> Iterator[str]:
    """The whole report, to lie in `folder`; `plots` are shown by their place seen from there."""
    yield f"# {result.model['target']}: speculative decoding on this machine"
    yield ""
    yield "```sh"
    yield result.command
    yield "```"
    yield ""
    yield from (f"- {line}" for line in about(result))
    yield ""
    yield from _section("All prompts", tables.TOTAL_HEADER, tables.total_rows(result))
    yield f"{columns_note(result)}. x own: to the same engine's plain decoding."
    yield ""
    if peers := [line for line in ahead(result) if line]:
        yield "## Where another engine is ahead"
        yield ""
        yield from (f"- {line}" for line in peers)
        yield ""
    for plot in plots:
        title = PLOT_TITLES.get(plot.stem, plot.stem)
        yield f"![{title}]({_seen_from(folder, plot)})"
        yield ""
    yield from _section("By prompt", tables.SCORE_HEADER, tables.score_rows(result))
    yield from _section("Where the time went", tables.TIME_HEADER, tables.time_rows(result))
    if result.streams:
        yield from _section(
            "Several readers at once", tables.STREAM_HEADER, tables.stream_rows(result)
        )
        yield from (f"- {line}" for line in paying(result))
        yield ""
    if result.places:
        yield from _section("Memory", tables.PLACE_HEADER, tables.place_rows(result))
    yield from _section("Engines", tables.BUILD_HEADER, tables.build_rows(result))
    yield "## Texts"
    yield ""
    yield from (f"- {line}" for line in texts(result))


def _seen_from(folder: Path, plot: Path) -> str:
    return Path(os.path.relpath(plot, folder)).as_posix()


def _section(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield from markdown_table(header, rows)
    yield ""


def readme_table(result: Result) -> Iterator[str]:
    """Arms as rows, prompts as columns, losing cells too; ratios to edgespec's plain decoding.

    At the lowest temperature that was reached.
    """
    temperature = min(score.temperature for score in result.scores)
    scored = [score for score in result.scores if score.temperature == temperature]
    cells = {(score.prompt, score.arm): score for score in scored}
    labels = _labels(scored)
    totals = [t for t in result.totals if t.temperature == temperature]
    yield f"`{result.command}`, {result.hardware['cpu']}, {result.model['backend']}. Plain decoding"
    at = f", at temperature {temperature:g}" if temperature else ""
    yield f"in tokens per second, all else times edgespec's plain decoding in the same run{at}:"
    yield ""
    rows = []
    for total in totals:
        found = [cells.get((prompt, total.arm)) for prompt in labels]
        if total.arm == PLAIN:
            speeds = (NONE if s is None else number(s.tokens_per_s, 1) for s in found)
            rows.append([f"{total.arm}, tok/s", *speeds, f"{total.tokens_per_s:.1f}", NONE])
            continue
        ratios = (NONE if s is None else number(s.ratio, 2) for s in found)
        rows.append([total.arm, *ratios, f"{total.ratio:.2f}", spread(total.interval)])
    yield from markdown_table(["arm", *labels.values(), "all", "95 %"], rows)


def _labels(scored: Sequence[Score]) -> dict[str, str]:
    """By prompt, a short heading: its kind where that is enough."""
    kinds = {score.prompt: score.kind for score in scored}
    is_enough = len(set(kinds.values())) == len(kinds)
    return kinds if is_enough else {prompt: prompt for prompt in kinds}
