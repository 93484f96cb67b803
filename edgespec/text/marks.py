"""Marks that travel through a chat template inside message contents.

A mark is a private-use character that no content has. Around a control token's text it says "a
person wrote this, not the template"; around an answer, "the model said this". Marks come out where
the template put the content, and are taken out before tokenising.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from edgespec.core import Vocab
from edgespec.text.reasoning import is_marker
from edgespec.text.turns import Turn

_PRIVATE_USE = range(0xF0000, 0xFFFFE)


@dataclass(frozen=True, slots=True)
class Unmarked:
    """A rendered prompt without marks; spans are half-open ranges of `text`."""

    text: str
    written: tuple[tuple[int, int], ...]
    """Control texts that came from contents, ascending."""
    said: tuple[tuple[int, int], ...]
    """What lay between two neighbouring answer marks, ascending."""


class ControlTexts:
    """The texts that would be read as control tokens, found in any text."""

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self._texts = {text for text in vocab.control_texts() if text.strip()}
        self._lengths = sorted({len(text) for text in self._texts}, reverse=True)
        self._firsts = {text[0] for text in self._texts}
        self._is_read: dict[str, bool] = {}

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where control texts are, leftmost and longest first, never overlapping."""
        found: list[tuple[int, int]] = []
        starts = [i for first in self._firsts if first in text for i in _all(text, first)]
        end = 0
        for at in sorted(starts):
            length = self._length_at(text, at) if at >= end else 0
            if length:
                end = at + length
                found.append((at, end))
        return found

    def _length_at(self, text: str, at: int) -> int:
        for length in self._lengths:
            there = text[at : at + length]
            if there in self._texts and self._changes(there):
                return length
        return 0

    def _changes(self, text: str) -> bool:
        """Whether parsing it as special matters: user-defined tokens are read either way."""
        if text not in self._is_read:
            tokenize = self._vocab.tokenize
            self._is_read[text] = tokenize(text, parse_special=True) != tokenize(
                text, parse_special=False
            )
        return self._is_read[text]


class Marks:
    """The marks of one prompt: a pair for answers, one for each control text found in `turns`."""

    def __init__(self, turns: Sequence[Turn], controls: ControlTexts) -> None:
        texts = [text for turn in turns for text in (turn.content, turn.reasoning)]
        contents = "".join(texts)
        unused = (c for c in map(chr, _PRIVATE_USE) if c not in contents)
        found = {text[a:b] for text in texts for a, b in controls.spans(text)}
        self._controls = controls
        self._said = next(unused)
        self._pair_of = {text: (next(unused), next(unused)) for text in sorted(found)}
        pairs = self._pair_of.items()
        # A mark points at its text by an offset. Either of a pair is enough: a template may cut a
        # content in two, at a closing tag say.
        self._points_at = {opens: (text, 0) for text, (opens, _) in pairs}
        self._points_at |= {closes: (text, -len(text)) for text, (_, closes) in pairs}
        self._any = re.compile(f"([{self._said}{''.join(self._points_at)}])")

    def written(self, turn: Turn) -> Turn:
        """The turn with marks around every control text.

        Reasoning tags in an assistant's turn stay bare: templates look for them there.
        """
        is_free = is_marker if turn.role == "assistant" else _never
        return replace(
            turn,
            content=self._wrapped(turn.content, is_free),
            reasoning=self._wrapped(turn.reasoning, is_free),
        )

    def said(self, turn: Turn) -> Turn:
        """The turn with marks around its content, white space left outside for the template."""
        core = turn.content.strip()
        before, after = turn.content.split(core, 1) if core else (turn.content, "")
        return replace(turn, content=f"{before}{self._said}{core}{self._said}{after}")

    def unmarked(self, text: str) -> Unmarked:
        """The rendered text without marks, and what they were around."""
        parts = self._any.split(text)
        runs, marks = parts[::2], parts[1::2]
        plain = "".join(runs)
        places = list(zip(marks, accumulate(map(len, runs)), strict=False))
        written: set[tuple[int, int]] = set()
        for mark, at in places:
            wanted, offset = self._points_at.get(mark, ("", 0))
            if wanted and plain.startswith(wanted, max(0, at + offset)):
                written.add((at + offset, at + offset + len(wanted)))
        said = pairwise(at for mark, at in places if mark == self._said)
        return Unmarked(plain, tuple(sorted(written)), tuple(said))

    def _wrapped(self, text: str, is_free: Callable[[str], bool]) -> str:
        parts: list[str] = []
        end = 0
        for a, b in self._controls.spans(text):
            opens, closes = ("", "") if is_free(text[a:b]) else self._pair_of[text[a:b]]
            parts += [text[end:a], opens, text[a:b], closes]
            end = b
        return "".join([*parts, text[end:]])


def _never(_: str) -> bool:
    return False


def _all(text: str, character: str) -> Iterable[int]:
    at = text.find(character)
    while at >= 0:
        yield at
        at = text.find(character, at + 1)
