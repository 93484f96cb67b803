"""Open a model file: find its shards, read its header, and say plainly when it is no model.

The front of the gguf modules; everything that looks at a model before llama.cpp does comes here.
Reads headers only, never weights, and needs neither numpy nor llama_cpp.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from edgespec.errors import ModelFileError
from edgespec.gguf.alien import alien
from edgespec.gguf.cursor import Cursor, Readable
from edgespec.gguf.deadly import check_survives
from edgespec.gguf.find import located, not_found
from edgespec.gguf.parse import parse_part
from edgespec.gguf.part import AGAIN, GgufArray, GgufPart, GgufTensor, Value, refuse, shown
from edgespec.gguf.shape import ModelShape, shape_of
from edgespec.gguf.shards import check_shards, join_hint, shard_paths
from edgespec.gguf.tables import OTHER_ARCHITECTURES, OTHER_TYPES
from edgespec.gguf.vocab import TokenList

_MAGIC: Final = b"GGUF"


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """A whole, runnable-looking model: its metadata, and every tensor of all its files."""

    parts: tuple[GgufPart, ...]
    shape: ModelShape

    @property
    def path(self) -> Path:
        """The file to load: the only one, or the first shard."""
        return self.parts[0].path

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files of the model."""
        return tuple(part.path for part in self.parts)

    @property
    def architecture(self) -> str:
        """As the file names it; llama.cpp may not know it."""
        return self.shape.architecture

    @property
    def tokens(self) -> TokenList:
        """The vocabulary; `tokens.check()` before loading keeps llama.cpp from aborting on it."""
        return TokenList(self.parts[0])

    @property
    def values(self) -> Mapping[str, Value]:
        """All metadata except arrays and texts over 256 KiB."""
        return self.parts[0].values

    @property
    def arrays(self) -> Mapping[str, GgufArray]:
        """Where the arrays lie; `parts[0].texts(key)` and `.numbers(key)` read one."""
        return self.parts[0].arrays

    @property
    def tensors(self) -> tuple[GgufTensor, ...]:
        """Entries of all shards."""
        return tuple(tensor for part in self.parts for tensor in part.tensors)


def read_header(path: Path, known: GgufHeader | None = None) -> GgufHeader:
    """The header of the model that `path` belongs to: any shard, or its folder, stands for it.

    Takes 0.03 s for 151,936 tokens, a tenth of it where `known`, a header read before, has the
    same; memory stays at a few MB whatever the file claims.
    Raises: `ModelFileError` with the reason and a way out; `ModelNotFound` when nothing is there.
    """
    paths = shard_paths(located(path)[0])
    first = known.parts[0] if known else None
    parts = tuple(read_part(one, first) for one in paths)
    check_shards(parts)
    return _header(parts)


def read_far_header(name: str, file: Readable, size_bytes: int) -> GgufHeader:
    """The header of a file that is not on this machine; of several files, of this one alone.

    Raises: `ModelFileError` as `read_header`; what `file` raises.
    """
    path = Path(name)
    _check_magic(path, file.read(512), size_bytes)
    part = parse_part(path, Cursor(file, size_bytes, len(_MAGIC)), file)
    return _header((part,))


def _header(parts: tuple[GgufPart, ...]) -> GgufHeader:
    first = parts[0]
    architecture = _architecture(first)
    if not any(part.tensors for part in parts):
        refuse(
            first.path,
            "is a vocabulary only: it has no weights",
            "get the model's own file; it is hundreds of times larger",
        )
    shape = shape_of(parts, architecture)
    check_survives(parts, shape)
    return GgufHeader(parts, shape)


def read_part(path: Path, known: GgufPart | None = None) -> GgufPart:
    """One file of whatever kind, as long as it is a sound GGUF file.

    `known`: another, read before, with perhaps the same vocabulary.
    Raises: as `read_header`.
    """
    try:
        with _open(path) as file:
            size_bytes = os.fstat(file.fileno()).st_size
            _check_magic(path, file.read(512), size_bytes)
            return parse_part(path, Cursor(file, size_bytes, len(_MAGIC)), known=known)
    except ModelFileError as error:
        raise ModelFileError(error.message, hint=join_hint(path) or error.hint) from None
    except OSError as error:
        raise ModelFileError(
            f"{path.name} cannot be read: {error.strerror or error}", hint=AGAIN
        ) from error


def _architecture(part: GgufPart) -> str:
    """The architecture of a language model. Raises: `ModelFileError` naming any other kind."""
    architecture = part.values.get("general.architecture")
    what = OTHER_TYPES.get(str(part.values.get("general.type"))) or OTHER_ARCHITECTURES.get(
        str(architecture)
    )
    if what is not None:
        refuse(part.path, f"is {what}", _way_out(part))
    if not isinstance(architecture, str) or not architecture:
        refuse(
            part.path,
            "does not say its architecture ('general.architecture')",
            "get a complete file of this model",
        )
    if part.values.get(f"{architecture}.attention.causal") is False:
        # Rows of such a model would see the draft behind them.
        refuse(part.path, f"is {OTHER_ARCHITECTURES['bert']}", _way_out(part))
    return architecture


def _way_out(part: GgufPart) -> str:
    base = part.values.get("general.base_model.0.name")
    named = f": {shown(base)}" if isinstance(base, str) else ""
    return f"give the file of a language model{named}"


def _open(path: Path) -> BinaryIO:
    """Open a regular file. Raises: `ModelNotFound`, `ModelFileError`."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            refuse(path, "is not a regular file", "give the path of a .gguf file")
        return path.open("rb")
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise not_found(path) from error
    except PermissionError as error:
        raise ModelFileError(
            f"{path.name} may not be read: permission denied", hint=f"try: chmod u+r '{path}'"
        ) from error


def _check_magic(path: Path, start: bytes, size_bytes: int) -> None:
    if size_bytes == 0:
        refuse(path, "is empty: 0 bytes")
    if start.startswith(_MAGIC):
        return
    if start.startswith(_MAGIC[::-1]):
        refuse(
            path,
            "is big-endian, made for another kind of processor",
            "get the little-endian file, or convert it with gguf-convert-endian",
        )
    what, hint = alien(start)
    refuse(path, what, hint)
