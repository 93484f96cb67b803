"""`edgespec doctor`: what works on this machine, what does not, and what to do about it."""

from typing import TYPE_CHECKING

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import log_flags
from edgespec.cli.render import Screen
from edgespec.errors import UsageError

if TYPE_CHECKING:
    from edgespec.api.types import DraftVocab
    from edgespec.doctor import Report


@click.command()
@click.option(
    "--pair", nargs=2, metavar="TARGET DRAFT", help="Prove that drafting loses nothing with these."
)
@click.option("--draft-vocab", type=click.Choice(("same", "intersect")), default="same",
              help="With --pair: of another vocabulary, through what both share.")  # fmt: skip
@click.option("--quick", is_flag=True, help="With --pair: one prompt instead of four.")
@click.option("--curve", metavar="MODEL", help="Measure what its passes cost by their rows.")
@click.option("--draft", metavar="MODEL|off|auto", help="With --curve: the draft model.")
@click.option("--recycling", metavar="MODEL", help="Measure whether token recycling would pay.")
@click.option("--cascade", nargs=2, metavar="TARGET DRAFT[,SMALLER]",
              help="Count the passes that a cascade spares.")  # fmt: skip
@click.option("--rpc", metavar="HOST:PORT,...",
              help="Ask these workers too; with --curve: measure on them.")  # fmt: skip
@log_flags
@click.pass_obj
def doctor(
    shared: Shared,
    /,
    pair: tuple[str, str] | None,
    draft_vocab: "DraftVocab",
    quick: bool,
    curve: str | None,
    draft: str | None,
    recycling: str | None,
    cascade: tuple[str, str] | None,
    rpc: str | None,
) -> int:
    """Report build, devices, memory and models; or check a pair, or measure a model.

    Exits with 1 when something needs mending.
    """
    modes = {"--pair": pair, "--curve": curve, "--recycling": recycling, "--cascade": cascade}
    asked = [flag for flag, value in modes.items() if value is not None]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} exclude each other", hint="one at a time")
    if rpc is not None and asked not in ([], ["--curve"]):
        raise UsageError(f"{asked[0]} knows no workers", hint="leave --rpc out")
    for flag, is_said, mode, is_asked in (
        ("--quick", quick, "--pair", pair),
        ("--draft-vocab", draft_vocab != "same", "--pair", pair),
        ("--draft", draft is not None, "--curve", curve),
    ):
        if is_said and is_asked is None:
            raise UsageError(f"{flag} is for {mode}", hint=f"leave it out, or add {mode}")
    if pair is not None:
        return _check_pair(shared.screen, *pair, draft_vocab, is_quick=quick)
    if curve is not None:
        return _show_curve(shared.screen, curve, draft, rpc)
    if recycling is not None:
        return _show_recycling(shared.screen, recycling)
    if cascade is not None:
        return _show_cascade(shared.screen, *cascade)
    from edgespec.doctor import report

    return show(shared.screen, report(rpc or ""))


def show(screen: Screen, report: "Report") -> int:
    """Print a report. Returns: the exit code it stands for."""
    for section in report.sections:
        screen.line(section.title)
        for finding in section.findings:
            mark = "!" if finding.is_problem else " "
            screen.line(f" {mark} {finding.name:<18} {finding.value}")
            if finding.hint:
                screen.line(f"   {'':<18} hint: {finding.hint}")
    return 1 if report.problems else 0


def _check_pair(
    screen: Screen, target: str, draft: str, draft_vocab: "DraftVocab", *, is_quick: bool
) -> int:
    from edgespec.proof.pair import prove
    from edgespec.proof.words import lines

    proof = prove(
        target,
        draft,
        draft_vocab=draft_vocab,
        is_quick=is_quick,
        progress=lambda phase, share: screen.status(phase),
    )
    for line in lines(proof):
        screen.line(line)
    return 0 if proof.is_lossless else 1


def _show_curve(screen: Screen, target: str, draft: str | None, rpc: str | None) -> int:
    from edgespec.cli.wording import loading_line
    from edgespec.curve import curve, lines

    found = curve(
        target,
        None if draft == "off" else draft or "auto",
        lambda phase, share: screen.status(loading_line(phase, share)),
        rpc,
    )
    for line in lines(found, bar="█" if screen.speaks_utf8 else "#"):
        screen.line(line)
    return 0


def _show_recycling(screen: Screen, target: str) -> int:
    from edgespec.cli.wording import loading_line
    from edgespec.proof.recycled import lines, measure

    found = measure(target, lambda phase, share: screen.status(loading_line(phase, share)))
    for line in lines(found):
        screen.line(line)
    return 0


def _show_cascade(screen: Screen, target: str, draft: str) -> int:
    from edgespec.cli.wording import loading_line
    from edgespec.proof.cascaded import lines, measure

    found = measure(target, draft, lambda phase, share: screen.status(loading_line(phase, share)))
    for line in lines(found):
        screen.line(line)
    return 0
