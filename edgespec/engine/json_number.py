"""GBNF for JSON numbers within bounds. Knows numbers only, no schema."""

import math
from dataclasses import dataclass, replace

_FRACTION = '"." [0-9]{1,15}'
_POSITIVE_FRACTION = '"." "0"{0,14} [1-9] [0-9]{0,15}'
_NO_FRACTION = '("." "0"{1,15})?'
_MORE_DIGITS = 15
"""Digits that a number may have beyond those of its lower bound."""

INTEGER = '"-"? ("0" | [1-9] [0-9]{0,15})'
NUMBER = f"{INTEGER} ({_FRACTION})? ([eE] [-+]? [0-9]{{1,2}})?"


@dataclass(frozen=True, slots=True)
class Bounds:
    """From `low` to `high`; None: no bound."""

    low: float | None = None
    high: float | None = None
    excludes_low: bool = False
    excludes_high: bool = False


def integer_between(bounds: Bounds) -> str:
    """An expression for whole numbers; empty when there are none."""
    low, high = bounds.low, bounds.high
    first = None if low is None else math.floor(low) + 1 if bounds.excludes_low else math.ceil(low)
    last = (
        None if high is None else math.ceil(high) - 1 if bounds.excludes_high else math.floor(high)
    )
    parts = []
    if first is None or first < 0:
        least = 1 if last is None or last >= 0 else -last
        parts += [f'"-" ({digits})' for digits in _digits(least, None if first is None else -first)]
    if last is None or last >= 0:
        parts += _digits(max(0, first or 0), last)
    return " | ".join(parts)


def number_between(bounds: Bounds) -> str:
    """An expression for decimal numbers between whole bounds; empty when there are none."""
    low, high = bounds.low, bounds.high
    parts = []
    if low is None or low < 0:
        mirrored = Bounds(
            low=max(0.0, -high) if high is not None else 0.0,
            high=None if low is None else -low,
            excludes_low=bounds.excludes_high and high is not None and high <= 0,
            excludes_high=bounds.excludes_low,
        )
        parts += [f'"-" ({part})' for part in _decimals(mirrored)]
    if high is None or high >= 0:
        is_above = low is None or low < 0
        parts += _decimals(replace(bounds, low=0.0, excludes_low=False) if is_above else bounds)
    return " | ".join(parts)


def _decimals(bounds: Bounds) -> list[str]:
    """Alternatives for numbers of at least `bounds.low`, which is 0 or more."""
    assert bounds.low is not None
    low, high = int(bounds.low), None if bounds.high is None else int(bounds.high)
    if high is not None and high < low:
        return []
    parts = []
    if bounds.excludes_low and (high is None or low < high):
        parts.append(f'"{low}" {_POSITIVE_FRACTION}')
    whole = _digits(low + bounds.excludes_low, None if high is None else high - 1)
    parts += [f"({digits}) ({_FRACTION})?" for digits in whole]
    is_high_low = bounds.excludes_low and low == high
    if high is not None and not bounds.excludes_high and not is_high_low:
        parts.append(f'"{high}" {_NO_FRACTION}')
    return parts


def _digits(low: int, high: int | None) -> list[str]:
    """Alternatives for whole numbers from `low`, 0 or more, to `high`."""
    if high is None:
        n_digits = len(str(low))
        longer = f"[1-9] [0-9]{{{n_digits},{n_digits + _MORE_DIGITS}}}"
        return [*_digits(low, 10**n_digits - 1), longer]
    parts = []
    while low <= high:
        last = min(high, 10 ** len(str(low)) - 1)
        parts.append(_same_length(str(low), str(last)))
        low = last + 1
    return parts


def _same_length(low: str, high: str) -> str:
    """Digit strings from `low` to `high`, which are equally long."""
    if low == high:
        return f'"{low}"'
    n_rest = len(low) - 1
    zeros, nines = "0" * n_rest, "9" * n_rest
    if low[1:] == zeros and high[1:] == nines:
        rest = f" [0-9]{{{n_rest}}}" if n_rest else ""
        return f"[{low[0]}-{high[0]}]{rest}"
    if low[0] == high[0]:
        return f'"{low[0]}" ({_same_length(low[1:], high[1:])})'
    parts = []
    first, last = int(low[0]), int(high[0])
    if low[1:] != zeros:
        parts.append(f'"{first}" ({_same_length(low[1:], nines)})')
        first += 1
    if high[1:] != nines:
        parts.append(f'"{last}" ({_same_length(zeros, high[1:])})')
        last -= 1
    if first <= last:
        parts.append(f"[{first}-{last}] [0-9]{{{n_rest}}}")
    return " | ".join(parts)
