"""Brings the bytes of an offer into a part file, over as many connections as it takes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from edgespec.models.spec import HubSource
from edgespec.store.hub_errors import explained, retry
from edgespec.store.hub_offer import Offer, pause
from edgespec.store.job import Job, SourceFailed
from edgespec.store.part import PartFile
from edgespec.store.progress import Meter
from edgespec.store.pump import Lost, pumped

SPAN_BYTES = 16 << 30
"""Asked for at once: the hub's storage refuses answers above 50 GB (huggingface_hub,
MAX_HTTP_DOWNLOAD_SIZE)."""
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


@dataclass(frozen=True, slots=True)
class _Head:
    """The beginning of an answer."""

    status: int
    headers: Mapping[str, str]


class Stream:
    """Fills part files from one offer."""

    def __init__(
        self,
        source: HubSource,
        offer: Offer,
        job: Job,
        meter: Meter,
        *,
        span_bytes: int = SPAN_BYTES,
    ) -> None:
        self._source = source
        self._offer = offer
        self._patience = job.patience
        self._meter = meter
        self._span_bytes = span_bytes
        self._can_resume = True

    def fill(self, part: PartFile) -> bool:
        """Get what is missing. Gives whether the part was put together from several answers.

        Raises: `SourceFailed` when nothing new came in several tries.
        """
        size_bytes = self._offer.size_bytes
        is_patched = part.done_bytes > 0
        if size_bytes is not None and part.done_bytes > size_bytes:
            part.restart()
        failures, best = 0, part.done_bytes
        self._meter.at(part.done_bytes)
        while part.done_bytes != size_bytes:
            asked_s: float | None = None
            why = "the connection ended early"
            before = part.done_bytes
            try:
                self._continue(part)
                if size_bytes is None:
                    return is_patched
                if part.done_bytes == size_bytes or self._ended_span(part, before):
                    continue
            except Lost as lost:
                again = retry(lost.cause, self._source)
                if again is None:
                    cause = lost.cause
                    raise explained(cause, self._source, self._offer.endpoint) from cause
                if again.is_range_refused:
                    part.restart()
                asked_s, why = again.pause_s, again.why
            is_patched = True
            failures = 1 if part.done_bytes > best else failures + 1
            best = max(best, part.done_bytes)
            if failures >= self._patience.tries:
                raise SourceFailed(
                    f"{why}, {failures} times without a new byte",
                    hint="what came is kept: the same command goes on from there",
                )
            pause(asked_s, failures, why, self._patience, self._meter)
        return is_patched

    def _continue(self, part: PartFile) -> None:
        """One answer, appended. Raises: `Lost`, `SourceFailed`, `OSError` of the disk."""
        headers = {"Accept-Encoding": "identity"}
        if wanted := self._range(part.done_bytes):
            headers["Range"] = wanted
        items = pumped(lambda: self._answer(headers), self._meter.tick)
        head = next(items)
        assert isinstance(head, _Head), head
        self._check(head, part)
        for chunk in items:
            assert isinstance(chunk, bytes), chunk
            part.append(chunk)
            size_bytes = self._offer.size_bytes
            if size_bytes is not None and part.done_bytes > size_bytes:
                part.restart()
                raise SourceFailed(f"it sent more than the {size_bytes:,} bytes of the file")
            self._meter.at(part.done_bytes)

    def _range(self, done_bytes: int) -> str:
        size_bytes = self._offer.size_bytes or 0
        if not self._can_resume or (not done_bytes and size_bytes <= self._span_bytes):
            return ""
        last = (done_bytes // self._span_bytes + 1) * self._span_bytes - 1
        return f"bytes={done_bytes}-{last}" if last < size_bytes - 1 else f"bytes={done_bytes}-"

    def _ended_span(self, part: PartFile, before: int) -> bool:
        return part.done_bytes > before and part.done_bytes % self._span_bytes == 0

    def _check(self, head: _Head, part: PartFile) -> None:
        """Whether the answer begins where the part ends; else start over."""
        if head.status == 206:
            match = _RANGE.fullmatch(head.headers.get("content-range", ""))
            begins, total = (int(match[1]), int(match[2])) if match else (-1, -1)
            if begins == part.done_bytes and total == (self._offer.size_bytes or total):
                return
            self._can_resume = False
            part.restart()
            raise Lost(OSError("the server sends other bytes than asked for"))
        if part.done_bytes:
            self._meter.say("the server cannot resume: starting over")
            part.restart()

    def _answer(self, headers: Mapping[str, str]) -> Iterator[_Head | bytes]:
        """Runs in the pump's thread: waits there, nowhere else."""
        from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

        # Asked for at the hub's own address each time: signed addresses expire, and the client
        # sends no token to where it is led.
        with get_session().stream(
            "GET",
            self._offer.url,
            headers={**build_hf_headers(library_name="edgespec"), **headers},
            timeout=self._patience.silence_s,
            follow_redirects=True,
        ) as response:
            hf_raise_for_status(response)
            yield _Head(response.status_code, response.headers)
            yield from response.iter_bytes()
