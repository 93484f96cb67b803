"""`edgespec bench`: what is measured, and where the result goes."""

import click

from edgespec.cli.flags import log_flags

SHORT, FULL = "short", "full"
_TOKENS = 128
_QUICK_TOKENS = 48


@click.command()
@click.option("-t", "-m", "--target", required=True, metavar="MODEL", help="Model to measure.")
@click.option("--draft", metavar="MODEL|off|auto", help="Draft model. Default: auto.")
@click.option("--drafters", metavar="NAME,…", default="", help="Default: all that can be built.")
@click.option("--suite", type=click.Choice((SHORT, FULL)), help="Short prompts, or long ones too.")
@click.option("--quick", is_flag=True, help="Short prompts and short answers.")
@click.option("-n", "--max-tokens", type=click.IntRange(min=1), metavar="N", help="Per answer.")
@click.option("--temp", "temperatures", type=click.FloatRange(min=0), multiple=True, metavar="T",
              help="Temperature (repeatable). Default: 0 and 0.7.")  # fmt: skip
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="CPU threads.")
@click.option("--json", "json_file", metavar="FILE|-", help="Write all figures as JSON.")
@log_flags
def bench(
    target: str,
    draft: str | None,
    drafters: str,
    suite: str | None,
    quick: bool,
    max_tokens: int | None,
    temperatures: tuple[float, ...],
    threads: int | None,
    json_file: str | None,
) -> int:
    """Measure every drafter against plain decoding, in turns, on this machine.

    Exits with 1 when a greedy text is not plain decoding's and no near-tie explains it.
    """
    from edgespec.bench.main import chosen, run
    from edgespec.bench.measure import Plan
    from edgespec.bench.report import lines, score_line
    from edgespec.bench.score import Score
    from edgespec.bench.suite import prompts
    from edgespec.cli.render import Screen
    from edgespec.cli.wording import loading_line

    screen = Screen()
    _check_writable(json_file)
    names = [name.strip() for name in drafters.split(",") if name.strip()]
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
    if json_file != "-":
        for line in lines(result):
            screen.line(line)
    if json_file is not None:
        _write(json_file, result.to_dict())
    return 0 if result.is_lossless else 1
