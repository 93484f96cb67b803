"""Models to choose from without any on the disk, and plans for them."""

from dataclasses import replace

from edgespec.api.types import Options
from edgespec.chat.controller import OpenModel
from edgespec.chat.shelf import LighterKind, ModelChange
from edgespec.errors import ModelNotFound
from edgespec.models.catalogue import Catalogue
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.plan.types import Line, Placement, Plan, Room, Rung
from tests.scripted import DESCRIPTION, ScriptedLM


def spec(name: str, size_bytes: int, **more: object) -> ModelSpec:
    given: dict[str, object] = {
        "title": name.title(),
        "file": f"{name}.gguf",
        "quant": "Q4_K_M",
        "sources": (HubSource("maker/" + name, f"{name}.gguf"),),
        "vocab": "v1",
        "licence": "apache-2.0",
        **more,
    }
    return ModelSpec(id=name, size_bytes=size_bytes, **given)  # type: ignore[arg-type]


CATALOGUE = Catalogue(
    {
        "big": spec("big", 40_000_000_000),
        "good": spec("good", 2_000_000_000, drafts=("small",)),
        "small": spec("small", 100_000_000),
        "other": spec("other", 90_000_000, vocab="v2"),
    },
    {},
)


class FakeShelf:
    """Opens a scripted model for every change."""

    def __init__(self, wanted: ModelChange | None = None) -> None:
        """`wanted`: what the chat begins with."""
        self.wanted = wanted
        self.taken: list[ModelChange] = []

    def names(self) -> list[str]:
        return ["good"]

    def take(self, change: ModelChange) -> OpenModel:
        self.taken.append(change)
        self.wanted = change
        about = replace(DESCRIPTION, target=change.target or "?", draft=None)
        return lambda tell: ScriptedLM(["Hello."], description=about)

    def plan(self, change: ModelChange) -> Plan:
        raise ModelNotFound("nothing is planned here")

    def larger_context(self, needed: int) -> int | None:
        return None

    def lighter(self) -> dict[LighterKind, ModelChange]:
        return {}

    def advised(self, options: Options) -> Options:
        return options


def a_plan(target: str, draft: str, n_ctx: int | None) -> Plan:
    placement = Placement(
        devices=(), split=(), n_gpu_layers=0, split_mode="none", n_ctx=n_ctx or 4096, n_batch=512,
        max_logits=64, kv_type="f16",
    )  # fmt: skip
    lines = (Line("target weights", "CPU", 9_000_000_000), Line("target KV", "CPU", 1_000_000_000))
    return Plan(
        hardware="here", target_id=target, draft_id=None, target=placement, draft=None,
        drafters=("suffix",), reason="suffix gains where text repeats", lines=lines,
        rooms=(Room("CPU", 10_000_000_000, 12_000_000_000),),
        rungs=(Rung("n_ctx", "context 32,768 -> 8,192 to fit"),), n_ctx_most=8192,
    )  # fmt: skip
