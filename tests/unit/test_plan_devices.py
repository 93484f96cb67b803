"""Which devices take what: by their room, as asked for, and where they report odd things."""

import contextlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.engine.devices import Device as Reported
from edgespec.errors import DoesNotFit, UsageError
from edgespec.hardware.gpu import read_devices
from edgespec.hardware.types import Unknown
from edgespec.plan.lines import owners, shares
from edgespec.plan.make import make_plan, next_rung
from edgespec.plan.types import Asked, DraftWish, Placement, Plan, PlanRequest
from tests.unit.plan_world import GIB, MIB, gpu, kinds, machine, model, request


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        (Asked(draft="required", draft_devices=("CUDA1",)), "without --draft-device it fits"),
        (Asked(n_gpu_layers=33, split_mode="none"), "without --split-mode it fits"),
    ],
)
def test_plan_names_the_wish_about_devices_that_stands_in_the_way(asked: Asked, hint: str) -> None:
    cards = gpu("CUDA0", 4000), gpu("CUDA1", 700)

    with pytest.raises(DoesNotFit) as refusal:
        make_plan(request(*cards, asked=asked))

    assert refusal.value.hint == hint


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
    odd = Reported("CUDA0", "a card", "GPU", free, free)  # type: ignore[arg-type]

    read = read_devices(lambda: (odd,))

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


def test_worker_with_more_memory_leaves_a_model_on_the_card_that_holds_it() -> None:
    card, worker = gpu("CUDA0", 12 * 1024), gpu("RPC0[10.0.0.2:50052]", 24 * 1024)

    plan = make_plan(request(card, worker))

    assert plan.target.devices == ("CUDA0",)
    assert plan.draft is not None
    assert plan.draft.devices == ("CUDA0",)


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


def test_tensor_mode_of_no_layers_computes_on_the_cpu() -> None:
    cards = gpu("CUDA0", 20_000), gpu("CUDA1", 20_000)

    plan = make_plan(request(*cards, asked=Asked(split_mode="tensor", n_gpu_layers=0)))

    assert plan.target.devices == ()


def test_split_mode_none_takes_one_card() -> None:
    cards = gpu("CUDA0", 4 * 1024), gpu("CUDA1", 4 * 1024)

    plan = make_plan(request(*cards, asked=Asked(split_mode="none")))

    assert len(plan.target.devices) == 1


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


def test_device_with_too_little_room_is_named() -> None:
    cards = gpu("CUDA0", 20_000), gpu("CUDA1", 200)

    by_itself = make_plan(request(*cards))
    asked_for = make_plan(request(*cards, asked=Asked(devices=("CUDA0",))))

    assert any("CUDA1 is left out: 200 MiB are free" in note for note in by_itself.notes)
    assert not any("left out" in note for note in asked_for.notes)


def test_device_for_a_draft_that_there_is_not_is_told() -> None:
    plan = make_plan(
        request(gpu("CUDA0", 20_000), drafts=(), asked=Asked(draft_devices=("CUDA0",)))
    )

    assert "there is no draft model to lie on CUDA0" in plan.notes


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Asked(devices=()), "names none"),
        (Asked(draft_devices=()), "names none"),
        (Asked(draft="off", draft_devices=("CUDA0",)), "no draft model is wanted"),
        (Asked(devices=("CUDA0",), n_gpu_layers=0), "0 layers of big shall lie on CUDA0"),
    ],
)
def test_wish_that_contradicts_itself_is_refused(asked: Asked, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_plan(request(gpu("CUDA0", 20_000), asked=asked))


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
