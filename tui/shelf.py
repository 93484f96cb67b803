"""The models the picker shows: what is here, what could be fetched, what fits; and fetching.

Owns the download that goes on while other screens are shown. Knows the catalogue and the store,
nothing of widgets; loading is the conversation's.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from edgespec import paths
from edgespec.chat.controller import ChatController
from edgespec.chat.shelf import ModelChange, Shelf
from edgespec.errors import EdgespecError

from .offers import (
    AUTO,
    OFF,
    DraftRow,
    FileRow,
    Row,
    as_row,
    fit,
    is_draft_only,
    of_another,
    why_not,
)

if TYPE_CHECKING:
    from edgespec.api.speeds import Speed
    from edgespec.models.catalogue import Catalogue
    from edgespec.models.folders import Found
    from edgespec.models.spec import ModelSpec
    from edgespec.plan.types import Plan
    from edgespec.store import PullProgress


class Pull(Protocol):
    """`edgespec.store.pull`."""

    def __call__(self, spec: "ModelSpec", tell: "Callable[[PullProgress], None]") -> object:
        """Fetch a model; an exception in `tell` cancels."""
        ...


class _Cancelled(Exception):
    """Ends a pull; what is here is kept for the next one."""


@dataclass(slots=True)
class Fetch:
    """One model on its way."""

    spec: "ModelSpec"
    progress: "PullProgress | None" = None
    error: EdgespecError | None = None
    is_done: bool = False
    is_cancelled: bool = False
    resumed_bytes: int = 0
    """What an earlier pull had left."""

    def hear(self, progress: "PullProgress") -> None:
        """The first bytes that are told before any rate is known were there before."""
        before, done = self.progress, progress.done_bytes
        had_none = before is None or before.phase != "download" or not before.done_bytes
        if progress.phase == "download" and had_none and progress.bytes_per_s is None:
            self.resumed_bytes = done
        elif done < self.resumed_bytes:
            self.resumed_bytes = 0  # it did not fit, and all of it is fetched again
        self.progress = progress


class Models:
    """What the picker needs; one fetch at a time."""

    def __init__(
        self,
        catalogue: "Catalogue | None" = None,
        *,
        fetch: Pull | None = None,
        free_bytes: Callable[[], int] | None = None,
        make_plan: "Callable[[str, str, int | None], Plan] | None" = None,
        speeds: "Callable[[Iterable[ModelSpec]], dict[str, Speed]] | None" = None,
        others: "Callable[[set[Path]], list[Found]] | None" = None,
        must_choose: bool = False,
    ) -> None:
        self._make_plan, self._speeds = make_plan or self._planned, speeds or _speeds
        self._others = others or _others
        self._catalogue = catalogue
        self._pull, self._free_bytes = fetch or _pull, free_bytes or _free_bytes
        self.must_choose = must_choose
        """There is no model yet: a person has to take one."""
        self.fetch: Fetch | None = None
        self.shelf: Shelf | None = None
        """Of the conversation: it plans with what was said of places and caches."""
        self.agreed: ModelChange | None = None
        """A choice whose plan a person has seen and taken."""

    @property
    def catalogue(self) -> "Catalogue":
        """Read when it is first needed."""
        if self._catalogue is None:
            from edgespec.models.catalogue import load_catalogue

            self._catalogue = load_catalogue()
        return self._catalogue

    @property
    def free_bytes(self) -> int:
        """Memory that is free now."""
        return self._free_bytes()

    @property
    def free_disk_bytes(self) -> int:
        """Room where models are put; 0 where that cannot be known."""
        return free_bytes_at(paths.models_dir())

    def rows(self) -> list[Row]:
        """Models to talk to: those here first, then those that fit, small ones first."""
        specs = [s for s in self.catalogue if s.kind == "model" and not is_draft_only(s)]
        here, speeds = _here(specs), self._speeds(specs)
        free_bytes = self.free_bytes
        rows = [
            Row(
                spec.id,
                spec.quant,
                spec.planning_bytes,
                f"{spec.title}, {spec.licence or 'licence unknown'}; from {spec.origin}",
                spec,
                spec.id in here,
                *fit(spec.planning_bytes, free_bytes),
                speeds.get(spec.id),
            )
            for spec in specs
        ]
        rows += [of_another(found, free_bytes) for found in self._others(set(here.values()))]
        return sorted(rows, key=lambda row: (not row.is_here, not row.fits, row.size_bytes or 0))

    def drafts(self, row: Row) -> list[DraftRow]:
        """Ways to draft for a target, best first; those that cannot be, with the reason.

        By the catalogue, at once; `judged` looks at the files.
        """
        target = row.spec
        known = self.catalogue.drafts_of(target) if target is not None else []
        here = _here(known)
        rows = [
            DraftRow(AUTO, "whatever gains, measured while it answers", True),
            DraftRow(OFF, "plain decoding", True),
        ]
        for spec in known:
            size = spec.planning_bytes or 0
            rows.append(DraftRow(spec.id, "fits this target", True, spec.id in here, size))
        if target is None:
            return rows
        others = [spec for spec in self.catalogue if spec.kind == "model" and spec not in known]
        rows += [
            DraftRow(spec.id, reason, False)
            for spec in others
            if spec is not target and (reason := why_not(target, spec))
        ]
        return rows

    def judged(self, row: Row) -> list[DraftRow]:
        """The same by what the files say, and what was measured here; takes a second or two.

        Any thread. Raises: `EdgespecError`: the target's own file is not usable.
        """
        from edgespec.api.pairs import find_pairs
        from edgespec.models.names import resolve

        found = find_pairs(resolve(row.name, self.catalogue), self.catalogue)
        usual = self.drafts(row)
        rows = [one for one in usual if one.name in (AUTO, OFF)]
        rows += [as_row(candidate) for candidate in found.candidates]
        judged = {one.name for one in rows}
        return rows + [one for one in usual if one.name not in judged]

    def plan(self, target: str, draft: str, n_ctx: int | None) -> "Plan":
        """What would lie where; any thread. Raises: `EdgespecError`: unknown, does not fit."""
        return self._make_plan(target, draft, n_ctx)

    def _planned(self, target: str, draft: str, n_ctx: int | None) -> "Plan":
        spec = self.catalogue.models.get(target)
        if draft == AUTO and spec is not None and not _here(self.catalogue.drafts_of(spec)):
            draft = OFF  # "auto" fetches none
        if self.shelf is None:
            return _plan(target, draft, n_ctx)
        return self.shelf.plan(ModelChange(target, draft, n_ctx))

    def files(self, *names: str) -> list[FileRow]:
        """The catalogue's files among those that a plan names; others are read where they are."""
        specs = [self.catalogue.models[n] for n in names if n in self.catalogue.models]
        here = _here(specs)
        return [
            FileRow(spec.id, spec.quant, spec.planning_bytes, spec.id in here, spec.origin)
            for spec in specs
        ]

    def lacking(self, change: ModelChange) -> "ModelSpec | None":
        """What has to be fetched before a choice can be loaded; None: nothing (more)."""
        named = (self.catalogue.models.get(name or "") for name in (change.target, change.draft))
        specs = [spec for spec in named if spec is not None]
        here = _here(specs)
        return next((spec for spec in specs if spec.id not in here), None)

    def switch(self, chat: ChatController, change: ModelChange) -> None:
        """Let the conversation load it. Raises: `EdgespecError` with nothing changed."""
        chat.switch(change)
        self.must_choose = False

    # Fetching

    @property
    def is_fetching(self) -> bool:
        """Whether a model is on its way."""
        return self.fetch is not None and not self.fetch.is_done

    @property
    def fraction(self) -> float | None:
        """How much of it is here; None where that is not known."""
        progress = self.fetch.progress if self.fetch is not None else None
        if progress is None or not progress.total_bytes or not self.is_fetching:
            return None
        return progress.done_bytes / progress.total_bytes

    def start(self, spec: "ModelSpec") -> Fetch:
        """Fetch a model in a thread of its own; the fetch before it must have ended."""
        assert not self.is_fetching, self.fetch
        self.fetch = Fetch(spec)
        thread = threading.Thread(
            target=self._run, args=(self.fetch,), name="edgespec-pull", daemon=True
        )
        thread.start()
        return self.fetch

    def cancel(self) -> None:
        """Stop at the next state; what is here is kept."""
        if self.fetch is not None:
            self.fetch.is_cancelled = True

    def _run(self, fetch: Fetch) -> None:
        def tell(progress: "PullProgress") -> None:
            fetch.hear(progress)
            if fetch.is_cancelled:
                raise _Cancelled

        try:
            self._pull(fetch.spec, tell)
        except _Cancelled:
            pass
        except EdgespecError as error:
            fetch.error = error
        except Exception as error:  # a thread has nobody else to tell
            fetch.error = EdgespecError(f"fetching failed ({type(error).__name__}: {error})")
        fetch.is_done = True


