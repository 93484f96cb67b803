import numpy as np
import pytest

from edgespec.errors import UsageError
from edgespec.shaping import Sampling


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"temperature": -1.0}, "temperature is -1.0, but must be 0 or more"),
        ({"temperature": float("nan")}, "temperature is nan, but must be 0 or more"),
        ({"top_k": -1}, "top_k is -1, but must be a whole number"),
        ({"top_k": 2.5}, "top_k is 2.5, but must be a whole number"),
        ({"top_p": 0.0}, "top_p is 0.0, but must be above 0 and at most 1"),
        ({"min_p": 1.0}, "min_p is 1.0, but must be from 0 to below 1"),
        ({"repeat_last_n": -2}, "repeat_last_n is -2, but must be a whole number"),
        ({"seed": 1.5}, "seed is 1.5, but must be a whole number"),
        ({"seed": 2**63}, "but must be a whole number from 0 to"),
        ({"temperature": "0.7"}, "temperature is '0.7', but must be 0 or more"),
        ({"temperature": None}, "temperature is None, but must be 0 or more"),
        ({"top_p": "1"}, "top_p is '1', but must be above 0 and at most 1"),
        ({"logit_bias": {5: 1.0}}, "logit_bias is {5: 1.0}, but must be a tuple of pairs"),
        ({"logit_bias": (5, 1.0)}, "logit_bias is .*, but must be a tuple of pairs"),
        ({"logit_bias": ((5, "a"),)}, "logit_bias is .*, but must be a tuple of pairs"),
    ],
)
def test_value_out_of_range_is_refused_by_name(values: dict[str, float], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as caught:
        Sampling(**values)  # type: ignore[arg-type]

    assert caught.value.hint.startswith("leave it out for")


def test_numpy_s_integers_are_whole_numbers() -> None:
    shaping = Sampling(top_k=np.int64(5), seed=np.uint8(1))  # type: ignore[arg-type]

    assert (shaping.top_k, shaping.seed) == (5, 1)
    assert {type(shaping.top_k), type(shaping.seed)} == {int}  # numpy's would overflow later
