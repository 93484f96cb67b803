"""The models a running chat can turn to: those on this machine, by the rules of `pick`."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from edgespec.api.types import LanguageModel, Options
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
        flags = self._flags
        if change.target is not None:  # a draft and a template belong to their target
            flags = replace(flags, target=change.target, draft=None, drafter=None, template=None)
        if change.draft is not None:
            flags = replace(flags, draft=change.draft, drafter=None)
        if change.n_ctx is not None:
            flags = replace(flags, ctx=change.n_ctx)
        flags = replace(flags, target=flags.target or _named(self._picked.target), offline=True)
        picked = pick(flags, Screen(io.StringIO(), io.StringIO()))
        return self._opener(replace(flags, offline=self._flags.offline), picked)

    def larger_context(self, needed: int) -> int | None:
        """The next power of two with room for `needed` and as much as the model and memory take.

        None where the model was not trained for more, or the memory for it is not free.
        """
        import psutil

        from edgespec.api.files import find_files

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
        headers = [files.target, *([files.draft] if files.draft else [])]
        per_token_bytes = sum(header.shape.kv_bytes_per_token() for header in headers)
        more_bytes = (larger - now) * per_token_bytes * 1.25  # what computes with it grows too
        return larger if more_bytes < psutil.virtual_memory().available else None

    def _opener(self, flags: Flags, picked: Pick) -> OpenModel:
        placing, template = flags.placing(), flags.template_text()

        def open_model(tell: Callable[[LoadProgress], None]) -> LanguageModel:
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
            return model

        return open_model


def _draft(picked: Pick) -> str | Path | None:
    if picked.draft is None:
        return None
    # "auto" never fails: a draft nobody named is left out, with a reason, where it is unfit.
    return name_of(picked.draft) if picked.is_draft_named else "auto"


def _advice(flags: Flags, picked: Pick | None) -> dict[str, float]:
    return picked.advice(flags.think) if picked is not None else {}


def name_of(resolved: Resolved) -> str | Path:
    """What `edgespec.load` takes."""
    model = resolved.model
    return model if isinstance(model, Path) else model.id


def _named(resolved: Resolved) -> str:
    return str(name_of(resolved))
