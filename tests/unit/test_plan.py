"""The ladder: what gives way as memory shrinks, what is refused, what a plan says about it."""

import re
from dataclasses import replace

import pytest

from edgespec.control import LONGEST
from edgespec.drafters import DRAFTERS, find
from edgespec.engine.model import NATIVE_SNAPSHOTS
from edgespec.errors import DoesNotFit, UsageError
from edgespec.plan.fit import MAX_LOGITS, N_SNAPSHOTS
from edgespec.plan.make import make_plan, next_rung
from edgespec.plan.strategy import NEED_BRANCHES, NEED_INDEX, NEED_MODEL
from edgespec.plan.types import Asked, LayerSizes, Plan, PlanRequest
from tests.unit.plan_world import DRAFT, MIB, TARGET, gpu, kinds, machine, model, request


def test_plan_gives_nothing_up_where_all_fits() -> None:
    plan = make_plan(request(gpu("CUDA0", 24 * 1024)))

    assert plan.rungs == ()
    assert plan.target.devices == ("CUDA0",)
    assert plan.draft is not None
    assert plan.draft.devices == ("CUDA0",)
    assert plan.drafters[0] == "suffix+model"
    assert "CUDA0" in plan.reason


def test_plan_gives_things_up_in_order_as_memory_shrinks() -> None:
    reached: list[list[str]] = []
    for free_mib in range(9000, 400, -40):
        found = kinds(make_plan(request(gpu("CUDA0", free_mib))))
        if "n_gpu_layers" in found and "n_ctx" in found:
            found.remove("n_ctx")  # of which some or all comes back beside a layer that left
        if not reached or found != reached[-1]:
            reached.append(found)

    assert reached == [
        [],
        ["draft_kv"],
        ["draft_kv", "draft_kv"],
        ["draft_kv", "draft_kv", "smaller_draft"],
        ["no_draft"],
        ["no_draft", "kv_type"],
        ["no_draft", "kv_type", "n_ctx"],
        ["no_draft", "kv_type", "n_gpu_layers"],
        ["cpu"],
    ]


def test_plan_tells_each_rung_with_its_numbers() -> None:
    plan = make_plan(request(gpu("CUDA0", 4096)))

    told = " / ".join(rung.told for rung in plan.rungs)
    assert "small would take" in told
    assert f"{plan.target.n_gpu_layers} of 33 layers" in told
    assert f"{plan.target.n_ctx:,} tokens instead of 8,192" in told


def test_plan_on_the_cpu_shortens_the_context_to_512_before_it_refuses() -> None:
    shortest = min(make_plan(request(ram_gib=ram / 100)).target.n_ctx for ram in range(450, 480, 2))

    assert 512 <= shortest < 1024


def test_plan_refuses_with_part_need_and_have_when_nothing_fits() -> None:
    with pytest.raises(DoesNotFit) as refusal:
        make_plan(request(ram_gib=2))

    assert refusal.value.exit_code == 4
    assert "target weights 3.8 GiB" in refusal.value.message
    assert "but 2.0 GiB are free" in refusal.value.message
    told = r"with 512 tokens in a cache of type q8_0 it would do with (\d,\d+) MiB free; .*smaller"
    least = re.search(told, refusal.value.hint)
    assert least, refusal.value.hint
    least_gib = int(least[1].replace(",", "")) / 1024
    assert make_plan(request(ram_gib=least_gib)).target.n_ctx == 512
    with pytest.raises(DoesNotFit):
        make_plan(request(ram_gib=least_gib - 0.002))


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        (Asked(n_ctx=131_072, n_gpu_layers=33), "--ctx "),
        (Asked(n_ctx=16_384, kv_type="f16", draft="required", n_gpu_layers=33), "--draft off"),
        (Asked(n_ctx=20_480, kv_type="f16", n_gpu_layers=33), "--kv q8_0 it fits"),
    ],
)
def test_plan_refuses_what_was_asked_for_and_names_what_fits(asked: Asked, hint: str) -> None:
    small = request(gpu("CUDA0", 6800), asked=asked)

    with pytest.raises(DoesNotFit) as refusal:
        make_plan(small)

    assert hint in refusal.value.hint
    assert "on CUDA0" in refusal.value.message


def test_layers_of_the_hint_fit_and_one_more_does_not() -> None:
    card = gpu("CUDA0", 3000)

    with pytest.raises(DoesNotFit) as refusal:
        make_plan(request(card, asked=Asked(n_gpu_layers=33)))

    told = re.fullmatch(r"--gpu-layers (\d+) fits", refusal.value.hint)
    assert told, refusal.value.hint
    n = int(told[1])
    assert make_plan(request(card, asked=Asked(n_gpu_layers=n))).target.n_gpu_layers == n
    with pytest.raises(DoesNotFit):
        make_plan(request(card, asked=Asked(n_gpu_layers=n + 1)))


