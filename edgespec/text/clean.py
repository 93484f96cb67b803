r"""The one choke point for text that reaches a terminal.

Owns: which characters a terminal or a markdown widget may see. Strips the C0 controls (an escape
sequence loses its ESC and shows as plain text), DEL, C1 and the bidirectional overrides that make
text lie about its order; every line separator becomes "\n"; a lone surrogate becomes U+FFFD.
"""

import re

_SEPARATOR = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_FORBIDDEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` as a terminal may see it; idempotent."""
    return _SURROGATE.sub("\ufffd", _FORBIDDEN.sub("", _SEPARATOR.sub("\n", text)))


def masked(line: str) -> str:
    """A line as a terminal may see it, with a sign in place of each character that it may not.

    For text that is edited: every character keeps its place.
    """
    return _SURROGATE.sub("\ufffd", _FORBIDDEN.sub("\ufffd", _SEPARATOR.sub(_marks, line)))


def _marks(found: re.Match[str]) -> str:
    return "\ufffd" * len(found[0])


class CleanStream:
    """`clean` over pieces: what `feed` returns, joined, is `clean` of the whole text."""

    def __init__(self) -> None:
        self._ended_in_cr = False

    def feed(self, text: str) -> str:
        """The piece as a terminal may see it; holds nothing back."""
        if not text:
            return ""
        if self._ended_in_cr:  # that "\r" was a line's end already
            text = text.removeprefix("\n")
        self._ended_in_cr = text.endswith("\r")
        return clean(text)
