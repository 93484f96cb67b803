"""The settings a person may change between answers: names, meanings of typed values, a listing."""

import difflib
from dataclasses import fields, replace
from typing import Any

from edgespec.api.types import Options
from edgespec.errors import UsageError
from edgespec.shaping import Sampling

_OF_REQUEST = ("max_tokens", "draft_len")
SETTINGS = (*(f.name for f in fields(Sampling) if f.name != "logit_bias"), *_OF_REQUEST)
_SHORT = {"temp": "temperature", "n_predict": "max_tokens", "gamma": "draft_len"}
_WHOLE = ("top_k", "repeat_last_n", "seed", *_OF_REQUEST)
_MAY_BE_UNSET = ("seed", *_OF_REQUEST)
_FLAGS = {"on": True, "true": True, "off": False, "false": False}


def changed(options: Options, key: str, typed: str) -> tuple[Options, str]:
    """The options with one setting changed, and a sentence about it.

    Raises: `UsageError` for an unknown name or a value without a meaning.
    """
    name = _named(key)
    change: dict[str, Any] = {name: _value(name, typed)}
    if name in _OF_REQUEST:
        options = replace(options, **change)
    else:
        options = replace(options, sampling=replace(options.sampling, **change))
    return options, f"{name} = {_shown(change[name])}, from the next answer on"


def shown(options: Options, key: str) -> str:
    """One setting and its value. Raises: `UsageError` for an unknown name."""
    name = _named(key)
    return f"{name} = {_shown(_of(options, name))}"


def listing(options: Options) -> str:
    """Every setting and its value, a line each."""
    return "\n".join(f"{name:<18}{_shown(_of(options, name))}" for name in SETTINGS)


def _named(key: str) -> str:
    name = key.replace("-", "_")
    name = _SHORT.get(name, name)
    if name not in SETTINGS:
        close = difflib.get_close_matches(name, SETTINGS, 1)
        meant = f"did you mean {close[0]}?" if close else f"there are {', '.join(SETTINGS)}"
        raise UsageError(f"there is no setting '{key}'; {meant}")
    return name


def _of(options: Options, name: str) -> object:
    return getattr(options if name in _OF_REQUEST else options.sampling, name)


def _value(name: str, typed: str) -> int | float | bool | None:
    if name == "reproducible":
        if typed not in _FLAGS:
            raise UsageError(f"reproducible is on or off, not '{typed}'")
        return _FLAGS[typed]
    if name in _MAY_BE_UNSET and typed in ("none", "auto"):
        return None
    is_whole = name in _WHOLE
    try:
        number = int(typed) if is_whole else float(typed)
    except ValueError:
        kind = "a whole number" if is_whole else "a number"
        raise UsageError(f"{name} must be {kind}, not '{typed}'") from None
    if name in _OF_REQUEST and number < 0:
        raise UsageError(f"{name} is {number}, but must be 0 or more")
    return number


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "auto" if value is None else str(value)
