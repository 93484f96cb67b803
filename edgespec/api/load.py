"""From names to a loaded pair: files found and checked, contexts made, the drafter chosen.

Everything that a person can have wrong is told before the weights are read.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from edgespec.control import LONGEST
from edgespec.drafters import DRAFTERS, find
from edgespec.engine import guard
from edgespec.engine.context import ContextOptions
from edgespec.engine.devices import devices, has_gpu
from edgespec.engine.interrupt import Interrupt
from edgespec.engine.model import LoadOptions, Model
from edgespec.engine.session import LlamaSession
from edgespec.engine.threads import default_threads
from edgespec.errors import IncompatibleDraft, ModelNotFound, UsageError
from edgespec.gguf_file import GgufHeader, read_header
from edgespec.pairing import check_pair

_log = logging.getLogger(__name__)

Progress = Callable[[str, float], None]
"""Told what is being done and which share of it is done; may raise to give up loading."""

DEFAULT_CTX = 8192
MAX_ROWS = LONGEST + 1
"""Rows of one verification: the last token and the longest draft."""
_N_BATCH = {True: 512, False: 128}
"""Tokens per native call, by whether a GPU computes: on a CPU more gain nothing and progress is
coarser."""


@dataclass(frozen=True, slots=True)
class Files:
    """A target and perhaps a draft: headers read, pair checked."""

    target: GgufHeader
    target_id: str
    draft: GgufHeader | None
    draft_id: str | None
    note: str
    """Why there is no draft although "auto" looked for one; empty otherwise."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Weights and contexts, owned by who called `load_pair`: `close` frees them."""

    files: Files
    target: Model
    draft: Model | None
    session: LlamaSession
    draft_session: LlamaSession | None
    interrupt: Interrupt
    n_threads: int
    backend: str

    def close(self) -> None:
        """Free everything, contexts first; idempotent."""
        for owned in (self.draft_session, self.session, self.draft, self.target):
            if owned is not None:
                owned.close()


def find_files(target: str | Path, draft: str | Path | None, drafter: str) -> Files:
    """Resolve names, read headers, check the pair.

    Raises: `ModelNotFound`, `ModelFileError`, `UsageError`; `IncompatibleDraft` for a draft that
    was named, while "auto" goes without and says why.
    """
    if drafter != "auto":
        wants_draft = find(drafter).needs_draft_model
        if wants_draft and draft is None:
            raise UsageError(
                f"the drafter {drafter!r} needs a draft model", hint="name one with --draft"
            )
    path, target_id, advised = _located(target)
    header = _checked_header(path)
    if draft != "auto":
        if draft is None:
            return Files(header, target_id, None, None, "")
        draft_path, draft_id, _ = _located(draft)
        draft_header = _checked_header(draft_path)
        report = check_pair(header, draft_header)
        if not report.ok:
            raise IncompatibleDraft(
                f"{draft_id} cannot draft for {target_id}: {report.reason}",
                hint="leave --draft away, or --drafter suffix needs no draft model",
            )
        return Files(header, target_id, draft_header, draft_id, "")
    note = ""
    for name in advised:
        try:
            draft_path, draft_id, _ = _located(name)
        except ModelNotFound:
            continue
        draft_header = _checked_header(draft_path)
        report = check_pair(header, draft_header)
        if report.ok:
            return Files(header, target_id, draft_header, draft_id, "")
        note = f"{draft_id} cannot draft for {target_id}: {report.reason}"
    if drafter != "auto" and find(drafter).needs_draft_model:
        raise ModelNotFound(
            note or f"no draft model for {target_id} is on this machine",
            hint=f"edgespec pull {advised[0]}" if advised else "name one with --draft",
        )
    return Files(header, target_id, None, None, note)


def _located(name: str | Path) -> tuple[Path, str, tuple[str, ...]]:
    """File, display name, and the drafts that the catalogue advises."""
    from edgespec.catalogue import load_catalogue
    from edgespec.names import resolve
    from edgespec.store import installed

    if isinstance(name, Path):
        return name, name.name, ()
    resolved = resolve(name, load_catalogue())
    if resolved.notice:
        _log.warning("%s", resolved.notice)
    if isinstance(resolved.model, Path):
        return resolved.model, resolved.model.name, ()
    path = installed(resolved.model)
    if path is None:
        raise ModelNotFound(
            f"{resolved.model.id} is not on this machine", hint=f"edgespec pull {resolved.model.id}"
        )
    return path, resolved.model.id, resolved.model.drafts


def _checked_header(path: Path) -> GgufHeader:
    header = read_header(path)
    header.tokens.check()  # llama.cpp ends the process on a repeated token
    return header


def load_pair(
    files: Files, *, n_ctx: int | None, n_threads: int | None, progress: Progress
) -> Loaded:
    """Load weights and make contexts. Raises: `DoesNotFit`, `EngineError`, `ModelFileError`."""
    progress("checking llama.cpp", 0.0)
    verdict = guard.verdict()
    if verdict.notice and verdict.is_new:
        _log.warning("%s", verdict.notice)
    options = LoadOptions(use_extra_bufts=verdict.use_extra_bufts)
    is_gpu = has_gpu()
    threads = n_threads or default_threads()
    interrupt = Interrupt()
    target = Model(files.target.path, options, _telling(progress, f"loading {files.target_id}"))
    draft = session = draft_session = None
    try:
        context = _context_options(files.target, n_ctx, MAX_ROWS, threads, is_gpu)
        session = target.new_session(context, interrupt)
        if files.draft is not None:
            draft = Model(
                files.draft.path,
                replace(options, ids_of=files.draft.shape),  # the pair's texts are the target's
                _telling(progress, f"loading {files.draft_id}"),
            )
            context = _context_options(files.draft, session.n_ctx, 1, threads, is_gpu)
            draft_session = draft.new_session(context, interrupt)
    except BaseException:
        for owned in (session, draft, target):
            if owned is not None:
                owned.close()
        raise
    return Loaded(
        files, target, draft, session, draft_session, interrupt, threads, _backend(is_gpu, threads)
    )


def _telling(progress: Progress, phase: str) -> Callable[[float], None]:
    return lambda fraction: progress(phase, fraction)


def _context_options(
    header: GgufHeader, n_ctx: int | None, max_logits: int, n_threads: int, is_gpu: bool
) -> ContextOptions:
    trained = header.shape.n_ctx_train
    return ContextOptions(
        n_ctx=min(n_ctx or DEFAULT_CTX, trained) if trained else n_ctx or DEFAULT_CTX,
        n_batch=_N_BATCH[is_gpu],
        max_logits=max_logits,
        n_threads=n_threads,
    )


def _backend(is_gpu: bool, n_threads: int) -> str:
    if is_gpu:
        gpus = (d.description for d in devices() if d.kind in ("GPU", "IGPU"))
        return ", ".join(gpus)
    return f"CPU, {n_threads} thread{'s' if n_threads > 1 else ''}"


def drafter_names(has_draft: bool) -> tuple[str, ...]:
    """The registry's drafters that can be built."""
    return tuple(name for name in DRAFTERS if has_draft or not find(name).needs_draft_model)
