"""`edgespec plan`: what would go where, in bytes, before anything is loaded."""

import json
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import log_flags
from edgespec.cli.numbers import Whole
from edgespec.cli.placing import loading_of, placing_flags
from edgespec.cli.render import Screen
from edgespec.errors import UsageError
from edgespec.plan.types import DraftWish

if TYPE_CHECKING:
    from edgespec.api.types import Placing
    from edgespec.hardware.types import HardwareReport
    from edgespec.plan.types import Placement, Plan

_SOME = Whole(16)


@click.command()
@click.argument("target", metavar="TARGET")
@click.option("--draft", default="auto", metavar="MODEL[,SMALLER]|off|auto", help="Default: auto.")
@click.option("-c", "--ctx", type=_SOME, metavar="N", help="Context length in tokens.")
@placing_flags
@click.option("--hardware", metavar="NAME", help="rtx4090, 2x-rtx4090, m4-max-64, cpu-32, ...")
@click.option("--json", "is_json", is_flag=True, help="Print one JSON object.")
@log_flags
@click.pass_obj
def plan(
    shared: Shared,
    /,
    target: str,
    draft: str,
    ctx: int | None,
    hardware: str | None,
    is_json: bool,
    **placing: Any,
) -> None:
    """Show what goes where: weights, caches and buffers, in bytes, with nothing loaded.

    TARGET is a file, a model that is here, or one of the catalogue. With --hardware, for a machine
    that is not here. Exits with 4 when what was asked for does not fit.
    """
    started_s, computed_s = time.perf_counter(), time.process_time()
    from edgespec.api.wishes import asked_of
    from edgespec.plan.gather import gather
    from edgespec.plan.make import make_plan

    said = loading_of(placing)
    wish: DraftWish = "auto" if draft == "auto" else "off" if draft == "off" else "required"
    asked = replace(asked_of(said, wish), n_ctx=ctx)
    machine = _here(said) if hardware is None else _elsewhere(hardware, said)
    gathered = gather(target, draft, asked, machine, is_here=hardware is None)
    for notice in gathered.notices:
        shared.screen.note(f"note: {notice}")
    found = make_plan(gathered.request)
    planned_s, computing_s = time.perf_counter() - started_s, time.process_time() - computed_s
    if is_json:
        shared.screen.line(json.dumps(asdict(found), indent=1))
    else:
        show(shared.screen, found, machine)
    shared.screen.note(f"planned in {planned_s:.2f} s, {computing_s:.2f} s of them computing")


def _here(said: "Placing") -> "HardwareReport":
    from edgespec.api.place import this_machine
    from edgespec.api.wishes import wishes

    _, workers = wishes(said, draft=None)
    return this_machine(workers, said.get("memory_bytes"))


def _elsewhere(name: str, said: "Placing") -> "HardwareReport":
    """A machine of the table, for which neither numpy nor llama.cpp is imported."""
    from edgespec.hardware.machines import machine

    if said.get("rpc") is not None or said.get("memory_bytes") is not None:
        raise UsageError(
            "--hardware plans for another machine, --rpc and --memory for this one",
            hint="leave one out",
        )
    return machine(name)


def show(screen: Screen, found: "Plan", hardware: "HardwareReport") -> None:
    """Print a plan: placements, then every place line by line, then why."""
    titles = {device.name: device.description for device in hardware.devices}
    screen.line(f"{found.target_id}: {_words(found.target)}")
    if found.draft is not None:
        screen.line(f"{found.draft_id}, which drafts: {_words(found.draft)}")
    for name, placement in zip(found.lower_ids, found.lower, strict=True):
        screen.line(f"{name}, which drafts for it: {_words(placement)}")
    if found.n_ctx_most > found.target.n_ctx:
        screen.line(f"--ctx {found.n_ctx_most} would fit too")
    for room in found.rooms:
        title = "the machine's own memory" if room.where == "CPU" else titles.get(room.where, "")
        screen.line()
        screen.line(f"{room.where}  {title}".rstrip())
        for line in found.lines:
            if line.where == room.where:
                screen.line(f"  {line.what:<20} {_bytes(line.size_bytes)}")
        if room.shared_bytes:
            screen.line(f"  {'shared with the GPU':<20} {_bytes(room.shared_bytes)}")
        free = "an unknown amount" if room.free_bytes is None else _bytes(room.free_bytes)
        screen.line(f"  {'needed':<20} {_bytes(room.needed_bytes)}")
        screen.line(f"  {'free':<20} {free}")
    screen.line()
    screen.line(f"strategy: {', '.join(found.drafters)}")
    screen.line(f"  {found.reason}")
    for rung in found.rungs:
        screen.line(f"memory is short: {rung.told}")
    for note in found.notes:
        screen.line(f"note: {note}")


def _bytes(n: int) -> str:
    return f"{n:>16,}  {n / 2**20:>10,.1f} MiB"


def _words(placement: "Placement") -> str:
    """A placement in one line."""
    context = f"{placement.n_ctx:,} tokens of context, cache {placement.kv_type}"
    if not placement.devices:
        return f"on the CPU, {context}"
    where = " and ".join(placement.devices)
    if len(placement.devices) > 1:
        where += " (" + " : ".join(f"{share:.1%}" for share in placement.split) + ")"
    return f"{placement.n_gpu_layers} layers on {where}, {context}"
