"""Words that can be found: what of a text goes into the full-text index, and what a query asks.

SQLite's tokenizers take a run of Chinese, Japanese or Thai for one word, and its trigrams miss
words of two characters, which most Chinese ones are. So such runs are indexed as overlapping pairs,
with the last character alone: a run is found as the phrase of its pairs, a single character as
the beginning of a pair.
"""

import re
import unicodedata
from functools import cache
from itertools import pairwise

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai and Lao, Burmese, Khmer, kana, Chinese characters; Hangul, for its particles."""
_WORD = re.compile(r"\w+")
_BETWEEN = re.compile(r"\W")
_MOST_SIGNS = 100
"""SQLite takes no condition of a thousand parts."""


# Compiled when first needed: ten milliseconds of CPU that a first paint has better use for.


@cache
def _run() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]+")


@cache
def _parts() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")


def indexed(text: str) -> str:
    """`text` as the index takes it: words with spaces between them."""
    return _parts().sub(lambda part: _spaced(part[0]), _plain(text))


def query(words: str) -> str:
    """What FTS5 is asked for texts with all of `words`, the last of each begun; empty: nothing."""
    terms = []
    for part in _parts().findall(" ".join(_plain(words).split())):
        if not _run().match(part):
            terms += [f'"{word}" *' for word in _WORD.findall(part.replace("_", " "))]
        elif len(part) == 1:
            terms.append(f'"{part}" *')
        else:
            terms.append(f'"{" ".join(_pairs(part))}"')
    return " ".join(terms)


def signs(words: str) -> tuple[str, ...]:
    """The emoji among `words`, each once: tokenizers take them for spaces."""
    found = dict.fromkeys(c for c in words if unicodedata.category(c) == "So")
    return tuple(found)[:_MOST_SIGNS]


def excerpt(text: str, words: str, width: int = 160) -> tuple[str, tuple[tuple[int, int], ...]]:
    """One line around the first of `words`, and where in it they stand."""
    pattern = _pattern(words)
    flat = _flat(text)
    first = pattern.search(_folded(flat)) if pattern else None
    start = max(0, (first.start() if first else 0) - width // 4)
    if start:
        start = flat.find(" ", start, start + width // 8) + 1 or start
    line = flat[start : start + width]
    spans = [match.span() for match in pattern.finditer(_folded(line))] if pattern else []
    lead = "…" if start else ""
    tail = "…" if start + width < len(flat) else ""
    shown = tuple((a + len(lead), b + len(lead)) for a, b in spans)
    return f"{lead}{line}{tail}", shown


def contains(text: str, words: str) -> bool:
    """Whether all of `words` stand in a short text, a title say."""
    folded = _folded(text)
    return all(_folded(word) in folded for word in words.split())


def _plain(text: str) -> str:
    """Without the differences between half and full width and between ways to compose."""
    return unicodedata.normalize("NFKC", text)


def _spaced(part: str) -> str:
    if _run().match(part):
        return f" {' '.join([*_pairs(part), part[-1]])} "
    # What is no word to `query` may be one to SQLite, which knows no sign after Unicode 6.1.
    return part if part.isascii() else _BETWEEN.sub(" ", part)


def _pairs(run: str) -> list[str]:
    return [a + b for a, b in pairwise(run)]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _pattern(words: str) -> re.Pattern[str] | None:
    found = [part for part in _parts().findall(_folded(words)) if part.strip()]
    parts = [word for part in found for word in _WORD.findall(part)] + list(signs(words))
    return re.compile("|".join(re.escape(part) for part in parts)) if parts else None


def _folded(text: str) -> str:
    """Lower case without accents, with exactly as many characters as `text`."""
    if text.isascii():
        return text.lower()
    return "".join(_base(c) for c in text)


def _base(character: str) -> str:
    base = unicodedata.normalize("NFKD", character)[:1].lower()
    return base if len(base) == 1 else character
