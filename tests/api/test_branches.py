"""For which models "auto" may take trees and windows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from edgespec.api.arms import branches_for
from edgespec.drafters.lookahead import MOST_BRANCHES
from edgespec.drafters.tree import MOST_BRANCHES as BRANCHES_OF_A_TREE
from edgespec.gguf.header import read_header
from tests import tinygguf


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
