"""One benchmark from loading to its result."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from edgespec.bench import facts
from edgespec.bench.measure import PLAIN, Cell, Plan, measure
from edgespec.bench.memory import Memory, logged_buffers, peak_bytes
from edgespec.bench.result import Result
from edgespec.bench.rig import Rig
from edgespec.bench.sampling import chain_costs
from edgespec.bench.score import Divergence, Score, run_of, scores
from edgespec.drafters import DRAFTERS, find
from edgespec.equality import explained
from edgespec.errors import ContextOverflow, UsageError

AUTO = "auto"


def chosen(names: Sequence[str], has_draft: bool) -> tuple[str, ...]:
    """The drafters to measure; none named: all that can be built.

    Raises: `UsageError` for a name that is not known, or that needs a draft model.
    """
    if not names:
        return tuple(name for name in DRAFTERS if has_draft or not find(name).needs_draft_model)
    for name in names:
        if name != AUTO and find(name).needs_draft_model and not has_draft:
            raise UsageError(
                f"the drafter {name!r} needs a draft model", hint="name one with --draft"
            )
    return tuple(dict.fromkeys(names))


def run(
    target: str | Path,
    *,
    draft: str | Path | None,
    n_threads: int | None,
    plan: Callable[[bool], Plan],
    progress: Callable[[str, float], None],
    tell: Callable[[str], None],
    show: Callable[[list[Score]], None],
) -> Result:
    """Load, measure, judge. `plan` is asked once it is known whether there is a draft model.

    `tell` hears what runs now, `show` the scores of each finished cell.
    """
    began_s, hardware = perf_counter(), facts.hardware()
    with logged_buffers() as log:
        rig = Rig.load(target, draft, n_threads, progress)
    try:
        wished = plan(rig.draft is not None)
        planned = _fitting(rig, wished)
        cells: list[Cell] = []
        scored: list[Score] = []
        for cell in measure(rig, planned, tell):
            cells.append(cell)
            found = scores(cell, planned.arms, _is_deterministic)
            scored += found
            show(found)
        buffers = {**log.buffers, "output": rig.output_bytes}
        memory = Memory(peak_bytes(), buffers)  # before what is only done to judge
        tell("comparing texts")
        divergences = tuple(_divergences(rig, planned, cells))
        tell("measuring the sampling chain")
        return Result(
            plan=planned,
            description=rig.model.description,
            cells=tuple(cells),
            scores=tuple(scored),
            divergences=divergences,
            pass_costs=rig.pass_costs,
            draft_pass_s=rig.draft_pass_s,
            sampling=tuple(chain_costs()),
            memory=memory,
            versions=facts.versions(),
            hardware=hardware,
            load_after=facts.load(),
            commit=facts.commit(),
            seconds=perf_counter() - began_s,
            left_out=tuple(p.name for p in wished.prompts if p not in planned.prompts),
        )
    finally:
        rig.close()


def _fitting(rig: Rig, plan: Plan) -> Plan:
    """The plan without prompts that are too long. Raises: `ContextOverflow` when all are."""
    n_ctx = rig.model.description.n_ctx
    needs = {p: rig.model.count(p.text) + plan.max_tokens for p in plan.prompts}
    if min(needs.values()) > n_ctx:
        raise ContextOverflow(min(needs.values()), n_ctx, hint="ask for fewer --max-tokens")
    return replace(plan, prompts=tuple(p for p, needed in needs.items() if needed <= n_ctx))


def _is_deterministic(name: str) -> bool:
    """Whether sampled texts equal plain decoding's for one seed: drafts without chance do that.

    What "auto" takes is not known here.
    """
    return name != AUTO and not find(name).needs_draft_model


def _divergences(rig: Rig, plan: Plan, cells: Sequence[Cell]) -> list[Divergence]:
    """Greedy answers that leave plain decoding's, each measured where it does."""
    texts = {prompt.name: prompt.text for prompt in plan.prompts}
    found = []
    for cell in cells:
        if cell.temperature == 0:
            found += _of_cell(rig, cell, texts[cell.prompt])
    return found


def _of_cell(rig: Rig, cell: Cell, text: str) -> list[Divergence]:
    found = []
    plain = run_of(cell.turns[0], PLAIN).tokens
    answers = {(run.drafter, run.tokens) for turn in cell.turns for run in turn}
    for drafter, tokens in sorted(answers):
        if tokens == plain:
            continue
        difference = explained(rig.target, rig.prompt_tokens(text), plain, tokens)
        assert difference is not None, "the answers differ"
        texts = (rig.text(token) for token in (difference.plain, difference.other))
        found.append(Divergence(cell.prompt, drafter, difference, *texts))
    return found
