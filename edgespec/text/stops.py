"""Stop strings in a stream of text, and the search beneath them.

Owns: where text ends. The result never depends on how the text was cut into pieces.
"""

from collections.abc import Sequence

from edgespec.errors import UsageError


def first_of(text: str, needles: Sequence[str]) -> tuple[int, str] | None:
    """Where the leftmost of `needles` begins, and which (the longest one there)."""
    found = [(text.find(needle), -len(needle), needle) for needle in needles if needle in text]
    if not found:
        return None
    at, _, needle = min(found)
    return at, needle


def tail_start(text: str, needles: Sequence[str]) -> int:
    """The least index from which the rest of `text` may be the beginning of a needle.

    `len(text)` where no tail is. Looks at no more characters than the longest needle has.
    """
    reach = max((len(needle) for needle in needles), default=1) - 1
    firsts = {needle[0] for needle in needles}
    for at in range(max(0, len(text) - reach), len(text)):
        if text[at] not in firsts:
            continue
        tail = text[at:]
        if any(len(tail) < len(needle) and needle.startswith(tail) for needle in needles):
            return at
    return len(text)


class StopFinder:
    """Passes text through until just before the first stop string, wherever its borders fall.

    First is leftmost: with "b" and "abc" as stop strings, "ab" is held until the next character
    says which of them it was.
    Raises: `UsageError` for an empty stop string.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        if not all(stops):
            raise UsageError("a stop string is empty", hint="leave it out, or give it text")
        self._stops = tuple(stops)
        self._held = ""
        self.is_stopped = False

    def feed(self, text: str) -> tuple[str, bool]:
        """What of the text may be shown, and whether a stop string ended it."""
        if self.is_stopped:
            return "", True
        if not self._stops:
            return text, False
        text = self._held + text
        found = first_of(text, self._stops)
        end = tail_start(text, self._stops)
        if found and found[0] <= end:
            return self._cut(text[: found[0]])
        self._held = text[end:]
        return text[:end], False

    def flush(self) -> tuple[str, bool]:
        """The end of the text: what was held back begins no stop string any more."""
        text, self._held = self._held, ""
        found = first_of(text, self._stops)
        return self._cut(text[: found[0]]) if found else (text, self.is_stopped)

    def _cut(self, text: str) -> tuple[str, bool]:
        self._held, self.is_stopped = "", True
        return text, True
