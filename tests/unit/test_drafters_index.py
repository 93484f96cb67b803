"""Drafts from the user's own texts."""

import numpy as np

from edgespec.core import Sampling
from edgespec.drafters import DrafterInputs
from edgespec.drafters.index import IndexDrafter
from edgespec.sampling import RequestSampler
from tests.fakes import ListRetriever

N_VOCAB = 10


def unheard(bucket: int, is_hit: bool) -> None:
    """Nobody learns."""


def test_draft_ends_before_what_is_no_token() -> None:
    # As a damaged shard says it: searches do not read its checksum.
    texts = ListRetriever([1, 2, 3, 4, 5, 2**32 - 2, 6, 7])
    drafter = IndexDrafter(DrafterInputs(N_VOCAB, lambda token: False, retriever=texts))
    context = np.array([1, 2, 3], np.int32)

    draft = drafter.draft(context, 8, RequestSampler(Sampling(), N_VOCAB))

    assert draft.tokens == (4, 5)
    assert len(list(drafter.outlook(context, unheard))) == 2
