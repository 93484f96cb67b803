"""How a request shapes the target's distribution: values only, so that front ends need no numpy."""

from dataclasses import dataclass
from math import isfinite, nan
from operator import index
from typing import Any

from edgespec.errors import UsageError


def is_whole(value: object) -> bool:
    """Whether `value` counts something: numpy's integers do, 2.0 does not."""
    return hasattr(value, "__index__")


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the target's distribution is shaped, in llama.cpp's order and meaning.

    Logit bias and penalties first, then top-k, typical-p, top-p, min-p, temperature.
    Penalties look at the last `repeat_last_n` tokens of prompt and answer (-1: all of them).

    temperature: 0, the usual value, always takes the likeliest token
    top_k, top_p, min_p, typical_p: leave out what is unlikely; 0, 1, 0 and 1 leave out nothing
    repeat_penalty, frequency_penalty, presence_penalty: 1, 0 and 0 penalise nothing
    logit_bias: pairs of token and bias; minus infinity forbids a token
    seed, reproducible: the same again, by the same drafts; or whatever the drafts

    Raises: `UsageError` naming the option that is out of range.
    """

    temperature: float = 0.0
    top_k: int = 0
    """0: off."""
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    repeat_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repeat_last_n: int = 64
    logit_bias: tuple[tuple[int, float], ...] = ()
    seed: int | None = None
    """None: a new random seed for every request."""
    reproducible: bool = False
    """Couple draft and target by noise keyed by (seed, position, token): same seed, same text,
    whatever the drafter."""

    def __post_init__(self) -> None:
        self._check()
        for name in ("top_k", "repeat_last_n", "seed"):
            if (value := getattr(self, name)) is not None:
                # numpy's integers have few bits: what is reckoned with them would overflow.
                object.__setattr__(self, name, index(value))

    def _check(self) -> None:
        repeat, temperature = _real(self.repeat_penalty), _real(self.temperature)
        checks = (
            ("temperature", isfinite(temperature) and temperature >= 0, "0 or more"),
            (
                "top_k",
                is_whole(self.top_k) and self.top_k >= 0,
                "a whole number, 0 (off) or more",
            ),
            ("top_p", 0 < _real(self.top_p) <= 1, "above 0 and at most 1"),
            ("min_p", 0 <= _real(self.min_p) < 1, "from 0 to below 1"),
            ("typical_p", 0 < _real(self.typical_p) <= 1, "above 0 and at most 1"),
            ("repeat_penalty", isfinite(repeat) and repeat > 0, "above 0"),
            ("frequency_penalty", isfinite(_real(self.frequency_penalty)), "a finite number"),
            ("presence_penalty", isfinite(_real(self.presence_penalty)), "a finite number"),
            ("logit_bias", _are_biases(self.logit_bias), "a tuple of pairs, token and bias"),
            (
                "repeat_last_n",
                is_whole(self.repeat_last_n) and self.repeat_last_n >= -1,
                "a whole number, -1 (all), 0 (none) or more",
            ),
            (
                "seed",
                self.seed is None or (is_whole(self.seed) and 0 <= self.seed < 2**63),
                "a whole number from 0 to 2^63 - 1",
            ),
        )
        for name, is_right, want in checks:
            if not is_right:
                usual = "a new one each time" if name == "seed" else "the usual value"
                raise UsageError(
                    f"{name} is {getattr(self, name)!r}, but must be {want}",
                    hint=f"leave it out for {usual}",
                )


def _real(value: Any) -> float:
    """A number as it is; NaN, which no range holds, for what is none."""
    return float(value) if hasattr(value, "__float__") else nan


def _are_biases(value: object) -> bool:
    return isinstance(value, tuple | list) and all(
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and is_whole(pair[0])
        and hasattr(pair[1], "__float__")
        for pair in value
    )
