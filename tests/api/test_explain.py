import json
from collections.abc import Callable

from edgespec.api.model import LoadedModel
from tests.api.answers import options

Loader = Callable[..., LoadedModel]


def test_nothing_is_explained_before_the_first_answer(loaded: Loader) -> None:
    assert loaded("llama").explain() is None


def test_explanation_counts_what_the_statistics_count(loaded: Loader) -> None:
    model = loaded("llama")

    stats = model.complete("ha ha ha ha ha ha", options(24)).stats

    told = model.explain()
    assert told is not None
    assert (told.steps, told.tokens) == (stats.passes, stats.generated_tokens)
    assert sum(arm.drafted for arm in told.arms) == stats.drafted
    assert sum(arm.accepted for arm in told.arms) == stats.accepted
    assert sum(told.reasons.values()) == told.steps
    assert len(told.decisions) == told.steps
    assert told.bound is not None


def test_explanation_can_be_read_while_the_answer_runs(loaded: Loader) -> None:
    model = loaded("llama")

    with model.chat("Hello", options(12)) as stream:
        for event in stream:
            if event.kind == "round":
                break
        told = model.explain()

    assert told is not None
    assert told.steps >= 1


def test_a_set_length_is_explained_as_such(loaded: Loader) -> None:
    model = loaded("llama")

    model.complete("ha ha ha ha ha ha", options(12, drafter="suffix", draft_len=3))

    told = model.explain()
    assert told is not None
    assert (told.drafter, told.draft_len) == ("suffix", 3)
    assert set(told.reasons) == {"fixed"}
    assert told.bound is None


def test_explanation_is_json(loaded: Loader) -> None:
    model = loaded("llama", "draft")
    model.complete("Hello", options(12))

    told = model.explain()

    assert told is not None
    found = json.loads(json.dumps(told.to_dict()))
    assert {arm["drafter"] for arm in found["arms"]} >= {"none", "suffix", "cascade"}
