"""`python -m tests.fuzz.guided -max_total_time=25`: coverage-guided fuzzing of the header reader.

Atheris (libFuzzer) changes bytes, keeps what reaches new code, and stops at the first exception
that is not a refusal, at an input that hangs, or at 64 MB of memory more. Arguments are
libFuzzer's; without a corpus folder, it starts from the tiny models. Needs the extra `fuzz`.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["edgespec.gguf", "edgespec.models.pairing"]):
    import edgespec.gguf.header
    import edgespec.models.pairing  # noqa: F401

from tests.fuzz.campaign import MOST_GROWTH_BYTES, peak_bytes
from tests.fuzz.looking import refusal, write_hollow
from tests.fuzz.originals import originals

_MOST_INPUT_BYTES = 1 << 16
_MOST_WALL_S = 10
"""Of one input, on a machine that does other work too; `campaign` measures the processor's time."""


def main() -> None:
    """Fuzz until libFuzzer's limits end it."""
    with tempfile.TemporaryDirectory() as folder:
        path, corpus = Path(folder, "mutant.gguf"), Path(folder, "corpus")
        corpus.mkdir()
        for i, one in enumerate(originals(Path(folder))):
            head, size = one.hollow()
            write_hollow(path, head, size)
            assert refusal(path) is None
            # The size of the whole file goes first: the reader holds everything against it.
            (corpus / str(i)).write_bytes(size.to_bytes(4, "little") + head)

        def look(data: bytes) -> None:
            write_hollow(path, data[4:], int.from_bytes(data[:4], "little") or len(data))
            refusal(path)

        mib = (peak_bytes() + MOST_GROWTH_BYTES) >> 20
        limits = [
            f"-timeout={_MOST_WALL_S}",
            f"-rss_limit_mb={mib}",
            f"-max_len={_MOST_INPUT_BYTES}",
        ]
        atheris.Setup([sys.argv[0], *limits, *sys.argv[1:], str(corpus)], look)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
