"""From checked files to a loaded pair: a plan carried out, rung by rung where that fails."""

import logging
from dataclasses import replace

from edgespec.api.attempt import Attempt
from edgespec.api.attempt import Loaded as Loaded
from edgespec.api.files import Files
from edgespec.api.place import Planned, planned
from edgespec.api.types import Progress
from edgespec.engine import guard
from edgespec.engine.threads import default_threads
from edgespec.errors import DoesNotFit
from edgespec.plan.make import next_rung
from edgespec.plan.types import Asked

_log = logging.getLogger(__name__)


def load_pair(
    files: Files,
    *,
    n_ctx: int | None,
    n_threads: int | None,
    progress: Progress,
    asked: Asked = Asked(),
    workers: tuple[str, ...] = (),
    memory_bytes: int | None = None,
    max_branches: int = 0,
    has_index: bool = False,
) -> Loaded:
    """Plan, load weights and make contexts; where that fails, by the next smaller plan.

    `asked` is met or refused; its `n_ctx` is given beside it. `workers`: the devices of connected
    workers that may be used. `memory_bytes`: take no more of the machine's own memory.
    `max_branches`: of the target's passes, where its memory can branch. `has_index`: drafts can
    come from the user's own texts.
    Raises: `DoesNotFit`, `EngineError`, `ModelFileError`, `UsageError`.
    """
    progress("checking llama.cpp", 0.0)
    verdict = guard.verdict()
    if verdict.notice and verdict.is_new:
        _log.warning("%s", verdict.notice)
    wished = replace(asked, n_ctx=n_ctx, max_branches=max_branches)
    found = planned(files, wished, workers, memory_bytes, has_index=has_index)
    threads = n_threads or default_threads()
    is_doubtful = False
    while True:
        load = Attempt(files, found.plan, threads, verdict.use_extra_bufts, progress)
        try:
            return load.run(is_doubtful=is_doubtful)
        except DoesNotFit as error:
            found = _lower(found, error)
            # There is less memory than it seems, and short of it ggml may end the process.
            is_doubtful = True


def _lower(found: Planned, error: DoesNotFit) -> Planned:
    """The next plan, told. Raises: `error` where there is none."""
    plan = next_rung(found.request, found.plan)
    if plan is None:
        raise error
    told = "; ".join(rung.told for rung in plan.rungs if rung not in found.plan.rungs)
    _log.warning("%s: next with %s", error.message, told or "less")
    return Planned(found.request, plan)
