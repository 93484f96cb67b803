"""Everything that looks at a model's file before llama.cpp does, in one call."""

from pathlib import Path

from edgespec.errors import EdgespecError
from edgespec.gguf.header import read_header
from edgespec.models.card import card_of
from edgespec.models.pairing import check_pair
from edgespec.plan.sizes import sizes_of


def refusal(path: Path) -> EdgespecError | None:
    """What it has to say against the file. Anything else that is raised is a fault of ours."""
    try:
        header = read_header(path)
        header.tokens.check()
        header.shape.kv_bytes_per_token()
        sizes_of(header, "m")
        card_of(header, None, "m", "").lines()
        check_pair(header, header)
    except EdgespecError as error:
        return error
    return None


def write_hollow(path: Path, head: bytes, size_bytes: int) -> None:
    """A file of that size with that beginning; the rest is a hole."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(min(size_bytes, 1 << 33))
