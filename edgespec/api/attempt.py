"""One attempt to carry out a plan: weights read and contexts made as it says, and compared."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from edgespec.api.compare import compared
from edgespec.api.files import Files
from edgespec.api.types import PlaceMemory, Progress
from edgespec.engine import binding, heap, trial
from edgespec.engine.context import ContextOptions
from edgespec.engine.devices import Device, devices
from edgespec.engine.interrupt import Interrupt
from edgespec.engine.model import LoadOptions, Model
from edgespec.engine.session import LlamaSession
from edgespec.errors import DoesNotFit, ModelFileError
from edgespec.index.retrieve import Retriever
from edgespec.plan.types import Placement, Plan
from edgespec.sizes import gibibytes

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lower:
    """A model that drafts for the draft model before it."""

    files: Files
    model: Model
    session: LlamaSession


@dataclass(frozen=True, slots=True)
class Loaded:
    """Weights and contexts, owned by who called `load_pair`: `close` frees them."""

    files: Files
    """Those that were loaded: without the draft where it gave way."""
    target: Model
    draft: Model | None
    session: LlamaSession
    draft_session: LlamaSession | None
    interrupt: Interrupt
    n_threads: int
    backend: str
    plan: Plan
    memory: tuple[PlaceMemory, ...]
    """What was planned and what was allocated, by place."""
    retriever: Retriever | None = None
    """Over the user's own texts."""
    lower: tuple[Lower, ...] = ()
    """Under the draft model, the largest first."""

    def close(self) -> None:
        """Free everything, contexts first; idempotent."""
        for lower in reversed(self.lower):
            lower.session.close()
            lower.model.close()
        for owned in (self.draft_session, self.session, self.draft, self.target):
            if owned is not None:
                owned.close()
        if self.retriever is not None:
            self.retriever.close()
        heap.give_back()


