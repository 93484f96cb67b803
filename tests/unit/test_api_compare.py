"""Planned beside allocated: what llama.cpp allocates by a load, of every model, and no more."""

from dataclasses import replace

from edgespec.api.compare import compared
from edgespec.plan.make import make_plan
from edgespec.plan.types import Asked
from tests.unit.plan_world import DRAFT, TINY, gpu, request

BUFFER = "load_tensors:        {}_Mapped model buffer size = {} MiB"


def test_every_model_of_a_cascade_counts() -> None:
    plan = make_plan(
        replace(request(drafts=(DRAFT,), asked=Asked(draft="required")), lower=(TINY,))
    )

    (here,) = compared(plan, [])

    parts = {line.what: line.size_bytes for line in plan.lines}
    left_out = ("margin", "target output", "draft output", "draft 2 output", "target vocabulary")
    assert "draft 2 weights" in parts
    assert here.planned_bytes == sum(n for what, n in parts.items() if what not in left_out)


def test_what_backends_take_for_themselves_is_no_buffer() -> None:
    plan = make_plan(
        request(gpu("CUDA0", 20_000, overhead_bytes=1 << 28), asked=Asked(kv_type="q8_0"))
    )

    card = next(place for place in compared(plan, []) if place.where == "CUDA0")

    names = {line.what for line in plan.lines if line.where == "CUDA0"}
    assert {"backend overhead", "target KV conversion", "margin"} <= names
    counted = ("weights", "KV q8_0", "KV f16", "compute")
    assert card.planned_bytes == sum(
        line.size_bytes
        for line in plan.lines
        if line.where == "CUDA0" and line.what.endswith(counted)
    )


def test_allocated_is_what_the_log_tells() -> None:
    plan = make_plan(request(asked=Asked(draft="off")))

    (here,) = compared(plan, [BUFFER.format("CPU", "100.00"), BUFFER.format("CPU", "28.50")])

    assert here.allocated_bytes == round(128.5 * (1 << 20))
