"""A result as a Markdown document, and as the table that a README shows."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from edgespec.bench import tables
from edgespec.bench.engine import PLAIN
from edgespec.bench.report import INTERVAL_NOTE, about, ahead, texts
from edgespec.bench.result import Result
from edgespec.bench.score import Score
from edgespec.bench.tables import markdown_table

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
    yield f"{INTERVAL_NOTE}. x own: against the same engine's plain decoding."
    yield ""
    yield from (f"- {line}" for line in ahead(result) if line)
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


def readme_table(result: Result, temperature: float = 0.0) -> Iterator[str]:
    """Prompts as rows, arms as columns, losing cells too; ratios to edgespec's plain decoding."""
    scored = [score for score in result.scores if score.temperature == temperature]
    arms = [arm for arm in dict.fromkeys(score.arm for score in scored) if arm != PLAIN]
    cells = {(score.prompt, score.arm): score for score in scored}
    yield f"`{result.command}`, {result.hardware['cpu']}, {result.model['backend']}; times plain "
    yield "decoding of edgespec in the same run, with the 95 % interval over all prompts:"
    yield ""
    header = ["prompt", "plain tok/s", *arms]
    rows = [
        [prompt, f"{cells[prompt, PLAIN].tokens_per_s:.1f}", *_ratios(cells, prompt, arms)]
        for prompt in dict.fromkeys(score.prompt for score in scored)
    ]
    totals = {t.arm: t for t in result.totals if t.temperature == temperature}
    in_all = [f"{totals[arm].ratio:.2f} ({tables.spread(totals[arm].interval)})" for arm in arms]
    rows.append(["**all**", f"{totals[PLAIN].tokens_per_s:.1f}", *in_all])
    yield from markdown_table(header, rows)


def _ratios(cells: dict[tuple[str, str], Score], prompt: str, arms: Sequence[str]) -> Iterator[str]:
    for arm in arms:
        score = cells.get((prompt, arm))
        yield tables.NONE if score is None else f"{score.ratio:.2f}"
