"""One benchmark from loading to its result."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter

from edgespec.api.types import DraftVocab, Placing
from edgespec.bench import facts
from edgespec.bench.conditions import Conditions, look
from edgespec.bench.coverage import NO_TIME
from edgespec.bench.energy import Rapl
from edgespec.bench.engine import OURS
from edgespec.bench.field import Field
from edgespec.bench.measure import Cell, Plan, fitting, measure
from edgespec.bench.memory import Memory, logged_buffers, peak_bytes
from edgespec.bench.ours import OurEngine
from edgespec.bench.peers.find import Found, PeerWish
from edgespec.bench.peers.find import find as find_peers
from edgespec.bench.peers.types import Build, PeerInputs
from edgespec.bench.result import ArmNote, Result, asked, lengths_seen, passes_seen
from edgespec.bench.rig import Rig
from edgespec.bench.sampling import chain_costs
from edgespec.bench.score import Score, scores
from edgespec.bench.streams import StreamScore, measure_streams, shared_out, with_rest
from edgespec.bench.texts import divergences_of
from edgespec.bench.total import totals
from edgespec.drafters import DRAFTERS, find
from edgespec.errors import ContextOverflow


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be loaded, and who shall take part."""

    target: str | Path
    draft: str | Path | None
    draft_vocab: DraftVocab = "same"
    n_threads: int | None = None
    peers: tuple[PeerWish, ...] = ()
    streams: tuple[int, ...] = ()
    """Numbers of readers at once; empty: only one is measured."""
    has_chain: bool = True
    """Measure the sampling chain too."""
    placing: Placing | None = None
    """Where the models go; None: where they fit best."""
    documents: tuple[str, ...] = ()
    """Texts that drafts may come from, beside the prompts; the user's own index never is."""

    def load(self, progress: Callable[[str, float], None]) -> Rig:
        """Load the models. Raises: as `edgespec.load`."""
        return Rig.load(
            self.target,
            self.draft,
            self.n_threads,
            progress,
            self.placing,
            self.draft_vocab,
            self.documents,
        )


@dataclass(frozen=True, slots=True)
class Ears:
    """Who hears of the benchmark while it runs."""

    progress: Callable[[str, float], None] = lambda phase, fraction: None
    """Of loading."""
    tell: Callable[[str], None] = lambda text: None
    """What runs now."""
    show: Callable[[list[Score], int], None] = lambda found, n_turns: None
    """Of the arms of a cell's last turn, their scores over so many turns; intervals come at the
    end."""
    is_stopped: Callable[[], bool] = lambda: False
    """Asked before every answer: whether to end with what is measured."""


def run(wish: Wish, plan: Callable[[Sequence[str]], Plan], ears: Ears = Ears()) -> Result:
    """Load, measure, judge. `plan` is asked once it is known which drafters could be built.

    Raises: `KeyboardInterrupt` when it was stopped before anything was measured.
    """
    began_s, hardware, before = perf_counter(), facts.hardware(), look()
    energy = Rapl()
    with ExitStack() as stack:
        with logged_buffers() as log:
            rig = wish.load(ears.progress)
        stack.callback(rig.close)
        wished = plan(tuple(rig.drafters))
        planned = within_context(rig, wished)
        peers = find_peers(wish.peers, _peer_inputs(rig, wish, energy), ears.tell)
        stack.callback(peers.close)
        field = Field([OurEngine(rig, planned.arms, energy), *peers.peers])
        plain_of = {arm: engine.plain for arm, engine in field.arms.items()}
        alone, crowded = shared_out(_time_left(planned, began_s), field, wish.streams)
        cells = _cells(field, alone, plain_of, ears)
        crowded = with_rest(crowded, planned, perf_counter() - began_s)
        streams = tuple(measure_streams(field, crowded, ears.tell, is_stopped=ears.is_stopped))
        memory = Memory(  # before what is only done to judge
            peak_bytes(), {**log.buffers, "output": rig.output_bytes}
        )
        notes = _arm_notes(rig, field, peers, memory)
        peers.close()
        ears.tell("comparing texts")
        scored = scores(cells, plain_of, _is_deterministic)
        divergences = tuple(divergences_of(rig, planned, cells))
        ears.tell("measuring the sampling chain")
        return Result(
            asked=asked(planned, rig.n_threads, rig.model.description.n_ctx),
            model=asdict(rig.model.description),
            plan=rig.plan,
            places=rig.places,
            arms=notes,
            cells=cells,
            scores=tuple(scored),
            totals=tuple(totals(cells, scored)),
            divergences=divergences,
            streams=streams,
            pass_costs=rig.pass_costs,
            draft_pass_s=rig.draft_pass_s,
            passes=passes_seen(cells),
            lengths=lengths_seen(cells),
            sampling=tuple(chain_costs()) if wish.has_chain else (),
            memory=memory,
            versions=facts.versions(),
            hardware=hardware,
            conditions=Conditions(before, look(), energy.reason),
            commit=facts.commit(),
            seconds=perf_counter() - began_s,
            left_out={
                **_prompts_left_out(wished, planned, cells),
                **_levels_left_out(wish.streams, streams),
                **({"what was not reached": "stopped on request"} if ears.is_stopped() else {}),
                **peers.missing,
                **field.failures,
            },
            command=shlex.join(["edgespec", *sys.argv[1:]]),
        )
    raise AssertionError("the stack swallows nothing")


