"""`edgespec bench`: hands the models over to `edgespec.bench`, which measures."""

import click

from edgespec.cli.doors import Doors
from edgespec.cli.flags import log_flags


@click.command()
@click.option("-t", "-m", "--target", required=True, metavar="MODEL", help="Model to measure.")
@click.option("--draft", metavar="MODEL|off|auto", help="Draft model. Default: auto.")
@click.option("-n", "--max-tokens", type=click.IntRange(min=1), metavar="N", help="Per answer.")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="CPU threads.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, not tables.")
@log_flags
@click.pass_obj
def bench(
    doors: Doors,
    target: str,
    draft: str | None,
    max_tokens: int | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Measure every drafter against plain decoding, in turns, on this machine."""
    from edgespec.bench.main import run

    run(doors, target, draft=draft, max_tokens=max_tokens, n_threads=threads, as_json=as_json)
