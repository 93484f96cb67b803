"""The user's own texts for a loaded model: opened before it answers, added to when it has."""

import logging
from collections.abc import Callable
from functools import cache, partial

from edgespec.engine.vocab import LlamaVocab
from edgespec.errors import IndexFault, UsageError
from edgespec.gguf.header import GgufHeader
from edgespec.index import learned
from edgespec.index.folders import names
from edgespec.index.ready import retriever
from edgespec.index.retrieve import Retriever
from edgespec.index.vocabulary import vocabulary_of

_log = logging.getLogger(__name__)

AUTO, OFF = "auto", "off"
Learn = Callable[[str, tuple[int, ...]], None]
"""Told of an answer's text and tokens when it is complete."""


def has_texts(wanted: str) -> bool:
    """Whether there is an index to draft from, or one was named."""
    return wanted != OFF and (wanted != AUTO or bool(names()))


def open_index(
    wanted: str,
    drafter: str,
    header: GgufHeader,
    vocab: LlamaVocab,
    tell: Callable[[str, float], None],
) -> Retriever | None:
    """Shards for this vocabulary: of the index `wanted`, of all there are ("auto"), or none.

    Raises: `UsageError` and `IndexFault` for an index that was named and cannot be had.
    """
    if wanted == AUTO and drafter == "index" and not names():
        raise UsageError(
            "the drafter 'index' needs an index of your own texts",
            hint="edgespec index add PATH makes one",
        )
    if not has_texts(wanted):
        return None
    found = retriever(
        wanted,
        vocabulary_of(header),
        partial(vocab.tokenize, parse_special=False),
        tell,
    )
    if len(found) == 0:
        found.close()
        return None
    return found


def learner(header: GgufHeader) -> Learn:
    """Keeps complete answers, as long as the user wants that: asked with every answer."""

    @cache
    def vocabulary() -> str:
        return vocabulary_of(header)

    def learn(text: str, tokens: tuple[int, ...]) -> None:
        if not learned.is_learning():
            return
        try:
            learned.learn(text, tokens, vocabulary())
        except IndexFault as fault:  # an answer never fails for it
            _log.warning("the answer was not learned: %s", fault.message)

    return learn