def test_context_comes_back_beside_the_layers_that_left() -> None:
    for free_mib in range(2000, 3600, 50):
        plan = make_plan(request(gpu("CUDA0", free_mib)))
        told = {rung.kind for rung in plan.rungs}

        assert "n_gpu_layers" in told, free_mib
        assert plan.n_ctx_most < plan.target.n_ctx + 256 or "n_ctx" not in told, free_mib


def test_context_of_the_hint_fits_and_a_longer_one_does_not() -> None:
    asked = Asked(n_ctx=131_072, n_gpu_layers=33)
    with pytest.raises(DoesNotFit) as refusal:
        make_plan(request(gpu("CUDA0", 6800), asked=asked))
    n_ctx = int(refusal.value.hint.split()[1])

    plan = make_plan(request(gpu("CUDA0", 6800), asked=replace(asked, n_ctx=n_ctx)))

    assert plan.target.n_ctx == n_ctx
    assert plan.target.kv_type == "q8_0"
    with pytest.raises(DoesNotFit):
        make_plan(request(gpu("CUDA0", 6800), asked=replace(asked, n_ctx=n_ctx + 256)))


def test_card_with_room_gets_a_longer_context_and_the_cpu_does_not() -> None:
    card = make_plan(request(gpu("CUDA0", 24 * 1024)))
    tight = make_plan(request(gpu("CUDA0", 9500)))
    worker = make_plan(request(gpu("RPC0", 24 * 1024)))
    cpu = make_plan(request())

    assert card.target.n_ctx == 32_768
    assert card.draft is not None
    assert card.draft.n_ctx == 8192
    assert 8192 < tight.target.n_ctx < 32_768
    assert (worker.target.n_ctx, cpu.target.n_ctx) == (8192, 8192)


def test_layers_that_the_machine_has_no_room_for_lie_on_the_card() -> None:
    card, own_gib = gpu("CUDA0", 2500), 3.2
    with pytest.raises(DoesNotFit):
        make_plan(request(card, ram_gib=own_gib, asked=Asked(n_gpu_layers=1)))

    plan = make_plan(request(card, ram_gib=own_gib))

    assert 1 < plan.target.n_gpu_layers < 33
    assert all(room.lacks_bytes == 0 for room in plan.rooms)


def test_context_gives_way_before_layers_that_were_asked_for_are_refused() -> None:
    card = gpu("CUDA0", 4400)

    plan = make_plan(request(card, asked=Asked(n_gpu_layers=33)))

    assert plan.target.n_gpu_layers == 33
    assert 512 <= plan.target.n_ctx < 4096
    assert "n_ctx" in kinds(plan)


def test_next_rungs_shorten_the_context_on_the_cpu_too() -> None:
    wished = request(gpu("CUDA0", 24 * 1024), drafts=(), ram_gib=4.6)
    plan: Plan | None = make_plan(wished)
    seen = []
    while plan is not None:
        seen.append(plan.target)
        plan = next_rung(wished, plan)

    assert seen[-1].devices == ()
    assert seen[-1].n_ctx == 512


def test_refusal_tells_sizes_that_differ() -> None:
    with pytest.raises(DoesNotFit) as refusal:
        make_plan(request(ram_gib=4600 / 1024, drafts=(), asked=Asked(n_ctx=512)))

    assert "need 4,632 MiB of memory" in refusal.value.message
    assert refusal.value.message.endswith("but 4,600 MiB are free")


def test_hint_to_leave_the_draft_out_leaves_its_device_out() -> None:
    asked = Asked(
        n_ctx=512, draft="required", draft_devices=("CUDA0",), devices=("CUDA1",), n_gpu_layers=33
    )
    cards = gpu("CUDA0", 300), gpu("CUDA1", 4400)

    with pytest.raises(DoesNotFit) as refusal:
        make_plan(request(*cards, asked=asked))

    assert refusal.value.hint == "--draft off without --draft-device fits"


@pytest.mark.parametrize("other", ["CUDA1", "RPC0[10.0.0.2:50052]"])
def test_context_that_nobody_asked_for_takes_no_second_device(other: str) -> None:
    card = gpu("CUDA0", 7700)

    alone, beside = make_plan(request(card)), make_plan(request(card, gpu(other, 6000)))

    assert beside.target.devices == alone.target.devices == ("CUDA0",)
    assert beside.target.n_ctx == alone.target.n_ctx > 8192


def test_named_draft_is_not_left_out() -> None:
    plan = make_plan(request(gpu("CUDA0", 4096), asked=Asked(draft="required")))

    assert plan.draft_id == "small"
    assert "no_draft" not in kinds(plan)


