"""Models that draft for the draft model: beside it, with it, and never against its wish."""

from dataclasses import replace

import pytest

from edgespec.errors import DoesNotFit
from edgespec.plan.fit import DRAFT_LOGITS
from edgespec.plan.make import make_plan, next_rung
from edgespec.plan.types import Asked, LayerSizes, ModelSizes, PlanRequest
from tests.unit.plan_world import DRAFT, TARGET, TINY, gpu, machine, model

NAMED = Asked(draft="required")


def asked(*lower: ModelSizes, gpu_gib: float = 24) -> PlanRequest:
    return PlanRequest(machine(gpu("CUDA0", gpu_gib * 1024)), TARGET, (DRAFT,), NAMED, lower=lower)


def test_lower_model_lies_beside_the_draft_and_takes_its_memory() -> None:
    alone, both = make_plan(asked()), make_plan(asked(TINY))

    assert both.lower_ids == (TINY.id,)
    assert both.draft is not None
    assert both.lower[0].devices == both.draft.devices == ("CUDA0",)
    added = {line.what for line in both.lines} - {line.what for line in alone.lines}
    assert {"draft 2 weights", "draft 2 KV f16", "draft 2 compute"} <= added


def test_draft_models_give_as_many_rows_as_guesses_need() -> None:
    plan = make_plan(asked(TINY))

    assert plan.draft is not None
    assert plan.draft.max_logits == plan.lower[0].max_logits == DRAFT_LOGITS


def test_recurrent_draft_model_gives_one_row() -> None:
    """Its state could not be taken back to where a guess went wrong."""
    state = replace(DRAFT, layers=(LayerSizes(1 << 20, 0, 0, state_bytes=4096),) * 4)

    plan = make_plan(PlanRequest(machine(), TARGET, (state,), NAMED))

    assert plan.draft is not None
    assert plan.draft.max_logits == 1


def test_named_models_are_refused_rather_than_left_out_where_memory_is_short() -> None:
    huge = model("huge", layer_mib=2000, n_layer=32)
    short = PlanRequest(machine(ram_gib=16), TARGET, (DRAFT,), NAMED, lower=(huge,))

    with pytest.raises(DoesNotFit):
        make_plan(short)


def test_lower_model_whose_heads_cannot_be_quantised_keeps_its_cache_whole() -> None:
    odd = model("odd", layer_mib=5, n_layer=8, n_head_dim=40)
    request = asked(odd)
    plan = make_plan(request)

    while plan.draft is not None and plan.draft.kv_type == "f16":
        smaller = next_rung(request, plan)
        assert smaller is not None
        plan = smaller

    assert plan.lower[0].kv_type == "f16"


def test_lower_model_reads_no_further_than_it_was_trained_for() -> None:
    short = replace(TINY, n_ctx_train=1024)

    plan = make_plan(asked(short))

    assert plan.draft is not None
    assert plan.lower[0].n_ctx == 1024 < plan.draft.n_ctx
