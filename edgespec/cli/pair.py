"""`edgespec pair TARGET`: which models can draft for it, why others cannot, what it may bring."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import log_flags
from edgespec.cli.model_files import resolved
from edgespec.cli.render import Screen

if TYPE_CHECKING:
    from edgespec.api.pairs import Candidate, Pairs
    from edgespec.models.expect import Expected

NOTHING_FITS = 5
"""Exit code: no model, here or of the catalogue, can draft for the target."""
_MARKS = {"fits": "fits", "slow": "slow", "unknown": "?", "unfit": "no"}


@click.command()
@click.argument("target", metavar="TARGET")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@log_flags
@click.pass_obj
def pair(shared: Shared, /, target: str, as_json: bool) -> int:
    """Show which draft models fit TARGET, from the catalogue and from this machine.

    Headers are compared; nothing is loaded. Exits with 5 when nothing fits.
    """
    from edgespec.api.pairs import find_pairs
    from edgespec.models.catalogue import load_catalogue

    screen = shared.screen
    found = find_pairs(resolved(screen, target), load_catalogue())
    if as_json:
        screen.line(json.dumps(_json(found), indent=1))
    else:
        _show(screen, found)
    return 0 if any(one.verdict != "unfit" for one in found.candidates) else NOTHING_FITS


def _show(screen: Screen, found: "Pairs") -> None:
    from edgespec.sizes import gigabytes

    width = max((len(one.name) for one in found.candidates), default=0)
    for one in found.candidates:
        size = gigabytes(one.size_bytes) if one.size_bytes else ""
        mark = "*" if one.is_here else " "
        screen.line(f"{mark} {_MARKS[one.verdict]:<5} {one.name:<{width}} {size:>8}".rstrip())
        for line in _lines(one):
            screen.line(f"          {line}")
    if not found.candidates:
        screen.line("no draft model is known for it, and none is on this machine")
    for note in found.notes:
        screen.note(f"note: {note}")
    if not found.is_here:
        screen.note(f"note: {found.target} is not on this machine: edgespec pull {found.target}")
    best = next((one for one in found.candidates if one.verdict == "fits"), None)
    if best is not None:
        screen.note(f"edgespec chat -t {found.target} --draft {best.name}")
    elif not any(one.is_here and one.verdict == "slow" for one in found.candidates):
        screen.note("--drafter suffix needs no draft model")
    screen.note("* on this machine")


def _lines(one: "Candidate") -> list[str]:
    lines = [line for line in (one.reason, one.note) if line]
    if one.program:
        lines.append(f"{one.program}'s, read in place")
    if one.expected is not None:
        lines.append(f"expect {_times(one.expected)} ({one.expected.source})")
    if one.measured is not None and one.here is not None:
        draft_ms, step_ms = 1000 * one.measured.draft_s, 1000 * one.measured.rows.plain_s
        lines.append(
            f"measured here: {draft_ms:.1f} ms for a draft token, {step_ms:.1f} ms for a plain "
            f"step: {_times(one.here)} ({one.here.source})"
        )
    return lines


def _times(expected: "Expected") -> str:
    low, high = expected.times
    return f"{low:.2f}x" if low == high else f"{low:.2f}x to {high:.2f}x"


def _json(found: "Pairs") -> dict[str, Any]:
    return {
        "target": found.target,
        "here": found.is_here,
        "notes": list(found.notes),
        "candidates": [_candidate_json(one) for one in found.candidates],
    }


def _candidate_json(one: "Candidate") -> dict[str, Any]:
    measured = None
    if one.measured is not None and one.here is not None:
        measured = {
            "draft_s": one.measured.draft_s,
            "step_s": one.measured.rows.plain_s,
            "gain": asdict(one.here),
        }
    return {
        "name": one.name,
        "verdict": one.verdict,
        "reason": one.reason,
        "note": one.note,
        "here": one.is_here,
        "advised": one.is_advised,
        "program": one.program or None,
        "size_bytes": one.size_bytes,
        "token_id": one.token_id,
        "expected": None if one.expected is None else asdict(one.expected),
        "measured": measured,
    }
