"""The controller over chains, trees and windows at once: the text is plain decoding's."""

import numpy as np
import pytest

from edgespec.control import Auto, Fixed
from edgespec.control.acceptance import Usual
from edgespec.control.costs import Costs, Measured
from edgespec.control.log import Log
from edgespec.core import Controller, Drafter, Sampling
from edgespec.costs import PassCosts
from edgespec.decode import Request, speculate
from edgespec.drafters import DrafterInputs, create
from edgespec.drafters.arms import Branching, Free
from edgespec.events import Step
from edgespec.sampling import RequestSampler
from tests.fakes import NumpyLM

N_VOCAB, N_TOKENS = 12, 300
PROMPT = np.array([1, 2, 3, 4, 1, 2, 5, 6, 1, 2, 7, 8, 1, 2], np.int32)
CHEAP = Measured(PassCosts((1, 8, 9, 16, 17, 32, 33, 64), (1.0,) * 8))
"""Rows that are free: trees and windows are worth a try everywhere."""


def all_drafters(costs: Costs) -> dict[str, Drafter]:
    inputs = DrafterInputs(N_VOCAB, lambda token: False, costs=costs.target, max_branches=10)
    made: dict[str, Drafter] = {}
    for name in ("none", "suffix", "lookahead", "tree"):
        made[name] = create(name, inputs)
    return made


def run(drafters: dict[str, Drafter], controller: Controller, params: Sampling) -> list[Step]:
    request = Request(
        prompt=PROMPT,
        sampler=RequestSampler(params, N_VOCAB),
        max_tokens=N_TOKENS,
        ends=lambda token, source: False,
        is_eog=lambda token: False,
        is_cancelled=lambda: False,
    )
    return list(speculate(NumpyLM(N_VOCAB, order=3, seed=5), drafters, controller, request))


def tokens_of(steps: list[Step]) -> list[int]:
    return [token for step in steps for token in step.tokens]


@pytest.mark.parametrize("temperature", [0, 0.7, 1])
def test_text_is_plain_decodings_whatever_is_chosen(temperature: float) -> None:
    params = Sampling(temperature, seed=1)
    costs = CHEAP.live(is_live=False)
    drafters = all_drafters(costs)
    free = [drafter for drafter in drafters.values() if isinstance(drafter, Free)]
    branching = [drafter for drafter in drafters.values() if isinstance(drafter, Branching)]
    usual = {drafter.name: Usual(drafter.buckets) for drafter in free}
    usual |= {drafter.name: Usual(drafter.buckets) for drafter in branching}
    auto = Auto(free, [], costs, usual, Log("auto", None, costs), branching=branching)

    plain = run(drafters, Fixed("none", 0), params)
    steps = run(drafters, auto, params)

    assert tokens_of(steps) == tokens_of(plain)
    trees = [step for step in steps if step.rows > step.drafted + 1]
    assert {step.drafter for step in trees if step.accepted} == {"lookahead", "tree"}
