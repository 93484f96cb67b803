"""What the Hugging Face hub's refusals mean: as clauses for people, and whether to try again."""

import email.utils
import errno
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edgespec.models.hub_client import HUB, connection_errors, gated, gist, refusals
from edgespec.models.spec import HubSource
from edgespec.sizes import gigabytes
from edgespec.store.job import Job, SourceFailed

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError

_BUSY = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class Retry:
    """That another try may help."""

    why: str
    pause_s: float | None = None
    """What the server asked for."""
    is_answer: bool = False
    """The server answered at all."""
    is_range_refused: bool = False


def retry(error: Exception, source: HubSource) -> Retry | None:
    """Whether the same request may succeed later; None: it will not."""
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, HfHubHTTPError):
        response = error.response
        status = response.status_code
        if status in _BUSY:
            why = "it is asked too often" if status == 429 else f"it answers with status {status}"
            return Retry(why, _asked_pause_s(response.headers), is_answer=True)
        if status == 416:
            return Retry("what was kept is no part of the file", 0.0, True, is_range_refused=True)
        # Where the hub led to: a signed address that ran out.
        is_elsewhere = len(response.history) > 0 and "x-error-code" not in response.headers
        if status == 403 and is_elsewhere:
            return Retry("its storage refuses the address that the hub gave", is_answer=True)
        return None
    if isinstance(error, connection_errors()):
        return Retry(gist(error))
    return None


def explained(error: Exception, source: HubSource, endpoint: str | None) -> SourceFailed:
    """The failure of `source` that `error` means. Raises: `error`, if it is a fault of ours."""
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if isinstance(error, LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    page = f"{endpoint or HUB}/{source.repo}"
    if isinstance(error, GatedRepoError):
        reason, hint = gated(page)
        return SourceFailed(reason, hint=hint)
    if isinstance(error, RevisionNotFoundError):
        return SourceFailed(f"it has no revision {source.revision}", hint=f"see {page}")
    if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
        what = f"it has no file {source.file} at revision {source.revision}"
        return SourceFailed(what, hint=f"see {page}/tree/main")
    if isinstance(error, HfHubHTTPError):
        return _refused(error, page)
    if isinstance(error, RepositoryNotFoundError):
        return SourceFailed("there is no such repository, or it is private", hint=f"see {page}")
    if isinstance(error, refusals()):
        reason = f"no connection to {endpoint or 'it'} ({gist(error)})"
        return SourceFailed(reason, is_unreachable=True)
    raise error


def disk_failure(error: OSError, folder: Path, job: Job) -> SourceFailed:
    """The failure that an error of the disk means."""
    if error.errno == errno.ENOSPC:
        free = gigabytes(job.free_bytes(folder))
        return SourceFailed(
            f"the disk of {folder} is full ({free} free)",
            hint="free some space and run it again: what came is kept",
        )
    return SourceFailed(
        f"{error.filename or folder} cannot be written: {error.strerror or error}",
        hint="let HF_HOME name a folder of yours",
    )


def _refused(error: "HfHubHTTPError", page: str) -> SourceFailed:
    from huggingface_hub import get_token
    from huggingface_hub.errors import RepositoryNotFoundError

    response = error.response
    if response.status_code == 401 and get_token() is not None:
        return SourceFailed(
            "it refuses your token",
            hint="make a new one, set HF_TOKEN to it, or unset HF_TOKEN where none is needed",
        )
    if isinstance(error, RepositoryNotFoundError):
        hint = f"see {page}; a private one needs HF_TOKEN"
        return SourceFailed("there is no such repository, or it is private", hint=hint)
    if response.status_code == 403:
        return SourceFailed(
            "it forbids the file (HTTP status 403)",
            hint=f"see {page}: its owner, your token's scopes or a proxy decide",
        )
    return SourceFailed(f"it answered with HTTP status {response.status_code}")


def _asked_pause_s(headers: Mapping[str, str]) -> float | None:
    """`Retry-After` in either form, else the rate-limit header of the hub (`"api";r=0;t=55`)."""
    said = headers.get("retry-after", "").strip()
    if re.fullmatch("[0-9]+", said):
        return float(said)
    if said:
        with suppress(ValueError, OverflowError):  # a year that no clock has
            if when := email.utils.parsedate_tz(said):
                return max(0.0, email.utils.mktime_tz(when) - time.time())
        return None
    reset = re.search(r";r=0;t=(\d+)", headers.get("ratelimit", ""))
    return float(reset[1]) if reset else None
