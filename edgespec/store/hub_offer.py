"""Asks the hub what it offers under a name: which commit, what size, what hash."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from edgespec.models.hub_client import endpoint, prepare
from edgespec.models.spec import HubSource
from edgespec.store.hub_errors import explained, retry
from edgespec.store.job import Job, Patience, SourceFailed
from edgespec.store.progress import Meter
from edgespec.store.pump import Lost, pumped

_POLL_S = 0.1
_COMMIT = re.compile("[0-9a-f]{40,64}")
_SHA256 = re.compile("[0-9a-f]{64}")
_ETAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]*")


@dataclass(frozen=True, slots=True)
class Offer:
    """A file at one commit."""

    endpoint: str | None
    """None: the hub itself; else a mirror."""
    url: str
    """At that commit, so that it cannot change meanwhile; leads on to wherever the bytes are."""
    commit: str
    etag: str
    """The sha256 of a large file."""
    size_bytes: int | None

    @property
    def sha256(self) -> str | None:
        """What the hub says the hash is; None for a small file."""
        return self.etag if _SHA256.fullmatch(self.etag) else None


def ask(source: HubSource, job: Job, meter: Meter) -> Offer:
    """What the hub has. Raises: `SourceFailed`, after seconds when nobody answers."""
    meter.at(0)
    tries = 0
    while True:
        tries += 1
        try:
            return _asked(source, job.patience, meter)
        except Lost as lost:
            again = retry(lost.cause, source)
            if again is None or not again.is_answer or tries >= job.patience.tries:
                raise explained(lost.cause, source, endpoint()) from lost.cause
            pause(again.pause_s, tries, again.why, job.patience, meter)


def pause(asked_s: float | None, failures: int, why: str, patience: Patience, meter: Meter) -> None:
    """Wait before the next try, saying so. Raises: `SourceFailed` for too long a wait."""
    pause_s = patience.pause_s * 2 ** (failures - 1) if asked_s is None else asked_s
    if pause_s > patience.longest_pause_s:
        raise SourceFailed(
            f"{why}, and it asks to wait {pause_s:,.0f} s",
            hint="wait that long; a token (HF_TOKEN) raises the limit",
        )
    meter.say(f"{why}: try {failures + 1} of {patience.tries} in {pause_s:.0f} s")
    end_s = time.monotonic() + pause_s
    while (left_s := end_s - time.monotonic()) > 0:
        time.sleep(min(_POLL_S, left_s))
        meter.tick()


def _asked(source: HubSource, patience: Patience, meter: Meter) -> Offer:
    try:
        prepare()
        from huggingface_hub import get_hf_file_metadata, hf_hub_url
    except ValueError as error:
        raise Lost(error) from error
    base = endpoint()

    def answer() -> Iterator[Offer]:
        url = hf_hub_url(source.repo, source.file, revision=source.revision, endpoint=base)
        found = get_hf_file_metadata(url, timeout=patience.answer_s)
        commit, etag = found.commit_hash or "", found.etag or ""
        # Both become names of files.
        if not _COMMIT.fullmatch(commit) or not _ETAG.fullmatch(etag):
            raise Unreadable("its answer has no commit and no ETag: it is not a Hugging Face hub")
        fixed = hf_hub_url(source.repo, source.file, revision=commit, endpoint=base)
        yield Offer(base, fixed, commit, etag, found.size)

    return next(pumped(answer, _until(2 * patience.answer_s, meter.tick)))


class Unreadable(OSError):
    """Something answers, but not the hub."""


def _until(limit_s: float, tick: Callable[[], None]) -> Callable[[], None]:
    """`tick`, but a timeout after `limit_s`: a silent name server has none of its own."""
    end_s = time.monotonic() + limit_s

    def checked() -> None:
        if time.monotonic() > end_s:
            raise Lost(TimeoutError(f"no answer within {limit_s:.0f} s"))
        tick()

    return checked