# The store brings zipfile and ssl, psutil its own: 70 ms of CPU before the first paint.


def _here(specs: "Iterable[ModelSpec]") -> "dict[str, Path]":
    from edgespec.store import list_installed

    return {found.spec.id: found.path for found in list_installed(specs)}


def _others(known: "set[Path]") -> "list[Found]":
    from edgespec.models.other_programs import all_found

    known = {path.resolve() for path in known}
    return [found for found in all_found() if found.path.resolve() not in known]


def _pull(spec: "ModelSpec", tell: "Callable[[PullProgress], None]") -> object:
    from edgespec.store import pull

    return pull(spec, tell)


def _plan(target: str, draft: str, n_ctx: int | None) -> "Plan":
    from edgespec.api.place import this_machine
    from edgespec.plan.gather import gather
    from edgespec.plan.make import make_plan
    from edgespec.plan.types import Asked

    asked = Asked(n_ctx=n_ctx, draft="off" if draft == OFF else "auto")
    return make_plan(gather(target, draft, asked, this_machine(), is_here=True).request)


def _speeds(specs: "Iterable[ModelSpec]") -> "dict[str, Speed]":
    from edgespec.api.speeds import speeds

    return speeds(specs)


def free_bytes_at(folder: Path) -> int:
    """Room on the disk of a folder, which need not be there yet."""
    import shutil

    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def _free_bytes() -> int:
    import psutil

    return int(psutil.virtual_memory().available)
