"""An explanation in lines, for `--explain` and the chat line by line."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from edgespec.chat.account import account

if TYPE_CHECKING:
    from edgespec.api.types import LanguageModel

_STEPS = 12
"""Of the last steps, shown one by one."""


def explained(model: "LanguageModel") -> Iterator[str]:
    """What the model's latest answer drafted; nothing before the first."""
    told = model.explain()
    for section in account(told, most_steps=_STEPS) if told is not None else ():
        yield f"{section.title}:"
        yield from (f"  {row}" for row in section.rows)
