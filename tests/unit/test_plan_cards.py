"""Every catalogue entry on every card; and two published tables, with what explains the difference.

The tables were reckoned by hand before the planner existed. `reckoned` repeats their accounting,
so that a difference is one of accounting, not of arithmetic: they count whole files on the card
(the token table stays in the machine's own memory), 512 rows of logits for both models
(`n_outputs_max` leaves 64 and 16), no activations, and a draft's cache as long as its target's.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from edgespec.errors import DoesNotFit
from edgespec.hardware.machines import CARDS, GIB, machine
from edgespec.models.catalogue import Catalogue, load_catalogue
from edgespec.plan import buffers
from edgespec.plan.choice import wish
from edgespec.plan.estimate import estimated
from edgespec.plan.fit import Fit, fit
from edgespec.plan.make import make_plan
from edgespec.plan.types import Asked, KvType, ModelSizes, Placement, Plan, PlanRequest

ONE_PER_SIZE = {gib: name for name, (_, gib) in CARDS.items()}.values()  # cards differ in no more
MACHINES = (*ONE_PER_SIZE, "2x-rtx4090", "2x-12gb", "m1-16", "m4-max-64", "cpu-8", "cpu-32")
LONGEST = 131_072
COLUMNS: tuple[tuple[int, KvType], ...] = (
    (8, "f16"), (12, "f16"), (16, "f16"), (24, "f16"), (32, "f16"),
    (12, "q8_0"), (16, "q8_0"), (24, "q8_0"),
)  # fmt: skip
LARGEST: dict[tuple[str, str | None], tuple[int, ...]] = {
    ("qwen3-8b", "qwen3-0.6b"): (2, 18, 34, 40, 40, 34, 40, 40),
    ("qwen3-14b", "qwen3-0.6b"): (0, 3, 18, 40, 40, 6, 34, 40),
    ("qwen3-32b", "qwen3-0.6b"): (0, 0, 0, 8, 30, 0, 0, 15),
    ("qwen2.5-coder-7b", "qwen2.5-coder-0.5b"): (15, 32, 32, 32, 32, 32, 32, 32),
    ("qwen2.5-coder-14b", "qwen2.5-coder-0.5b"): (0, 5, 25, 32, 32, 9, 32, 32),
    ("qwen2.5-coder-32b", "qwen2.5-coder-0.5b"): (0, 0, 0, 11, 32, 0, 0, 21),
    ("qwen2.5-coder-32b", "qwen2.5-coder-1.5b"): (0, 0, 0, 8, 32, 0, 0, 15),
    ("llama-3.1-8b", "llama-3.2-1b"): (0, 26, 52, 103, 128, 50, 98, 128),
    ("gemma-3-12b", "gemma-3-1b"): (0, 21, 32, 32, 32, 32, 32, 32),
    ("gemma-3-27b", "gemma-3-1b"): (0, 0, 0, 32, 32, 0, 0, 32),
    ("r1-distill-qwen-14b", "r1-distill-qwen-1.5b"): (0, 2, 20, 58, 95, 4, 39, 109),
    ("r1-distill-qwen-32b", "r1-distill-qwen-1.5b"): (0, 0, 0, 8, 37, 0, 0, 15),
    ("gemma-4-26b-a4b", None): (0, 0, 0, 128, 128, 0, 0, 128),
    ("gpt-oss-20b", None): (0, 0, 120, 128, 128, 0, 128, 128),
    ("phi-4", None): (0, 9, 16, 16, 16, 16, 16, 16),
}
"""Thousands of tokens by pair and column; 0: it does not fit."""
_FAMILY_MIB = 363
WITH_MORE: dict[tuple[str, str | None], tuple[tuple[int, ...], int]] = {
    # A draft of 0.45 GB, whose file nobody knows, and its logits; not its cache.
    ("mistral-small-3.2-24b", None): ((0, 0, 2, 53, 104, 0, 4, 100), 429 + 256),
    # A draft head and its logits.
    ("gemma-4-31b", None): ((0, 0, 0, 53, 128, 0, 0, 114), 80 + 512),
    # A draft head of 0.5 GB, its logits, and one recurrent state.
    ("qwen3.8-27b", None): ((0, 0, 0, 53, 128, 0, 0, 100), 477 + 485 + 150),
    # The same amount for each of these, whatever their states and heads: it is not told for what.
    ("qwen3.5-9b", "qwen3.5-0.8b"): ((0, 74, 128, 128, 128, 128, 128, 128), _FAMILY_MIB),
    ("qwen3.6-27b-mtp", None): ((0, 0, 0, 80, 128, 0, 0, 128), _FAMILY_MIB),
    ("qwen3.6-35b-a3b", None): ((0, 0, 0, 56, 128, 0, 0, 106), _FAMILY_MIB),
}
"""Rows that count more on the card than both models: its MiB. Heads are not used yet."""
BESIDE_70B = {
    ("llama-3.2-1b", 4096): ((2.6, True), (2.0, True)),
    ("llama-3.2-1b", 8192): ((4.0, True), (2.8, True)),
    ("llama-3.2-1b", 16_384): ((6.7, False), (4.4, True)),
    ("llama-3.2-3b", 4096): ((3.6, True), (3.0, True)),
    ("llama-3.2-3b", 8192): ((5.3, False), (4.1, True)),
    ("llama-3.1-8b", 4096): ((6.1, False), (5.5, False)),
}
"""GiB of caches and draft, and whether they fit two cards of 24 GB: cache f16, then q8_0."""


@cache
def catalogue() -> Catalogue:
    return load_catalogue()


def sizes(id: str) -> ModelSizes:
    found = estimated(catalogue().models[id])
    assert found is not None
    return found


def pair_on(card: str, target: str, draft: str | None, kv_type: KvType, n_ctx: int) -> Fit:
    """Both on the card with whole caches of one type, whether that fits or not."""
    drafts = (sizes(draft),) if draft else ()
    asked = Asked(n_ctx=n_ctx, kv_type=kv_type, draft="required" if draft else "off")
    request = PlanRequest(machine(card), sizes(target), drafts, asked)
    wished = wish(request, has_gpu=True)
    return fit(request, replace(wished, n_ctx_draft=n_ctx, kv_type_draft=kv_type))


def is_on(card: str, target: str, draft: str | None, kv_type: KvType, n_ctx: int) -> bool:
    """Whether it fits, but for one layer of an eight-bit cache in half precision, which the tables
    leave out: 0.8 GiB of a long one with heads of 512 values."""
    found = pair_on(card, target, draft, kv_type, n_ctx)
    converted = sum(line.size_bytes for line in found.lines if "KV conversion" in line.what)
    return found.shortage_bytes <= converted


def reckoned_bytes(target: str, draft: str | None, kv_type: KvType, n_ctx: int) -> int:
    """What the tables count on the card."""
    total = round(1.45 * GIB)
    for id in filter(None, (target, draft)):
        model, spec = sizes(id), catalogue().models[id]
        context = Placement((), (), 0, "none", n_ctx, 512, 512, kv_type)
        total += spec.planning_bytes or 0
        total += sum(buffers.kv_bytes(model, layer, context) for layer in model.layers)
        total += 512 * model.n_vocab * 4
    return total


def longest(fits: Callable[[int], bool], most: int) -> int:
    """Thousands of tokens, rounded down, up to `most` tokens."""
    least, most = 0, most // 256
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(middle * 256) else (least, middle - 1)
    return least * 256 // 1024


def planned(request: PlanRequest) -> tuple[Plan | None, DoesNotFit | None]:
    """The plan, or the refusal."""
    try:
        return make_plan(request), None
    except DoesNotFit as error:
        return None, error


def most_of(target: str, draft: str | None) -> int:
    """As the tables cap it: by either model's training."""
    trained = [sizes(id).n_ctx_train for id in filter(None, (target, draft))]
    return min(LONGEST, *trained)


