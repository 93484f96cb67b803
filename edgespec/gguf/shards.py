"""Names of models in several files: which files belong together, and what is missing.

llama.cpp loads `<stem>-00001-of-0000N.gguf` and finds the others beside it by name.
"""

import re
from pathlib import Path, PurePath
from typing import Final

from edgespec.errors import ModelFileError
from edgespec.gguf.part import GgufPart, refuse

_SHARD: Final = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
_RAW_PIECE: Final = re.compile(r"(?P<stem>.+?)\.?-?(part-?\d+(of\d+)?|split-?[a-z]+|\d{3})$", re.I)
_MOST_NAMED: Final = 5


def shard_paths(path: Path) -> tuple[Path, ...]:
    """All files of the model that `path` belongs to, the first shard first.

    Raises: `ModelFileError` naming the shards that are not there.
    """
    match = _SHARD.fullmatch(path.name)
    if match is None:
        return (path,)
    count = int(match["count"])
    if not 1 <= int(match["number"]) <= count:
        refuse(
            path,
            f"calls itself shard {int(match['number'])} of {count}",
            "give it the name it was published with",
        )
    paths = [path.with_name(shard_name(match["stem"], i, count)) for i in range(count)]
    missing = [one.name for one in paths if not is_there(one)]
    if missing:
        raise ModelFileError(
            f"the model has {count} files, and {len(missing)} of them are not in {path.parent}: "
            + listed(missing),
            hint="download the missing ones into the same folder",
        )
    return tuple(paths)


def shard_name(stem: str, index: int, count: int) -> str:
    """The file name of shard `index`, counted from 0."""
    return f"{stem}-{index + 1:05d}-of-{count:05d}.gguf"


def check_shards(parts: tuple[GgufPart, ...]) -> None:
    """Hold what the shards say of themselves against their names.

    Raises: `ModelFileError` when a shard is another model's, misnamed, or a tensor is missing.
    """
    for i, part in enumerate(parts):
        count, number = part.values.get("split.count", 1), part.values.get("split.no", 0)
        if count != len(parts) or number != i:
            is_told = isinstance(number, int) and isinstance(count, int)
            says = f"{int(number) + 1} of {count}" if is_told else "of no number"
            refuse(
                part.path,
                f"is shard {says}, but its name makes it {i + 1} of {len(parts)}",
                "give the files the names they were published with: "
                "<name>-00001-of-0000N.gguf, and name the first one",
            )
    first = parts[0]
    have = sum(len(part.tensors) for part in parts)
    need = first.values.get("split.tensors.count", have)
    if len(parts) > 1 and have != need:
        told = f"{need:,}" if isinstance(need, int) else "a number that makes no sense"
        refuse(first.path, f"and its other shards hold {have:,} tensors together, not {told}")
    names = {tensor.name for part in parts for tensor in part.tensors}
    if len(names) != have:
        refuse(first.path, "and its other shards hold the same tensor twice")


def is_shard(path: PurePath) -> bool:
    """Whether the name is that of one of several files."""
    return _SHARD.fullmatch(path.name) is not None


def is_later_shard(path: PurePath) -> bool:
    """Whether the name is that of a shard after the first."""
    match = _SHARD.fullmatch(path.name)
    return match is not None and int(match["number"]) > 1


def is_there(path: Path) -> bool:
    """A file that may not be looked at counts: opening it gives the better message."""
    try:
        path.stat()
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


def join_hint(path: Path) -> str:
    """How to join a file that was cut into raw pieces; empty when the name is not a piece's."""
    match = _RAW_PIECE.fullmatch(path.name)
    if match is None or ".gguf" not in path.name.lower():
        return ""
    return (
        f"this looks like one piece of a cut file: join all of them in order into {match['stem']}"
    )


def listed(names: list[str]) -> str:
    """Some names for a message: "a, b, c and 4 more"."""
    more = len(names) - _MOST_NAMED
    text = ", ".join(names[:_MOST_NAMED])
    return f"{text} and {more} more" if more > 0 else text
