"""Numbers on the command line, told about in sentences that need no mathematics."""

import math
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


class Real(click.ParamType[float]):
    """A number from `least` on; neither infinite nor "nan", which no comparison refuses."""

    name = "number"

    def __init__(self, least: float) -> None:
        self._least = least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number. Raises: `BadParameter` that names the least."""
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        if not (math.isfinite(number) and number >= self._least):
            self.fail(f"{number:g} is not a number from {self._least:g} on", param, ctx)
        return number
