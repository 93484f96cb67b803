"""The same seeded request twice: whatever the caches hold, the same drafts and the same text."""

from collections.abc import Callable

import pytest

from edgespec.api.model import LoadedModel
from edgespec.events import Reply
from tests.api.answers import options

LONG = "the hen and the inn; " * 20
"""More tokens than a draft model reads in a step."""
OTHER = "another text, to put others in the caches"


def asked(model: LoadedModel, prompt: str, drafter: str) -> Reply:
    return model.complete(prompt, options(32, temperature=0.8, drafter=drafter, draft_len=4))


@pytest.mark.parametrize("draft", ["draft", "short-draft"])
@pytest.mark.parametrize("drafter", ["model", "cascade", "suffix+model"])
def test_seeded_text_is_the_same_on_cold_and_warm_caches(
    loaded: Callable[..., LoadedModel], drafter: str, draft: str
) -> None:
    model = loaded("llama", draft, drafter=drafter)

    cold = asked(model, LONG, drafter)
    warm = asked(model, LONG, drafter)
    asked(model, OTHER, drafter)
    after_another = asked(model, LONG, drafter)

    assert cold.stats.prompt_tokens > 150
    assert cold.stats.drafted > 0
    for reply in (warm, after_another):
        assert reply.tokens == cold.tokens
        assert reply.stats.drafted == cold.stats.drafted
        assert reply.stats.accepted == cold.stats.accepted
