"""The models a running chat can turn to: those on this machine, by the rules of `pick`."""

import io
from dataclasses import replace
from pathlib import Path

from edgespec.chat.controller import LoadProgress, OpenModel
from edgespec.chat.shelf import ModelChange
from edgespec.cli.doors import Doors
from edgespec.cli.flags import Flags
from edgespec.cli.pick import Pick, pick
from edgespec.cli.render import Screen
from edgespec.errors import EdgespecError
from edgespec.models.names import Resolved

_USUAL_CTX = 8192
"""What is loaded where nothing is said."""


class ModelShelf:
    """Implements `edgespec.chat.shelf.Shelf`; asks nobody, fetches nothing, prints nothing."""

    def __init__(self, doors: Doors, flags: Flags, picked: Pick | None) -> None:
        """`picked` None: there is no model yet, and the first `take` names one."""
        self._doors, self._flags, self._taken = doors, flags, picked
        self._template = flags.template_text()

    @property
    def _picked(self) -> Pick:
        assert self._taken is not None, "the first model has to be named"
        return self._taken

    def open_first(self) -> OpenModel:
        """What opens the models that were picked at the start."""
        return self._opener()

    def names(self) -> list[str]:
        """The models on this machine that can be talked to."""
        from edgespec.models.catalogue import load_catalogue
        from edgespec.store import list_installed

        return [f.spec.id for f in list_installed(load_catalogue()) if f.spec.kind == "model"]

    def take(self, change: ModelChange) -> OpenModel:
        """What opens the changed choice. Raises: `EdgespecError`: unknown, not on this machine."""
        flags = self._flags
        if change.target is not None:  # a draft and a template belong to their target
            flags = replace(flags, target=change.target, draft=None, drafter=None)
            self._template = None
        if change.draft is not None:
            flags = replace(flags, draft=change.draft, drafter=None)
        if change.n_ctx is not None:
            flags = replace(flags, ctx=change.n_ctx)
        flags = replace(flags, target=flags.target or _named(self._picked.target), offline=True)
        picked = pick(flags, Screen(io.StringIO(), io.StringIO()))
        self._flags, self._taken = replace(flags, offline=self._flags.offline), picked
        return self._opener()

    def larger_context(self, needed: int) -> int | None:
        """The next power of two with room for `needed` and as much as the model and memory take.

        None where the model was not trained for more, or the memory for it is not free.
        """
        import psutil

        from edgespec.api.files import find_files

        try:
            files = find_files(name_of(self._picked.target), self._draft(), self._picked.drafter)
        except EdgespecError:
            return None  # its file is gone meanwhile
        trained, now = files.target.shape.n_ctx_train, self._flags.ctx or _USUAL_CTX
        wished = 1 << (max(needed + needed // 4, now + 1) - 1).bit_length()
        larger = min(wished, trained)
        if larger <= max(now, needed):
            return None
        headers = [files.target, *([files.draft] if files.draft else [])]
        per_token_bytes = sum(header.shape.kv_bytes_per_token() for header in headers)
        more_bytes = (larger - now) * per_token_bytes * 1.25  # what computes with it grows too
        return larger if more_bytes < psutil.virtual_memory().available else None

    def _draft(self) -> str | Path | None:
        picked = self._picked
        if picked.draft is None:
            return None
        # "auto" never fails: a draft nobody named is left out, with a reason, where it is unfit.
        return name_of(picked.draft) if picked.is_draft_named else "auto"

    def _opener(self) -> OpenModel:
        flags, picked, draft = self._flags, self._picked, self._draft()
        placing = flags.placing()
        return lambda tell: self._doors.load(
            name_of(picked.target),
            draft=draft,
            drafter=picked.drafter,
            n_ctx=flags.ctx,
            n_threads=flags.threads,
            template=self._template,
            **placing,
            progress=lambda phase, fraction: tell(LoadProgress(phase, fraction)),
        )


def name_of(resolved: Resolved) -> str | Path:
    """What `edgespec.load` takes."""
    model = resolved.model
    return model if isinstance(model, Path) else model.id


def _named(resolved: Resolved) -> str:
    return str(name_of(resolved))
