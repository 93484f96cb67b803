"""The ladder, its refusals, and devices that report odd things."""

import contextlib
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.control import LONGEST
from edgespec.drafters import DRAFTERS, find
from edgespec.engine.model import NATIVE_SNAPSHOTS
from edgespec.errors import DoesNotFit, UsageError
from edgespec.hardware.gpu import read_devices
from edgespec.hardware.types import Cpu, Device, HardwareReport, Memory, Unknown
from edgespec.plan.fit import MAX_LOGITS, N_SNAPSHOTS
from edgespec.plan.lines import owners, shares
from edgespec.plan.make import make_plan, next_rung
from edgespec.plan.strategy import NEED_BRANCHES, NEED_INDEX, NEED_MODEL
from edgespec.plan.types import (
    Asked,
    DraftWish,
    LayerSizes,
    ModelSizes,
    Placement,
    Plan,
    PlanRequest,
)

MIB, GIB = 1 << 20, 1 << 30
CPU = Cpu("a processor", "x86_64", 8, 16, None, 8, ())


def model(
    id: str, layer_mib: int = 100, n_layer: int = 32, *, n_head_dim: int = 128, window: int = 0
) -> ModelSizes:
    """A dense model with a cache of 4 KiB per token and layer."""
    layer = LayerSizes(layer_mib * MIB, 1024, 1024, window)
    return ModelSizes(
        id=id, architecture="llama", layers=(layer,) * n_layer, input_bytes=300 * MIB,
        output_bytes=400 * MIB, tied_bytes=0, n_params=7_000_000_000, n_vocab=128_000,
        n_embd=4096, n_head=32, n_head_dim=n_head_dim, n_ff=14_336, n_ctx_train=131_072,
        largest_bytes=40 * MIB,
    )  # fmt: skip


TARGET = model("big")
DRAFT = model("small", layer_mib=30, n_layer=16)
TINY = model("tiny", layer_mib=5, n_layer=8)


def gpu(name: str, free_mib: float, **more: object) -> Device:
    free = int(free_mib * MIB)
    return replace(Device(name, "a card", "GPU", free, free), **more)  # type: ignore[arg-type]


def machine(*gpus: Device, ram_gib: float = 64) -> HardwareReport:
    ram = int(ram_gib * GIB)
    return HardwareReport("a machine", CPU, Memory(ram, ram, ""), gpus)


def request(
    *gpus: Device,
    asked: Asked = Asked(),
    drafts: tuple[ModelSizes, ...] = (DRAFT, TINY),
    ram_gib: float = 64,
) -> PlanRequest:
    return PlanRequest(machine(*gpus, ram_gib=ram_gib), TARGET, drafts, asked)


def kinds(plan: Plan) -> list[str]:
    return [rung.kind for rung in plan.rungs]


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
        ["no_draft", "kv_type", "n_ctx", "n_gpu_layers"],
        ["cpu"],
    ]


def test_plan_tells_each_rung_with_its_numbers() -> None:
    plan = make_plan(request(gpu("CUDA0", 4096)))

    told = " / ".join(rung.told for rung in plan.rungs)
    assert "small would take" in told
    assert f"{plan.target.n_gpu_layers} of 33 layers" in told
    assert "4,096 tokens instead of 8,192" in told


def test_plan_on_the_cpu_shortens_the_context_to_512_before_it_refuses() -> None:
    shortest = min(make_plan(request(ram_gib=ram / 100)).target.n_ctx for ram in range(450, 480, 2))

    assert 512 <= shortest < 1024


def test_plan_refuses_with_part_need_and_have_when_nothing_fits() -> None:
    with pytest.raises(DoesNotFit) as refusal:
        make_plan(request(ram_gib=2))

    assert refusal.value.exit_code == 4
    assert "target weights 3.8 GiB" in refusal.value.message
    assert "but 2.0 GiB are free" in refusal.value.message
    assert "smaller" in refusal.value.hint


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        (Asked(n_ctx=131_072, n_gpu_layers=33), "--ctx "),
        (Asked(n_ctx=16_384, kv_type="f16", draft="required", n_gpu_layers=33), "draft model"),
        (Asked(n_ctx=20_480, kv_type="f16", n_gpu_layers=33), "--kv q8_0 it fits"),
    ],
)
def test_plan_refuses_what_was_asked_for_and_names_what_fits(asked: Asked, hint: str) -> None:
    small = request(gpu("CUDA0", 6800), asked=asked)

    with pytest.raises(DoesNotFit) as refusal:
        make_plan(small)

    assert hint in refusal.value.hint
    assert "on CUDA0" in refusal.value.message


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        (Asked(draft="required", draft_devices=("CUDA1",)), "without --draft-device it fits"),
        (Asked(n_gpu_layers=33, split_mode="none"), "without --split-mode it fits"),
    ],
)
def test_plan_names_the_wish_about_devices_that_stands_in_the_way(asked: Asked, hint: str) -> None:
    cards = gpu("CUDA0", 4300), gpu("CUDA1", 700)

    with pytest.raises(DoesNotFit) as refusal:
        make_plan(request(*cards, asked=asked))

    assert refusal.value.hint == hint


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


