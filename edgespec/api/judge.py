"""What is to be said of a draft for a target, its vocabulary aside: size, memory, gain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from edgespec.api.measured import Measured
from edgespec.api.samples import Files
from edgespec.costs import UNMEASURED
from edgespec.errors import DoesNotFit, EdgespecError
from edgespec.gguf.header import GgufHeader
from edgespec.gguf.tables import HYBRID, RECURRENT
from edgespec.hardware.probe import probe
from edgespec.hardware.types import HardwareReport
from edgespec.models.expect import Expected, reckoned, reported
from edgespec.models.spec import ModelSpec
from edgespec.plan.estimate import estimated
from edgespec.plan.make import make_plan
from edgespec.plan.sizes import sizes_of
from edgespec.plan.types import Asked, ModelSizes, PlanRequest
from edgespec.sizes import gigabytes

_MOST_SHARE: Final = 0.4
"""A draft token that costs more of a plain step than this gains next to nothing: it must be two
and a half times as fast as its target (a survey of reports says so, and llama.cpp's own do)."""
_HEAD_METHODS: Final = {"mtp": "MTP", "eagle3": "EAGLE-3", "dflash": "DFlash"}


@dataclass(frozen=True, slots=True)
class Opinion:
    """The verdict on one draft, its vocabulary taken for right."""

    verdict: Literal["fits", "slow", "unknown", "unfit"]
    reason: str = ""
    note: str = ""
    expected: Expected | None = None
    here: Expected | None = None
    measured: Measured | None = None


class Judge:
    """Judges drafts for one target; reads the machine once, and only when memory is in question."""

    def __init__(
        self,
        target: GgufHeader | None,
        spec: ModelSpec | None,
        measured: Mapping[Files, Measured],
        hardware: HardwareReport | None = None,
    ) -> None:
        self._target = target
        self._spec = spec
        self._measured = measured
        self._given = hardware

    def notes(self) -> Iterator[str]:
        """What holds for every draft of this target."""
        known = self._spec.shape if self._spec else None
        arch = self._target.architecture if self._target else known.arch if known else ""
        if arch in HYBRID | RECURRENT:
            kind = "recurrent" if arch in RECURRENT else "hybrid"
            yield (
                f"the target is {kind} ({arch}): its state cannot be cut back, so refused drafts "
                "are taken back through saved states; up to 8 tokens cost little, more cost a pass"
            )
        if self._sizes and self._sizes.n_expert:
            yield (
                f"the target uses {self._sizes.n_expert_used} of {self._sizes.n_expert} experts: "
                "every further row reads further experts, so drafts gain less than with a dense one"
            )

    def of(self, name: str, spec: ModelSpec | None, header: GgufHeader | None) -> Opinion:
        """The opinion on one draft."""
        if spec is not None and spec.kind == "head":
            return self._of_head(spec)
        sizes = sizes_of(header, name) if header else estimated(spec) if spec else None
        measured = self._measured_with(header)
        share = measured.draft_share if measured else self._share(sizes)
        gain = reckoned(share, measured.rows, is_measured=True) if measured and share else None
        told = (self._expected(name, share), gain, measured)
        if self._spec and spec and spec.vocab and spec.vocab != self._spec.vocab:
            why = f"its vocabulary is {spec.vocab}, the target's is {self._spec.vocab}"
            return Opinion("unfit", why)
        if why := self._too_much(sizes):
            return Opinion("unfit", why, "", *told)
        if share is not None and share > _MOST_SHARE:
            how = "as measured here" if measured else "by size"
            why = (
                f"not small enough: a draft token costs {share:.0%} of a plain step ({how}), and "
                f"over {_MOST_SHARE:.0%} next to nothing can be gained"
            )
            return Opinion("slow", why, "", *told)
        if header is None or self._target is None:
            return Opinion("unknown", _not_compared(spec, header), "", *told)
        return Opinion("fits", "", "", *told)

    def _of_head(self, spec: ModelSpec) -> Opinion:
        method = _HEAD_METHODS.get(spec.method or "", "a head")
        why = f"{method} head, made for this target; edgespec drafts with whole models only"
        expected = reported(self._spec.gains, spec.id) if self._spec else None
        return Opinion("unknown", why, "", expected)

    def _expected(self, name: str, share: float | None) -> Expected | None:
        if self._spec is not None and (told := reported(self._spec.gains, name)):
            return told
        return None if share is None else reckoned(share, UNMEASURED, is_measured=False)

    def _measured_with(self, header: GgufHeader | None) -> Measured | None:
        if header is None or self._target is None:
            return None
        pair = (self._target, header)
        return self._measured.get(tuple((h.path.name, h.shape.size_bytes) for h in pair))

    def _share(self, sizes: ModelSizes | None) -> float | None:
        """A draft token's cost in plain steps, by the bytes that each reads."""
        if sizes is None or self._sizes is None:
            return None
        return read_bytes(sizes) / max(1, read_bytes(self._sizes))

    def _too_much(self, sizes: ModelSizes | None) -> str:
        """Why the pair does not fit this machine's memory; empty when it does."""
        if sizes is None or self._sizes is None:
            return ""
        request = PlanRequest(self._hardware, self._sizes, (sizes,), Asked(draft="required"))
        try:
            make_plan(request)
        except DoesNotFit as error:
            return f"does not fit the memory: {error.message}"
        except EdgespecError:
            return ""  # the machine could not be read: nothing is known against the pair
        return ""

    @cached_property
    def _hardware(self) -> HardwareReport:
        return self._given or probe()

    @cached_property
    def _sizes(self) -> ModelSizes | None:
        if self._target is not None:
            return sizes_of(self._target, self._target.path.name)
        return estimated(self._spec) if self._spec else None


def read_bytes(sizes: ModelSizes) -> float:
    """Bytes of weights that one token reads; of experts, those that are used."""
    used = sizes.n_expert_used / sizes.n_expert if sizes.n_expert else 1.0
    return sizes.output_bytes + used * sum(layer.weight_bytes for layer in sizes.layers)


def _not_compared(spec: ModelSpec | None, header: GgufHeader | None) -> str:
    if header is not None or spec is None:
        return "the target is not on this machine, so its tokens are not compared"
    size = f", {gigabytes(spec.planning_bytes)}" if spec.planning_bytes else ""
    return f"not on this machine{size}: edgespec pull {spec.id}"
