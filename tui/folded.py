"""An enormous message, shown by its beginning and its end: what is sent and copied stays whole.

To wrap a megabyte takes seconds, at every width anew. Knows nothing of widgets.
"""

from textual.content import Content

from .blocks import MUTED
from .glyphs import Glyphs

MAX_CHARS = 40_000
"""A longer message is folded."""
HEAD_CHARS, TAIL_CHARS = 6_000, 2_000
NEAR_CHARS = 500
"""So near a line's end is looked for, to cut there."""


def folded(text: str, glyphs: Glyphs) -> Content:
    """The text, or its two ends with a line between them that tells how much is not shown."""
    if len(text) <= MAX_CHARS:
        return Content(text)
    head, tail = text[:HEAD_CHARS], text[-TAIL_CHARS:]
    at = head.rfind("\n", HEAD_CHARS - NEAR_CHARS)
    head = head[:at] if at > 0 else head
    at = tail.find("\n", 0, NEAR_CHARS)
    tail = tail[at + 1 :] if at >= 0 else tail
    n_hidden = len(text) - len(head) - len(tail)
    told = (
        f"[{glyphs.ellipsis} {n_hidden:,} more characters were sent; e brings all into the prompt]"
    )
    return Content.assemble(head, "\n\n", (told, f"italic {MUTED}"), "\n\n", tail)