@pytest.mark.parametrize("id", [spec.id for spec in catalogue() if spec.kind == "model"])
def test_plan_is_made_or_refused_with_numbers_for_every_entry_on_every_machine(id: str) -> None:
    spec = catalogue().models[id]
    drafts = tuple(map(estimated, catalogue().drafts_of(spec)))
    known = tuple(draft for draft in drafts if draft is not None)

    for name in MACHINES:
        request = PlanRequest(machine(name), sizes(id), known)
        plan, refusal = planned(request)

        if plan is None:
            assert refusal is not None
            assert refusal.hint
            assert "are free" in refusal.message
        else:
            assert all(room.needed_bytes <= (room.free_bytes or 0) for room in plan.rooms)
            assert sum(plan.target.split) == pytest.approx(1.0 if plan.target.devices else 0.0)
            assert plan.target.n_ctx >= 512


@pytest.mark.parametrize(("target", "draft"), LARGEST)
def test_published_largest_contexts_come_out_by_their_own_accounting(
    target: str, draft: str | None
) -> None:
    most = most_of(target, draft)

    reckoned = [
        longest(lambda n: reckoned_bytes(target, draft, kv_type, n) <= gib * GIB, most)  # noqa: B023
        for gib, kv_type in COLUMNS
    ]

    for mine, published in zip(reckoned, LARGEST[target, draft], strict=True):
        assert mine == pytest.approx(published, abs=2, rel=0.02)


