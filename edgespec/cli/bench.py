"""`edgespec bench`: what is measured, and where the result goes."""

import json
from pathlib import Path

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import THREADS, log_flags
from edgespec.errors import UsageError

SHORT, FULL = "short", "full"
_TOKENS = 128
_QUICK_TOKENS = 48
_FILE = click.Path(dir_okay=False, writable=True, allow_dash=True, path_type=Path)


@click.command()
@click.option("-t", "-m", "--target", required=True, metavar="MODEL", help="Model to measure.")
@click.option("--draft", metavar="MODEL|off|auto", help="Draft model. Default: auto.")
@click.option(
    "--drafters",
    metavar="NAME,...",
    default="",
    help="For example none,suffix. Default: all that can be built.",
)
@click.option(
    "--suite",
    type=click.Choice((SHORT, FULL)),
    help="Short prompts, or long ones too. Default: full.",
)
@click.option("--quick", is_flag=True, help="Short prompts, 48 tokens per answer.")
@click.option(
    "-n", "--max-tokens", type=click.IntRange(min=1), metavar="N", help="Per answer. Default: 128."
)
@click.option("--temp", "temperatures", type=click.FloatRange(min=0), multiple=True, metavar="T",
              help="Temperature (repeatable). Default: 0 and 0.7.")  # fmt: skip
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
@click.option("--json", "json_file", type=_FILE, metavar="FILE|-", help="All figures as JSON.")
@log_flags
@click.pass_obj
def bench(
    shared: Shared,
    /,
    target: str,
    draft: str | None,
    drafters: str,
    suite: str | None,
    quick: bool,
    max_tokens: int | None,
    temperatures: tuple[float, ...],
    threads: int | None,
    json_file: Path | None,
) -> int:
    """Measure every drafter against plain decoding, in turns, on this machine.

    Exits with 1 when a greedy text is not plain decoding's and no near-tie explains it.
    """
    from edgespec.bench.main import chosen, run
    from edgespec.bench.measure import Plan
    from edgespec.bench.report import lines, score_line
    from edgespec.bench.score import Score
    from edgespec.bench.suite import prompts
    from edgespec.cli.wording import loading_line
    from edgespec.core import Sampling

    screen = shared.screen
    if json_file is not None and not json_file.parent.is_dir():
        raise UsageError(f"{json_file.parent} is not a folder", hint="--json - prints to stdout")
    names = [name.strip() for name in drafters.split(",") if name.strip()]
    # What is wrong is told before a model is loaded.
    chosen(names, has_draft=draft != "off")
    for temperature in temperatures:
        Sampling(temperature=temperature)
    measured = prompts("short" if (suite or (SHORT if quick else FULL)) == SHORT else "full")

    def plan(has_draft: bool) -> Plan:
        return Plan(
            prompts=measured,
            drafters=chosen(names, has_draft),
            temperatures=temperatures or (0.0, 0.7),
            max_tokens=max_tokens or (_QUICK_TOKENS if quick else _TOKENS),
        )

    def show(scored: list[Score]) -> None:
        for score in scored:
            screen.note(score_line(score))

    result = run(
        target,
        draft=None if draft == "off" else draft or "auto",
        n_threads=threads,
        plan=plan,
        progress=lambda phase, fraction: screen.status(loading_line(phase, fraction)),
        tell=screen.status,
        show=show,
    )
    text = json.dumps(result.to_dict(), indent=1)
    if json_file == Path("-"):
        screen.line(text)
    else:
        for line in lines(result):
            screen.line(line)
    if json_file is not None and json_file != Path("-"):
        json_file.write_text(text + "\n", encoding="utf-8")
    return 0 if result.is_lossless else 1
