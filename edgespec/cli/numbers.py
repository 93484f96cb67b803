"""Whole numbers on the command line, told about in sentences that need no mathematics."""

from typing import Any

import click

_LARGEST = 2**31 - 1
"""What llama.cpp counts up to."""


class Whole(click.ParamType[int]):
    """A whole number from `least` up to `most`, both included."""

    name = "integer"

    def __init__(self, least: int, most: int = _LARGEST) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Raises: `BadParameter` that names the range."""
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number", param, ctx)
        if not self._least <= number <= self._most:
            self.fail(f"{number} is not from {self._least:,} to {self._most:,}", param, ctx)
        return number