@pytest.mark.parametrize(("target", "draft"), WITH_MORE)
def test_rows_that_count_more_come_out_with_that(target: str, draft: str | None) -> None:
    published, more_mib = WITH_MORE[target, draft]

    reckoned = [
        longest(
            lambda n: (
                reckoned_bytes(target, draft, kv_type, n) + (more_mib << 20) <= gib * GIB  # noqa: B023
            ),
            most_of(target, draft),
        )
        for gib, kv_type in COLUMNS
    ]

    for mine, row in zip(reckoned, published, strict=True):
        assert mine == pytest.approx(row, abs=2, rel=0.02)


@pytest.mark.parametrize(("target", "draft"), [*LARGEST, *WITH_MORE])
def test_planned_largest_contexts_are_not_below_the_published_ones(
    target: str, draft: str | None
) -> None:
    most = most_of(target, draft)

    planned = [
        longest(
            lambda n: is_on(f"{gib}gb", target, draft, kv_type, n),  # noqa: B023
            most,
        )
        for gib, kv_type in COLUMNS
    ]

    # Only the masks of a very long eight-bit cache outweigh what the tables overcount.
    row = LARGEST.get((target, draft)) or WITH_MORE[target, draft][0]
    for mine, published in zip(planned, row, strict=True):
        assert mine >= published * 0.98


def test_difference_to_the_published_accounting_is_tables_logits_and_activations() -> None:
    target, draft, n_ctx = "qwen3-14b", "qwen3-0.6b", 8192
    found = pair_on("24gb", target, draft, "f16", n_ctx)
    on_card = {line.what: line.size_bytes for line in found.lines if line.where == "CUDA0"}
    models = (sizes(target), sizes(draft))

    files = sum(catalogue().models[model.id].planning_bytes or 0 for model in models)
    tables = files - sum(model.weight_bytes for model in models)
    logits = sum(512 * model.n_vocab * 4 for model in models)
    activations = on_card["target compute"] + on_card["draft compute"]
    rounding = on_card["backend overhead"] + on_card["margin"] - round(1.45 * GIB)

    assert sum(on_card.values()) - reckoned_bytes(target, draft, "f16", n_ctx) == (
        activations + rounding - tables - logits
    )


@pytest.mark.parametrize(("draft", "n_ctx"), BESIDE_70B)
def test_published_table_of_two_cards_comes_out(draft: str, n_ctx: int) -> None:
    for kv_type, (gib, fits) in zip(("f16", "q8_0"), BESIDE_70B[draft, n_ctx], strict=True):
        asked = Asked(n_ctx=n_ctx, kv_type=kv_type, draft="required")  # type: ignore[arg-type]
        request = PlanRequest(machine("2x-24gb"), sizes("llama-3.3-70b"), (sizes(draft),), asked)
        found = fit(request, replace(wish(request, has_gpu=True), n_ctx_draft=n_ctx))
        beside = sum(
            line.size_bytes
            for line in found.lines
            if line.where != "CPU" and ("KV f16" in line.what or "KV q8_0" in line.what
                                        or line.what == "draft weights")
        )  # fmt: skip

        assert beside / GIB == pytest.approx(gib, abs=0.15)
        assert (found.shortage_bytes == 0) is fits


def test_drafter_lies_on_the_lighter_of_two_cards() -> None:
    request = PlanRequest(machine("2x-rtx4090"), sizes("llama-3.3-70b"), (sizes("llama-3.2-1b"),))

    plan = make_plan(request)

    weights = {x.where: x.size_bytes for x in plan.lines if x.what == "target weights"}
    assert plan.draft is not None
    assert plan.target.split_mode == "layer"
    assert weights[plan.draft.devices[0]] == min(weights["CUDA0"], weights["CUDA1"])
