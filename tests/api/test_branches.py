"""For which models passes may branch, and which drafters then can be had."""

from collections.abc import Callable
from pathlib import Path

import pytest

from edgespec.api.arms import branches_for
from edgespec.api.model import LoadedModel
from edgespec.drafters import DRAFTERS
from edgespec.drafters.lookahead import MOST_BRANCHES
from edgespec.drafters.tree import MOST_BRANCHES as BRANCHES_OF_A_TREE
from edgespec.errors import UsageError
from edgespec.gguf.header import read_header
from edgespec.index.documents import Document
from edgespec.index.store import Index
from tests import tinygguf
from tests.api.answers import options


@pytest.mark.parametrize(
    ("write", "drafter", "n"),
    [
        (tinygguf.write_llama, "auto", MOST_BRANCHES),
        (tinygguf.write_llama, "tree", BRANCHES_OF_A_TREE),
        (tinygguf.write_llama, "suffix", 0),
        (tinygguf.write_gemma3, "auto", 0),
        (tinygguf.write_gemma3, "lookahead", MOST_BRANCHES),
    ],
)
def test_passes_branch_where_that_costs_no_memory_or_is_asked_for(
    write: Callable[..., Path], drafter: str, n: int, tmp_path: Path
) -> None:
    header = read_header(write(tmp_path / "m.gguf"))

    assert branches_for(drafter, header) == n


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_every_drafter_can_be_the_one_that_is_loaded(
    loaded: Callable[..., LoadedModel], drafter: str
) -> None:
    Index("notes").add([Document("a.txt", "the inn and the hen")])

    model = loaded("llama", "draft", drafter=drafter)

    assert model.complete("Hello", options(3)).stats.drafter == drafter


def test_drafter_that_needs_more_branches_than_were_loaded_for_says_so(
    loaded: Callable[..., LoadedModel],
) -> None:
    model = loaded("llama", drafter="tree")

    with pytest.raises(UsageError, match="'lookahead' needs passes that branch"):
        model.complete("Hello", options(3, drafter="lookahead"))
