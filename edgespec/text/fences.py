"""The code in an answer, raw: what a person copies from between two fences.

Source: CommonMark 0.31, section 4.5.
"""

import re

_OPENING = re.compile(r"^(?P<indent> {0,3})(?P<fence>`{3,}(?=[^`]*$)|~{3,})", re.M)


def code_blocks(text: str) -> list[str]:
    """The contents of every fence, in order; the last may still be open."""
    blocks = []
    at = 0
    while opening := _OPENING.search(text, at):
        fence = opening["fence"]
        closing = re.compile(rf"^ {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*$", re.M)
        start = text.find("\n", opening.end()) + 1 or len(text)
        end = closing.search(text, start)
        body = text[start : end.start() if end else len(text)]
        blocks.append(re.sub(rf"^ {{0,{len(opening['indent'])}}}", "", body, flags=re.M))
        at = end.end() if end else len(text)
    return blocks