class Attempt:
    """Carries out one plan."""

    def __init__(
        self,
        files: Files,
        plan: Plan,
        n_threads: int,
        use_extra_bufts: bool,
        progress: Progress,
    ) -> None:
        self._files = _chosen(files, plan)
        self._plan = plan
        self._n_threads = n_threads
        self._use_extra_bufts = use_extra_bufts
        self._progress = progress
        self._here = {device.name: device for device in devices()}

    def run(self, *, is_doubtful: bool) -> Loaded:
        """Load; if that is doubtful, in a child first. Raises: as `load_pair`, leaving nothing."""
        plan, files = self._plan, self._files
        self._try_first(is_doubtful)
        interrupt = Interrupt()
        owned: list[Model | LlamaSession] = []
        try:
            with binding.heard() as lines:
                target, session = self._open(self._target(), interrupt, owned)
                draft = draft_session = None
                if (part := self._draft()) is not None:
                    draft, draft_session = self._open(part, interrupt, owned)
                lower = tuple(
                    Lower(pair, *self._open(part, interrupt, owned)) for pair, part in self._lower()
                )
        except BaseException:
            for one in reversed(owned):
                one.close()
            heap.give_back()  # the next, smaller attempt may need it
            raise
        memory = compared(plan, lines)
        for place in memory:
            _log.info(
                "%s: %s planned, %s allocated",
                place.where,
                gibibytes(place.planned_bytes),
                gibibytes(place.allocated_bytes),
            )
        return Loaded(
            files,
            target,
            draft,
            session,
            draft_session,
            interrupt,
            self._n_threads,
            self._backend(),
            plan,
            memory,
            lower=lower,
        )

    def _open(
        self, part: trial.Part, interrupt: Interrupt, owned: list[Model | LlamaSession]
    ) -> tuple[Model, LlamaSession]:
        model = Model(part.path, part.load, self._telling(part))
        owned.append(model)
        session = model.new_session(part.context, interrupt)
        owned.append(session)
        return model, session

    def _telling(self, part: trial.Part) -> Callable[[float], None]:
        files = self._files
        names = {p.draft.path: p.draft_id for p in (*files.lower, files) if p.draft is not None}
        name = names.get(part.path, files.target_id)
        return lambda fraction: self._progress(f"loading {name}", fraction)

    def _target(self) -> trial.Part:
        return self._part(self._files.target.path, self._plan.target)

    def _draft(self) -> trial.Part | None:
        placement = self._plan.draft
        return None if placement is None else self._drafting(self._files, placement)

    def _lower(self) -> Iterator[tuple[Files, trial.Part]]:
        for pair, placement in zip(self._files.lower, self._plan.lower, strict=True):
            yield pair, self._drafting(pair, placement)

    def _drafting(self, pair: Files, placement: Placement) -> trial.Part:
        header = pair.draft
        assert header is not None, "a placement without a model"
        part = self._part(header.path, placement)
        if pair.intersection is not None:
            return part
        # The pair's texts are the target's.
        return replace(part, load=replace(part.load, ids_of=header.shape))

    def _part(self, path: Path, placement: Placement) -> trial.Part:
        return trial.Part(
            path,
            LoadOptions(
                devices=placement.devices,
                tensor_split=placement.split if len(placement.devices) > 1 else (),
                split_mode=placement.split_mode,
                n_gpu_layers=placement.n_gpu_layers,
                use_extra_bufts=self._use_extra_bufts,
            ),
            ContextOptions(
                n_ctx=placement.n_ctx,
                n_batch=placement.n_batch,
                max_logits=placement.max_logits,
                n_threads=self._n_threads,
                kv_type=placement.kv_type,
                max_branches=placement.max_branches,
            ),
        )

    def _try_first(self, is_doubtful: bool) -> None:
        """Let a child try what may end the process: GPU backends do where memory runs out, and
        llama.cpp does on files that are wrong in ways nobody has tried.

        A worker's end is not ours (engine/rpc), and a child could not share its one connection.
        """
        lower = (part for _, part in self._lower())
        parts = [part for part in (self._target(), self._draft(), *lower) if part is not None]
        used = {name: self._here[name] for part in parts for name in part.load.devices or ()}
        strange = self._files.strange
        if any(device.worker for device in used.values()) or not (used or is_doubtful or strange):
            return
        self._progress("trying it in a process of its own, once", 0.0)
        words = [f"{device.name} {device.description}" for device in used.values()]
        is_only_strange = not used and not is_doubtful
        try:
            trial.attempt(parts, words, is_remembered=not is_doubtful)
        except trial.Killed as error:
            if not is_only_strange:
                raise
            raise ModelFileError(
                f"{' or '.join(strange)} is nothing that llama.cpp can run: {error.message}",
                hint="get another file of this model, or a model of edgespec models",
            ) from error
        except DoesNotFit:
            if not is_only_strange:
                raise  # else it fails in order: the load itself says why

    def _backend(self) -> str:
        """Where the target computes, in words."""
        placement = self._plan.target
        cpu = f"CPU, {self._n_threads} thread{'s' if self._n_threads > 1 else ''}"
        if not placement.devices:
            return cpu
        gpus = ", ".join(_words(self._here[name]) for name in placement.devices)
        n_all = self._files.target.shape.n_layer + 1
        if placement.n_gpu_layers >= n_all:
            return gpus
        return f"{gpus} ({placement.n_gpu_layers} of {n_all} layers); {cpu}"


def _words(device: Device) -> str:
    return f"{device.name} at {device.worker}" if device.worker else device.description


def _chosen(files: Files, plan: Plan) -> Files:
    """The files that the plan speaks of."""
    for pair in (files, *files.others):
        if pair.draft_id == plan.draft_id:
            return pair
    gone = next((rung.told for rung in plan.rungs if rung.kind == "no_draft"), files.note)
    return replace(files, draft=None, draft_id=None, note=gone, others=(), lower=())
