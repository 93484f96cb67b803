"""Which drafters a benchmark measures."""

import pytest

from edgespec.bench.chosen import check, chosen
from edgespec.bench.engine import is_ours
from edgespec.errors import UsageError

BUILT = ("none", "suffix")


def test_all_that_were_built_are_measured_and_auto() -> None:
    assert chosen((), BUILT) == ("none", "suffix", "auto")


def test_trees_and_windows_are_measured_where_they_are_named() -> None:
    built = (*BUILT, "lookahead", "tree")

    assert chosen((), built) == ("none", "suffix", "auto")
    assert chosen(("tree", "lookahead"), built) == ("tree", "lookahead")


def test_named_drafters_are_measured_once() -> None:
    assert chosen(("suffix", "suffix:7", "suffix"), BUILT) == ("suffix", "suffix:7")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sufix", "no drafter 'sufix'"),
        ("model", "needs a draft model"),
        ("suffix:no", "has no draft length"),
    ],
)
def test_drafter_that_cannot_be_measured_is_refused_before_loading(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check((name,), has_draft=False)


def test_drafter_that_was_not_built_is_refused() -> None:
    with pytest.raises(UsageError, match="'lookahead' cannot be built for this model"):
        chosen(("lookahead",), BUILT)


def test_arms_are_told_from_peers_by_their_drafter() -> None:
    assert all(is_ours(arm) for arm in ("none", "suffix", "suffix:7", "suffix+model", "auto"))
    assert not any(is_ours(arm) for arm in ("llama-server:plain", "xllamacpp:draft"))