def test_free_memory_counts_not_what_the_card_has() -> None:
    crowded = gpu("CUDA0", 3 * 1024, total_bytes=24 * GIB)

    plan = make_plan(request(crowded))

    assert 0 < plan.target.n_gpu_layers < 33
    assert next(room.free_bytes for room in plan.rooms if room.where == "CUDA0") == 3 * GIB


@pytest.mark.parametrize("free_mib", [0, 1 / MIB, 100])
def test_device_with_next_to_no_memory_gets_nothing(free_mib: float) -> None:
    plan = make_plan(request(gpu("CUDA0", free_mib), gpu("CUDA1", 24 * 1024)))

    assert plan.target.devices == ("CUDA1",)
    assert plan.target.split == (1.0,)


def test_device_of_unknown_memory_gets_nothing() -> None:
    silent = gpu("CUDA0", 0, free_bytes=Unknown("it does not say"))

    plan = make_plan(request(silent))

    assert plan.target.devices == ()


@pytest.mark.parametrize("free", [math.nan, math.inf, -1.0, 2.0**70])
def test_absurd_memory_of_a_backend_is_unknown_and_plans_go_on(free: float) -> None:
    odd = gpu("CUDA0", 0, free_bytes=free, total_bytes=free)

    read = read_devices(lambda: (odd,))  # type: ignore[arg-type,return-value]

    assert isinstance(read, tuple)
    assert isinstance(read[0].free_bytes, Unknown)
    assert make_plan(request(*read)).target.devices == ()


def test_unequal_cards_share_by_their_room() -> None:
    plan = make_plan(request(gpu("CUDA0", 2048), gpu("CUDA1", 4800), drafts=()))

    weights = {x.where: x.size_bytes for x in plan.lines if x.what == "target weights"}
    assert sum(plan.target.split) == pytest.approx(1.0)
    assert plan.target.devices == ("CUDA1", "CUDA0")
    assert weights["CUDA1"] > 2 * weights["CUDA0"]
    assert kinds(plan) == []


def test_integrated_gpu_waits_where_there_is_another() -> None:
    integrated = gpu("Vulkan1", 30 * 1024, kind="IGPU", is_unified=True)

    beside = make_plan(request(integrated, gpu("CUDA0", 12 * 1024)))
    alone = make_plan(request(integrated))

    assert beside.target.devices == ("CUDA0",)
    assert alone.target.devices == ("Vulkan1",)


def test_unified_memory_is_not_counted_twice() -> None:
    apple = gpu("MTL0", 48 * 1024, is_unified=True)

    with pytest.raises(DoesNotFit, match="of memory"):
        make_plan(request(apple, ram_gib=3))


def test_asked_devices_are_taken_and_unknown_ones_refused() -> None:
    cards = gpu("CUDA0", 24 * 1024), gpu("CUDA1", 24 * 1024)
    asked = Asked(devices=("CUDA1",), draft_devices=("CUDA0",))

    plan = make_plan(request(*cards, asked=asked))

    assert plan.target.devices == ("CUDA1",)
    assert plan.draft is not None
    assert plan.draft.devices == ("CUDA0",)
    with pytest.raises(UsageError, match="no device 'CUDA7'"):
        make_plan(request(*cards, asked=Asked(devices=("CUDA7",))))


def test_layers_asked_for_on_gpus_are_not_left_to_the_cpu() -> None:
    crowded = gpu("CUDA0", 100)

    for cards in ((), (crowded,)):
        with pytest.raises(DoesNotFit, match="33 layers of big were asked for on GPUs"):
            make_plan(request(*cards, asked=Asked(n_gpu_layers=33)))


def test_device_that_is_named_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="the device CUDA0 is named twice"):
        make_plan(request(gpu("CUDA0", 24 * 1024), asked=Asked(devices=("CUDA0", "CUDA0"))))


def test_split_by_layers_takes_all_cards_where_one_would_do() -> None:
    cards = gpu("CUDA0", 24 * 1024), gpu("CUDA1", 24 * 1024)

    plan = make_plan(request(*cards, asked=Asked(split_mode="layer")))

    assert plan.target.split_mode == "layer"
    assert plan.target.devices == ("CUDA0", "CUDA1")