def _time_left(plan: Plan, began_s: float) -> Plan:
    """The plan in what loading and the peers' starts left of the time."""
    if plan.budget_s is None:
        return plan
    return replace(plan, budget_s=max(1.0, plan.budget_s - (perf_counter() - began_s)))


def _cells(
    field: Field, plan: Plan, plain_of: Mapping[str, str | None], ears: Ears
) -> tuple[Cell, ...]:
    cells: dict[tuple[str, float], Cell] = {}
    for cell in measure(field, plan, ears.tell, is_stopped=ears.is_stopped):
        cells[cell.prompt, cell.temperature] = cell
        took_part = {run.arm for run in cell.turns[-1]}
        found = scores([cell], plain_of, _is_deterministic)
        ears.show([score for score in found if score.arm in took_part], len(cell.turns))
    if not cells:
        raise KeyboardInterrupt  # without a stop there is always one
    asked_for = [(p.name, temperature) for p in plan.prompts for temperature in plan.temperatures]
    return tuple(cells[key] for key in asked_for if key in cells)


def _peer_inputs(rig: Rig, wish: Wish, energy: Rapl) -> PeerInputs:
    return PeerInputs(
        target=rig.target_path,
        draft=rig.draft_path,
        n_ctx=rig.model.description.n_ctx,
        n_threads=rig.n_threads,
        n_slots=max(wish.streams, default=1),
        tokens_of=lambda prompt: rig.tokens_of(prompt).tolist(),
        energy_j=energy,
        quant=rig.model.description.target_quant,
    )


def _arm_notes(rig: Rig, field: Field, peers: Found, memory: Memory) -> tuple[ArmNote, ...]:
    ours = Build(facts.versions()["edgespec"], rig.features, rig.n_threads)
    builds = {peer.name: (peer.build, peer.peak_bytes) for peer in peers.peers}
    builds[OURS] = (ours, memory.peak_bytes)
    return tuple(
        ArmNote(arm, engine.name, *builds[engine.name]) for arm, engine in field.all_arms.items()
    )


def _prompts_left_out(wished: Plan, planned: Plan, cells: Sequence[Cell]) -> dict[str, str]:
    fit, measured = {p.name for p in planned.prompts}, {cell.prompt for cell in cells}
    return {
        p.name: NO_TIME if p.name in fit else "too long for the context"
        for p in wished.prompts
        if p.name not in measured
    }


def _levels_left_out(wished: Sequence[int], measured: Sequence[StreamScore]) -> dict[str, str]:
    reached = {score.n_streams for score in measured}
    return {f"{n} readers": f"{NO_TIME} for so many" for n in wished if n not in reached}


def within_context(rig: Rig, plan: Plan) -> Plan:
    """The plan without prompts that are too long. Raises: `ContextOverflow` when all are."""
    n_ctx = rig.model.description.n_ctx
    needs = {p.name: rig.model.count(p.messages) for p in plan.prompts}
    fitted = fitting(plan, lambda p: needs[p.name], n_ctx)
    if not fitted.prompts:
        least = min(needs[p.name] + plan.n_tokens(p) for p in plan.prompts)
        raise ContextOverflow(least, n_ctx, hint="ask for fewer --max-tokens")
    return fitted


def _is_deterministic(name: str) -> bool:
    """Whether sampled texts equal plain decoding's for one seed: drafts without chance do that.

    What "auto" takes is not known here, and other engines draw other numbers.
    """
    drafter = name.partition(":")[0]
    return drafter in DRAFTERS and not find(drafter).needs_draft_model
