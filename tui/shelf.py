"""The models the picker shows: what is here, what could be fetched, what fits; and fetching.

Owns the download that goes on while other screens are shown. Knows the catalogue and the store,
nothing of widgets; loading is the conversation's.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from edgespec import paths
from edgespec.chat.controller import ChatController
from edgespec.chat.shelf import ModelChange
from edgespec.errors import EdgespecError
from edgespec.sizes import gigabytes

if TYPE_CHECKING:
    from edgespec.api.pairs import Candidate
    from edgespec.api.speeds import Speed
    from edgespec.models.catalogue import Catalogue
    from edgespec.models.folders import Found
    from edgespec.models.spec import ModelSpec
    from edgespec.plan.types import Plan
    from edgespec.store import PullProgress

ROOM = 1.1
"""Weights are not all: a tenth more for the context and what computing needs."""
AUTO, OFF = "auto", "off"


@dataclass(frozen=True, slots=True)
class Row:
    """One model as the picker shows it."""

    name: str
    """What a person types for it."""
    quant: str
    size_bytes: int | None
    told: str
    """What it is, its licence, where it comes from."""
    spec: "ModelSpec | None"
    """None: another program's file, read in place."""
    is_here: bool
    fits: bool
    verdict: str
    """Whether it fits, in words."""
    speed: "Speed | None" = None
    """Of plain decoding here; None: not known."""


@dataclass(frozen=True, slots=True)
class DraftRow:
    """One way to draft for a target."""

    name: str
    """A catalogue id, "auto" or "off"."""
    told: str
    ok: bool
    is_here: bool = True
    size_bytes: int = 0


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
        self._make_plan, self._speeds = make_plan or _plan, speeds or _speeds
        self._others = others or _others
        self._catalogue = catalogue
        self._pull, self._free_bytes = fetch or _pull, free_bytes or _free_bytes
        self.must_choose = must_choose
        """There is no model yet: a person has to take one."""
        self.fetch: Fetch | None = None

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
                *_fit(spec.planning_bytes, free_bytes),
                speeds.get(spec.id),
            )
            for spec in specs
        ]
        rows += [_of_another(found, free_bytes) for found in self._others(set(here.values()))]
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
            if spec is not target and (reason := _why_not(target, spec))
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
        rows += [_as_row(candidate) for candidate in found.candidates]
        judged = {one.name for one in rows}
        return rows + [one for one in usual if one.name not in judged]

    def plan(self, target: str, draft: str, n_ctx: int | None) -> "Plan":
        """What would lie where; any thread. Raises: `EdgespecError`: unknown, does not fit."""
        return self._make_plan(target, draft, n_ctx)

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
            fetch.progress = progress
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


def _of_another(found: "Found", free_bytes: int) -> Row:
    from edgespec.models.quants import quant_of

    size, quant = found.size_bytes, quant_of(found.path.name)
    told = f"{found.program}'s, read in place: {found.path}"
    return Row(found.name, quant, size, told, None, True, *_fit(size, free_bytes))


def _fit(size_bytes: int | None, free_bytes: int) -> tuple[bool, str]:
    """Whether a model of that size fits, and in words."""
    if size_bytes is None:
        return True, "size unknown"
    needed = int(size_bytes * ROOM)
    if needed <= free_bytes:
        return True, "fits"
    return False, f"needs {gigabytes(needed)}, {gigabytes(free_bytes)} free"


def _as_row(one: "Candidate") -> DraftRow:
    gain = one.here or one.expected
    told = [part for part in (one.reason, one.note) if part]
    if gain is not None:
        low, high = gain.times
        times = f"{low:.2f}x" if low == high else f"{low:.2f}x to {high:.2f}x"
        told.insert(0, f"{times}, {'measured' if one.here else 'expected'} ({gain.source})")
    is_fit = one.verdict != "unfit"
    return DraftRow(
        one.name,
        "; ".join(told) or ("fits this target" if is_fit else ""),
        is_fit,
        one.is_here,
        one.size_bytes or 0,
    )


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


def is_draft_only(spec: "ModelSpec") -> bool:
    """Whether a model was made to draft and has nothing to say by itself."""
    return "draft" in spec.id


def _why_not(target: "ModelSpec", draft: "ModelSpec") -> str:
    if draft.vocab != target.vocab:
        return f"another vocabulary: {draft.vocab}, not {target.vocab}"
    if (draft.planning_bytes or 0) >= (target.planning_bytes or 0):
        return "not smaller than the target"
    return ""


def missing(rows: Sequence[Row | DraftRow], name: str) -> bool:
    """Whether the model of that name has to be fetched first."""
    return any(row.name == name and not row.is_here for row in rows)