def test_tensor_mode_shares_every_matrix_over_all_cards() -> None:
    cards = gpu("CUDA0", 12 * 1024), gpu("CUDA1", 6 * 1024)

    plan = make_plan(request(*cards, asked=Asked(split_mode="tensor")))

    weights = {x.where: x.size_bytes for x in plan.lines if x.what == "target weights"}
    assert plan.target.split_mode == "tensor"
    assert sum(plan.target.split) == pytest.approx(1.0)
    assert weights["CUDA0"] > weights["CUDA1"] > 0
    assert plan.draft is not None
    assert len(plan.draft.devices) == 1


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (Asked(split_mode="tensor"), "several GPUs"),
        (Asked(split_mode="tensor", kv_type="q8_0", devices=("CUDA0", "CUDA1")), "q8_0"),
        (Asked(split_mode="tensor", n_gpu_layers=7, devices=("CUDA0", "CUDA1")), "all layers"),
    ],
)
def test_tensor_mode_is_refused_where_llama_cpp_would_end(asked: Asked, reason: str) -> None:
    cards = (gpu("CUDA0", 12 * 1024), gpu("CUDA1", 12 * 1024))[: 2 if asked.devices else 1]

    with pytest.raises(UsageError, match=reason):
        make_plan(request(*cards, asked=asked))


def test_split_mode_none_takes_one_card() -> None:
    cards = gpu("CUDA0", 4 * 1024), gpu("CUDA1", 4 * 1024)

    plan = make_plan(request(*cards, asked=Asked(split_mode="none")))

    assert len(plan.target.devices) == 1


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


def test_heads_without_a_flash_kernel_keep_their_scores_on_cuda() -> None:
    odd, card = model("odd", n_head_dim=48), gpu("CUDA0", 24 * 1024)

    on_card = make_plan(PlanRequest(machine(card), odd))
    on_cpu = make_plan(PlanRequest(machine(), odd))

    scores = on_card.target.n_ctx * on_card.target.n_batch * odd.n_head * 4
    compute = next(x.size_bytes for x in on_card.lines if x.what == "target compute")
    assert not on_card.target.flash_attention
    assert compute > scores
    assert on_cpu.target.flash_attention


def test_device_that_is_left_out_is_named_with_the_reason() -> None:
    silent = gpu("CUDA0", 0, free_bytes=Unknown("its backend reports no memory"))

    plan = make_plan(request(silent))

    assert "CUDA0 is left out: its backend reports no memory" in plan.notes


def test_experts_and_heads_are_noted() -> None:
    mixture = replace(TARGET, n_expert=64, n_expert_used=8, n_ff_expert=768, has_heads=True)

    plan = make_plan(PlanRequest(machine(), mixture, (DRAFT,)))

    assert any("mixture of experts" in note for note in plan.notes)
    assert any("draft heads" in note for note in plan.notes)


def test_layers_lie_where_llama_cpp_puts_them() -> None:
    placement = Placement(("A", "B"), shares((1, 2)), 3, "layer", 512, 128, 64, "f16")

    places = owners(model("four", n_layer=4), placement)

    assert places == ("CPU", "CPU", "A", "B", "B")


@pytest.mark.parametrize("counts", [(1,), (3, 5), (41, 40), (0, 7), (1, 0, 1), (27, 27, 27)])
def test_shares_sum_to_one_and_give_back_their_counts(counts: tuple[int, ...]) -> None:
    names = tuple("ABC"[: len(counts)])
    placement = Placement(names, shares(counts), sum(counts), "layer", 512, 128, 64, "f16")

    places = owners(model("m", n_layer=sum(counts) - 1), placement)

    assert sum(placement.split) == pytest.approx(1.0)
    assert tuple(places.count(name) for name in names) == counts


FREE_MIB = st.one_of(st.sampled_from([0, 1, 255, 256]), st.integers(0, 48 * 1024))
CARDS = st.lists(st.tuples(FREE_MIB, st.sampled_from(["GPU", "IGPU"]), st.booleans()), max_size=4)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(cards=CARDS, ram_gib=st.integers(1, 64), draft=st.sampled_from(["auto", "required", "off"]))
def test_any_machine_gets_a_plan_that_fits_or_a_refusal(
    cards: list[tuple[int, str, bool]], ram_gib: int, draft: DraftWish
) -> None:
    gpus = [
        gpu(f"CUDA{i}", free, kind=kind, is_unified=is_unified)
        for i, (free, kind, is_unified) in enumerate(cards)
    ]
    wished = request(*gpus, asked=Asked(draft=draft), ram_gib=ram_gib)
    plan: Plan | None = None
    with contextlib.suppress(DoesNotFit):
        plan = make_plan(wished)

    while plan is not None:
        for placement in filter(None, (plan.target, plan.draft)):
            whole = 1.0 if placement.devices else 0.0
            assert sum(placement.split) == pytest.approx(whole)
            assert all(0 <= share <= 1 for share in placement.split)
            assert len(placement.split) == len(placement.devices)
        assert all(room.needed_bytes <= (room.free_bytes or 0) for room in plan.rooms)
        assert (plan.draft is None) == (plan.draft_id is None)
        plan = next_rung(wished, plan)


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
