"""An index of the suite's own files, for one benchmark: the user's is neither read nor touched.

As `edgespec index add` would build it, but in a folder that goes with the benchmark.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from edgespec.gguf.header import GgufHeader
from edgespec.index import shard
from edgespec.index.retrieve import Retriever
from edgespec.index.shard import Shard
from edgespec.index.vocabulary import vocabulary_of


class TemporaryIndex:
    """Texts that drafts may come from; `close` it after `retriever`, which its user closes."""

    def __init__(
        self,
        documents: Sequence[str],
        header: GgufHeader,
        tokenize: Callable[[str], Sequence[int]],
    ) -> None:
        """Build it for the vocabulary of `header`."""
        self._folder = TemporaryDirectory(prefix="edgespec-bench-")
        path, key = Path(self._folder.name) / "suite.shard", bytes.fromhex(vocabulary_of(header))
        try:
            shard.write(path, shard.stored(map(tokenize, documents)), key)
            self.retriever = Retriever([Shard(path, key)])
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove its folder; idempotent."""
        self._folder.cleanup()
