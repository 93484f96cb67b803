"""The models a running chat can turn to: those on this machine, by the rules of `pick`."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from edgespec.api.types import LanguageModel, Options
from edgespec.chat.controller import LoadProgress, OpenModel
from edgespec.chat.shelf import LighterKind, ModelChange
from edgespec.cli.doors import Doors
from edgespec.cli.flags import Flags
from edgespec.cli.pick import Pick, pick, remember
from edgespec.cli.render import Screen
from edgespec.errors import EdgespecError
from edgespec.models.names import Resolved

if TYPE_CHECKING:
    from edgespec.plan.types import Plan

_USUAL_CTX = 8192
"""What is loaded where nothing is said."""
_LEAST_CTX = 512
"""A conversation needs so much."""


class ModelShelf:
    """Implements `edgespec.chat.shelf.Shelf`; asks nobody, fetches nothing, prints nothing."""

    def __init__(self, doors: Doors, flags: Flags, picked: Pick | None) -> None:
        """`picked` None: there is no model yet, and the first `take` names one."""
        self._doors, self._flags, self._taken = doors, flags, picked
        self._tried = (flags, picked)
        """What was loaded last, or failed to."""
        self._advised = flags.options(_advice(flags, picked)).sampling
        flags.template_text()  # told now if it cannot be read

    @property
    def _picked(self) -> Pick:
        assert self._taken is not None, "the first model has to be named"
        return self._taken

    def open_first(self) -> OpenModel:
        """What opens the models that were picked at the start."""
        return self._opener(self._flags, self._picked)

    def advised(self, options: Options) -> Options:
        """`options` with the publisher's advice for the model that is loaded now.

        Only where the sampling is still what was advised for the one before.
        """
        before = self._advised
        self._advised = self._flags.options(_advice(self._flags, self._taken)).sampling
        return replace(options, sampling=self._advised) if options.sampling == before else options

    def names(self) -> list[str]:
        """The models on this machine that can be talked to."""
        from edgespec.models.catalogue import load_catalogue
        from edgespec.store import list_installed

        return [f.spec.id for f in list_installed(load_catalogue()) if f.spec.kind == "model"]

    def take(self, change: ModelChange) -> OpenModel:
        """What opens the changed choice. Raises: `EdgespecError`: unknown, not on this machine."""
        flags = replace(self._changed(change), offline=True)
        picked = pick(flags, Screen(io.StringIO(), io.StringIO()))
        return self._opener(replace(flags, offline=self._flags.offline), picked)

    def _changed(self, change: ModelChange) -> Flags:
        flags, now = self._flags, _named(self._taken.target) if self._taken is not None else None
        target = change.target or flags.target or now
        assert target is not None, "the first model has to be named"
        if target not in (flags.target, now):  # a draft and a template belong to their target
            flags = replace(flags, draft=None, drafter=None, template=None)
        if change.draft is not None:
            flags = replace(flags, draft=change.draft, drafter=None)
        if change.n_ctx is not None:
            flags = replace(flags, ctx=change.n_ctx)
        if change.n_gpu_layers is not None:
            n_layers = change.n_gpu_layers
            flags = replace(flags, gpu_layers=n_layers, device=None, draft_device=None)
        return replace(flags, target=target)

    @property
    def wanted(self) -> ModelChange | None:
        """What was asked for last, loaded or not; None: nothing yet."""
        flags, picked = self._tried
        if picked is None:
            return None
        draft = flags.draft or ("auto" if picked.draft is not None else "off")
        return ModelChange(_named(picked.target), draft, flags.ctx, flags.gpu_layers)

    def plan(self, change: ModelChange) -> "Plan":
        """What the changed choice would take and where, with nothing loaded."""
        from edgespec.api.place import this_machine
        from edgespec.api.wishes import wishes
        from edgespec.plan.gather import gather
        from edgespec.plan.make import make_plan

        flags = self._changed(change)
        draft, placing = flags.draft or "auto", flags.placing()
        wish = None if draft == "off" else draft
        asked, workers = wishes(placing, draft=wish, drafter=flags.drafter or "auto")
        machine = this_machine(workers, placing.get("memory_bytes"))
        asked = replace(asked, n_ctx=flags.ctx)
        return make_plan(gather(str(flags.target), draft, asked, machine, is_here=True).request)

    def larger_context(self, needed: int) -> int | None:
        """The next power of two with room for `needed` and as much as the model and memory take.

        None where the model was not trained for more, or the memory for it is not free.
        """
        from edgespec.api.files import find_files
        from edgespec.hardware.probe import room_bytes

        try:
            picked = self._picked
            draft, vocab = _draft(picked), self._flags.draft_vocab
            files = find_files(name_of(picked.target), draft, picked.drafter, vocab)
        except EdgespecError:
            return None  # its file is gone meanwhile
        trained, now = files.target.shape.n_ctx_train, self._flags.ctx or _USUAL_CTX
        wished = 1 << (max(needed + needed // 4, now + 1) - 1).bit_length()
        larger = min(wished, trained)
        if larger <= max(now, needed):
            return None
        drafts = (pair.draft for pair in (files, *files.lower) if pair.draft is not None)
        headers = [files.target, *drafts]
        per_token_bytes = sum(header.shape.kv_bytes_per_token() for header in headers)
        more_bytes = (larger - now) * per_token_bytes * 1.25  # what computes with it grows too
        return larger if more_bytes < room_bytes() else None

    def lighter(self) -> dict[LighterKind, ModelChange]:
        """A smaller context, no draft model, no GPU: those that the last try leaves open."""
        flags, picked = self._tried
        if picked is None:
            return {}
        tried = ModelChange(_named(picked.target), flags.draft, flags.ctx, flags.gpu_layers)
        found: dict[LighterKind, ModelChange] = {}
        n_ctx = flags.ctx or _USUAL_CTX
        if n_ctx >= 2 * _LEAST_CTX:
            found["smaller"] = replace(tried, n_ctx=n_ctx // 2)
        if picked.draft is not None:
            found["no_draft"] = replace(tried, draft="off")
        if flags.gpu_layers != 0 and _has_gpu():
            found["cpu"] = replace(tried, draft="off", n_gpu_layers=0)
        return found

    def _opener(self, flags: Flags, picked: Pick) -> OpenModel:
        placing, template = flags.placing(), flags.template_text()

        def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
            self._tried = (flags, picked)
            model = self._doors.load(
                name_of(picked.target),
                draft=_draft(picked),
                draft_vocab=flags.draft_vocab,
                drafter=picked.drafter,
                n_ctx=flags.ctx,
                n_threads=flags.threads,
                template=template,
                index=flags.index,
                **placing,
                progress=lambda phase, fraction: tell(LoadProgress(phase, fraction)),
            )
            self._flags, self._taken = flags, picked  # not before: a failed change is none
            remember(picked.target)
            return model

        return open_model


def _has_gpu() -> bool:
    from edgespec.hardware.probe import probe

    try:
        return bool(probe().devices)
    except EdgespecError:
        return False


def _draft(picked: Pick) -> str | Path | None:
    if picked.draft is None:
        return None
    # "auto" never fails: a draft nobody named is left out, with a reason, where it is unfit.
    if not picked.is_draft_named:
        return "auto"
    if not picked.lower:
        return name_of(picked.draft)
    return ",".join(str(name_of(one)) for one in (picked.draft, *picked.lower))


def _advice(flags: Flags, picked: Pick | None) -> dict[str, float]:
    return picked.advice(flags.think) if picked is not None else {}


def name_of(resolved: Resolved) -> str | Path:
    """What `edgespec.load` takes."""
    model = resolved.model
    return model if isinstance(model, Path) else model.id


def _named(resolved: Resolved) -> str:
    return str(name_of(resolved))
