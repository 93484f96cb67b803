"""From checked files to a loaded pair: weights read, contexts made, devices named."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from edgespec.api.files import Files
from edgespec.api.types import Progress
from edgespec.control import LONGEST
from edgespec.drafters import DRAFTERS, find
from edgespec.engine import guard, heap
from edgespec.engine.context import ContextOptions
from edgespec.engine.devices import devices, has_gpu
from edgespec.engine.interrupt import Interrupt
from edgespec.engine.model import LoadOptions, Model
from edgespec.engine.session import LlamaSession
from edgespec.engine.threads import default_threads
from edgespec.gguf.header import GgufHeader

_log = logging.getLogger(__name__)

DEFAULT_CTX = 8192
MAX_ROWS = LONGEST + 1
"""Rows of one verification: the last token and the longest draft."""
_N_BATCH = {True: 512, False: 128}
"""Tokens per native call, by whether a GPU computes: on a CPU more gain nothing and progress is
coarser."""


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
        heap.give_back()


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
