"""What the Hugging Face hub's refusals mean, as clauses for people."""

from edgespec.models.spec import HubSource
from edgespec.store.job import SourceFailed


def refusals() -> tuple[type[Exception], ...]:
    """The exceptions of a call to the hub that are not our fault."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    # The base is httpx's own error, whichever httpx this hub is built on.
    http_errors = (base for base in HfHubHTTPError.__bases__ if issubclass(base, Exception))
    return (*http_errors, OSError, HFValidationError)


def explained(error: Exception, source: HubSource, endpoint: str | None) -> SourceFailed:
    """The failure of `source` that `error` means."""
    from huggingface_hub.errors import GatedRepoError

    hint = ""
    if isinstance(error, GatedRepoError):
        hint = "accept the licence on the repository's page and set HF_TOKEN to a token of yours"
    return SourceFailed(_reason(error, source, endpoint), hint=hint)


def _reason(error: Exception, source: HubSource, endpoint: str | None) -> str:
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if isinstance(error, GatedRepoError):
        return "the repository is gated"
    if isinstance(error, RepositoryNotFoundError):
        return "there is no such repository, or it is private"
    if isinstance(error, RevisionNotFoundError):
        return f"it has no revision {source.revision}"
    if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
        return f"it has no file {source.file} at revision {source.revision}"
    if isinstance(error, HfHubHTTPError):
        return f"it answered with HTTP status {error.response.status_code}"
    gist = str(error).strip().splitlines() or [type(error).__name__]
    return f"no connection to {endpoint or 'it'} ({gist[0]})"