def test_longest_context_of_a_plan_fits_with_the_same_pair() -> None:
    wished = request(gpu("CUDA0", 12 * 1024))
    plan = make_plan(wished)

    longer = make_plan(replace(wished, asked=Asked(n_ctx=plan.n_ctx_most)))

    assert plan.n_ctx_most > plan.target.n_ctx
    assert kinds(longer) == []


@pytest.mark.parametrize("n_ctx", [512, 1024, 4096])
def test_longest_context_of_a_plan_is_met_beside_the_draft_that_it_needs(n_ctx: int) -> None:
    asked = Asked(n_ctx=n_ctx, kv_type="q8_0", draft="required", n_gpu_layers=33)
    card = gpu("CUDA0", 6200)

    most = make_plan(request(card, asked=asked)).n_ctx_most

    longest = make_plan(request(card, asked=replace(asked, n_ctx=most)))
    assert longest.target.n_ctx == most > n_ctx


def test_next_rungs_lead_from_the_whole_wish_to_the_cpu_and_end() -> None:
    wished = request(gpu("CUDA0", 24 * 1024))
    plan: Plan | None = make_plan(wished)
    seen = []
    while plan is not None:
        seen.append(plan)
        plan = next_rung(wished, plan)

    first_kinds = list(dict.fromkeys(kind for plan in seen for kind in kinds(plan)))
    assert first_kinds == [
        "draft_kv", "smaller_draft", "no_draft", "kv_type", "n_ctx", "n_gpu_layers", "cpu",
    ]  # fmt: skip
    assert seen[-1].target.devices == ()
    assert seen[-1].target.n_ctx == 512
    assert len(seen) < 40


def test_next_rung_gives_up_nothing_that_was_asked_for() -> None:
    asked = Asked(n_ctx=8192, kv_type="f16", draft="required", n_gpu_layers=33)
    wished = request(gpu("CUDA0", 24 * 1024), asked=asked)
    plan: Plan | None = make_plan(wished)
    seen = []
    while plan is not None:
        seen.append((plan.target.n_ctx, plan.target.kv_type, plan.target.n_gpu_layers))
        assert plan.draft_id == "small"
        plan = next_rung(wished, plan)

    assert set(seen) == {(8192, "f16", 33)}
    assert len(seen) == 3


def test_context_beyond_the_training_is_refused() -> None:
    with pytest.raises(UsageError, match="was trained for 131,072"):
        make_plan(request(asked=Asked(n_ctx=200_000)))


def test_quantised_cache_is_refused_where_heads_do_not_divide() -> None:
    odd = model("odd", n_head_dim=80)

    with pytest.raises(UsageError, match="do not divide"):
        make_plan(PlanRequest(machine(), odd, (), Asked(kv_type="q8_0")))


def test_model_without_a_cache_takes_any_type_of_one() -> None:
    state = LayerSizes(100 * MIB, 0, 0, state_bytes=MIB)
    recurrent = replace(TARGET, layers=(state,) * 32)

    plan = make_plan(PlanRequest(machine(), recurrent, (), Asked(kv_type="q8_0")))

    assert plan.target.kv_type == "q8_0"


def test_experts_and_heads_are_noted() -> None:
    mixture = replace(TARGET, n_expert=64, n_expert_used=8, n_ff_expert=768, has_heads=True)

    plan = make_plan(PlanRequest(machine(), mixture, (DRAFT,)))

    assert any("mixture of experts" in note for note in plan.notes)
    assert any("draft heads" in note for note in plan.notes)


def test_strategy_names_only_drafters_that_can_be_built() -> None:
    wished = request(drafts=())

    found = make_plan(wished)
    indexed = make_plan(replace(wished, has_index=True))
    branching = make_plan(replace(wished, asked=Asked(max_branches=8)))

    assert found.drafters == ("suffix", "none")
    assert "--drafter lookahead or tree" in found.reason
    assert indexed.drafters == ("suffix", "index", "none")
    assert branching.drafters == ("suffix", "lookahead", "tree", "none")
    assert "--drafter" not in branching.reason


@pytest.mark.parametrize(
    ("need", "names"),
    [
        ("needs_draft_model", NEED_MODEL),
        ("needs_branches", NEED_BRANCHES),
        ("needs_index", NEED_INDEX),
    ],
)
def test_strategy_knows_what_the_registry_needs(need: str, names: frozenset[str]) -> None:
    assert {name for name in DRAFTERS if getattr(find(name), need, False)} == names


def test_constants_agree_with_the_engine() -> None:
    assert (MAX_LOGITS, N_SNAPSHOTS) == (LONGEST + 1, NATIVE_SNAPSHOTS)
