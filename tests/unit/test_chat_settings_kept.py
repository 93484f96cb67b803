"""The settings of a saved chat, back from wherever its file came from."""

from typing import Any

import pytest

from edgespec.api.types import Options
from edgespec.chat.conversation import settings_of, with_settings
from edgespec.shaping import Sampling


def test_settings_come_back_as_they_were_kept() -> None:
    sampling = Sampling(temperature=0.7, top_k=40, seed=3)
    options = Options(sampling=sampling, max_tokens=9, stop=("END",), think=False, draft_len=4)

    assert with_settings(Options(), settings_of(options)) == options


@pytest.mark.parametrize(
    "foreign",
    [
        {"stop": 5},
        {"stop": "END"},
        {"stop": None},
        {"stop": [1]},
        {"stop": [""]},
        {"max_tokens": "many"},
        {"max_tokens": -3},
        {"draft_len": [1]},
        {"drafter": 7},
        {"temperature": "hot"},
        {"top_p": float("nan")},
    ],
)
def test_settings_without_a_meaning_change_nothing(foreign: dict[str, Any]) -> None:
    options = Options(sampling=Sampling(top_k=40), stop=("END",))

    assert with_settings(options, foreign) == options
