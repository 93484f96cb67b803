"""What the tests of whole pulls do not reach: large files by spans, and full disks."""

import errno
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgespec.models.spec import HubSource, ModelSpec
from edgespec.store.hub_errors import disk_failure
from edgespec.store.hub_offer import ask
from edgespec.store.hub_stream import Stream
from edgespec.store.job import Job
from edgespec.store.part import PartFile
from edgespec.store.progress import ignore
from tests.hub import COMMIT, Fault, LocalHub, serving
from tests.unit.wheels import content

DATA = content(2_500_000)
SOURCE = HubSource("owner/tiny", "tiny.gguf", COMMIT)
SPEC = ModelSpec("tiny", "Tiny", "tiny.gguf", "Q8_0", (SOURCE,), size_bytes=len(DATA))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    with serving() as server:
        server.files["owner/tiny", "tiny.gguf"] = DATA
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(SPEC, tmp_path, ignore, lambda _: 1_500_000)


def _filled(job: Job, span_bytes: int) -> PartFile:
    meter = job.meter("download", "a hub", len(DATA))
    offer = ask(SOURCE, job, meter)
    with PartFile(job.folder / "part", meter) as part:
        Stream(SOURCE, offer, job, meter, span_bytes=span_bytes).fill(part)
    return part


def test_large_file_is_asked_for_in_spans(hub: LocalHub, job: Job) -> None:
    part = _filled(job, 1_000_000)

    assert part.sha256 == hashlib.sha256(DATA).hexdigest()
    assert [one.range for one in hub.gets] == [
        "bytes=0-999999",
        "bytes=1000000-1999999",
        "bytes=2000000-",
    ]


def test_span_that_breaks_is_continued_to_its_end(hub: LocalHub, job: Job) -> None:
    hub.faults.append(Fault(cut_after=400_000))

    part = _filled(job, 1_000_000)

    assert part.sha256 == hashlib.sha256(DATA).hexdigest()
    assert hub.gets[1].range == "bytes=400000-999999"


def test_part_that_was_kept_is_hashed_when_it_is_opened(job: Job) -> None:
    meter = job.meter("verify", "what was kept", None)
    with PartFile(job.folder / "part", meter) as part:
        part.append(DATA[:1_200_000])

    with PartFile(job.folder / "part", meter) as again:
        again.append(DATA[1_200_000:])

    assert again.done_bytes == len(DATA)
    assert again.sha256 == hashlib.sha256(DATA).hexdigest()


def test_full_disk_is_told_with_what_is_free(job: Job) -> None:
    error = OSError(errno.ENOSPC, "No space left on device")

    failure = disk_failure(error, job.folder, job)

    assert failure.reason == f"the disk of {job.folder} is full (1.5 MB free)"
    assert "what came is kept" in failure.hint
