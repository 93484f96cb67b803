"""What a session decodes, how long its rows live, and which limits it states itself."""

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from edgespec.core import Branch, Tokens
from edgespec.engine.context import ContextOptions
from edgespec.engine.model import Model
from edgespec.engine.session import LlamaSession
from edgespec.plan.kinds import KvType
from tests import tinygguf
from tests.api.roomy import write_roomy
from tests.engine.conftest import SMALL, TinyModels
from tests.engine.test_session_stateful import ATOL

Opener = Callable[..., LlamaSession]
BRANCHING = replace(SMALL, max_branches=3)


def tokens_of(n: int, seed: int = 0) -> Tokens:
    return np.random.default_rng(seed).integers(3, 360, n).astype(np.int32)


def joined(*parts: Tokens) -> Tokens:
    return np.concatenate(parts)


def test_forward_decodes_only_what_is_not_resident(open_session: Opener) -> None:
    session = open_session("llama")
    text = tokens_of(20)
    counts = [session.forward(text[:10], n_logits=0).n_decoded]
    counts += [session.forward(text[:14], n_logits=1).n_decoded]

    counts += [session.forward(text[:14], n_logits=0).n_decoded]

    assert counts == [10, 4, 0]


def test_wanted_rows_are_decoded_again_when_resident(open_session: Opener) -> None:
    session = open_session("llama")
    text = tokens_of(20)
    session.forward(text, n_logits=1)

    again = session.forward(text, n_logits=3)

    assert again.n_decoded == 3


def test_accepted_draft_is_not_decoded_again(open_session: Opener) -> None:
    session = open_session("llama")
    context, draft, own = tokens_of(10), tokens_of(5, seed=1), tokens_of(1, seed=2)
    session.forward(context, n_logits=1)
    session.forward(joined(context, draft), n_logits=6)

    after_all = session.forward(joined(context, draft, own), n_logits=1).n_decoded

    assert after_all == 1


@pytest.mark.parametrize("n_accepted", [0, 1, 4])
def test_refused_draft_costs_nothing_where_the_cache_can_be_cut(
    open_session: Opener, n_accepted: int
) -> None:
    session = open_session("llama")
    context, draft, own = tokens_of(10), tokens_of(5, seed=1), tokens_of(1, seed=2)
    session.forward(joined(context, draft), n_logits=6)

    kept = joined(context, draft[:n_accepted], own)
    after_refusal = session.forward(kept, n_logits=1).n_decoded

    assert after_refusal == 1


@pytest.mark.parametrize("name", ["mamba", "lfm2"])
@pytest.mark.parametrize(("n_draft", "n_accepted"), [(5, 0), (5, 3), (7, 6), (11, 4)])
def test_refused_draft_costs_little_where_a_state_is_rolled_back(
    open_session: Opener, name: str, n_draft: int, n_accepted: int
) -> None:
    """Short drafts: at most what was accepted is read again, never the context."""
    session = open_session(name)
    context, draft, own = tokens_of(40), tokens_of(n_draft, seed=1), tokens_of(1, seed=2)
    session.forward(context[:-1], n_logits=0)
    session.forward(joined(context, draft), n_logits=n_draft + 1)

    kept = joined(context, draft[:n_accepted], own)
    after_refusal = session.forward(kept, n_logits=1).n_decoded

    assert after_refusal <= 2 + n_accepted


def test_adopted_branch_is_not_decoded_twice(open_session: Opener) -> None:
    session = open_session("llama", BRANCHING)
    context, own = tokens_of(10), tokens_of(1, seed=2)
    ways = (Branch(10, (50, 51, 52)), Branch(9, (60, 61)))
    first = session.forward(context, n_logits=1, branches=ways)

    along = joined(context, np.array((50, 51, 52), np.int32), own)
    adopted = session.forward(along, n_logits=1)

    assert (first.n_decoded, adopted.n_decoded) == (15, 1)


def test_branch_that_is_left_halfway_is_adopted_as_far(open_session: Opener) -> None:
    session = open_session("llama", BRANCHING)
    context, own = tokens_of(10), tokens_of(1, seed=2)
    session.forward(context, n_logits=1, branches=(Branch(10, (50, 51, 52)),))

    along = joined(context, np.array((50,), np.int32), own)
    adopted = session.forward(along, n_logits=1).n_decoded

    assert adopted == 1


def test_branch_of_the_trunk_is_not_taken_for_one_of_a_branch(open_session: Opener) -> None:
    """A branch left the trunk's draft with the token that the text now has there; but the text came
    another way."""
    session, fresh = open_session("llama", BRANCHING), open_session("llama", BRANCHING)
    context, drafted = tokens_of(10), np.array((40, 41), np.int32)
    ways = (Branch(10, (50, 51)), Branch(12, (60,)))
    session.forward(joined(context, drafted), n_logits=3, branches=ways)

    text = joined(context, np.array((50, 51, 60, 7), np.int32))
    rows = session.forward(text, n_logits=1)

    assert rows.n_decoded == 2
    np.testing.assert_allclose(rows[0], fresh.forward(text, n_logits=1)[0], atol=0.02)


def test_long_text_is_decoded_in_batches_with_the_rows_of_one_pass(open_session: Opener) -> None:
    small = open_session("llama", replace(SMALL, n_batch=16))
    large = open_session("llama", replace(SMALL, n_batch=256))
    text = tokens_of(200)

    rows = small.forward(text, n_logits=3)

    expected = large.forward(text, n_logits=3)
    assert (len(rows), rows.n_decoded) == (3, 200)
    for i in range(3):
        np.testing.assert_allclose(rows[i], expected[i], atol=ATOL, rtol=0)


def test_kept_row_reads_nan_after_the_next_forward(open_session: Opener) -> None:
    session = open_session("llama")
    text = tokens_of(12)
    kept = session.forward(text[:10], n_logits=2)[1]
    assert np.isfinite(kept).all()

    session.forward(text, n_logits=0)

    assert np.isnan(kept).all()


def test_expired_rows_refuse_to_be_read(open_session: Opener) -> None:
    session = open_session("llama", BRANCHING)
    text = tokens_of(12)
    rows = session.forward(text[:10], n_logits=2, branches=(Branch(10, (5, 6)),))
    session.forward(text, n_logits=1)

    with pytest.raises(AssertionError, match="died"):
        rows[0]
    with pytest.raises(AssertionError, match="died"):
        rows.branch(0)


def test_rows_are_read_only_while_checks_are_on(open_session: Opener) -> None:
    row = open_session("llama").forward(tokens_of(4), n_logits=1)[0]

    with pytest.raises(ValueError, match="read-only"):
        row[0] = 0.0


def test_search_of_an_everyday_row_copies_nothing(
    open_session: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgespec.engine.rows.IS_CHECKING", False)
    row = open_session("llama").forward(tokens_of(4), n_logits=1)[0]

    tracemalloc.start()
    try:
        row.argmax()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak_bytes < row.nbytes


@pytest.mark.parametrize(
    ("n_tokens", "n_logits", "branches"),
    [
        (20, 13, ()),  # more rows than asked of the context
        (20, 10, (Branch(20, (1, 2, 3)),)),  # together with a branch's
        (513, 1, ()),  # more tokens than the context holds
        (0, 0, ()),
        (4, 5, ()),
        (20, 1, (Branch(20, (1,)),) * 4),  # more branches than sequences
        (20, 1, (Branch(21, (1,)),)),
        (20, 1, (Branch(0, (1,)),)),
        (20, 1, (Branch(20, ()),)),
        (512, 1, (Branch(512, (1,)),)),
    ],
)
def test_forward_states_a_limit_before_llama_cpp_would_abort(
    open_session: Opener, n_tokens: int, n_logits: int, branches: tuple[Branch, ...]
) -> None:
    session = open_session("llama", BRANCHING)

    with pytest.raises(AssertionError):
        session.forward(tokens_of(n_tokens), n_logits=n_logits, branches=branches)

    assert session.forward(tokens_of(4), n_logits=1).n_decoded == 4


def test_fewer_rows_than_sequences_are_refused_before_llama_cpp_would_abort(
    open_session: Opener,
) -> None:
    with pytest.raises(AssertionError, match="3 rows"):
        open_session("llama", replace(SMALL, max_branches=3, max_logits=3))

    session = open_session("llama", replace(SMALL, max_branches=3, max_logits=4))
    assert len(session.forward(tokens_of(4), n_logits=1)) == 1


@pytest.mark.parametrize("name", ["mamba", "lfm2"])
def test_batch_too_small_for_snapshots_is_refused_before_llama_cpp_would_abort(
    open_session: Opener, name: str
) -> None:
    with pytest.raises(AssertionError, match="a batch of 9"):
        open_session(name, replace(SMALL, n_batch=9, max_logits=9))

    session = open_session(name, replace(SMALL, n_batch=10, max_logits=10))
    assert len(session.forward(tokens_of(40), n_logits=10)) == 10


def test_session_without_branches_refuses_them(open_session: Opener) -> None:
    session = open_session("mamba", BRANCHING)

    with pytest.raises(AssertionError, match="branches"):
        session.forward(tokens_of(4), n_logits=1, branches=(Branch(4, (1,)),))


def test_last_position_of_the_context_is_usable(open_session: Opener) -> None:
    session = open_session("llama", replace(SMALL, n_ctx=100))
    text = tokens_of(100)

    rows = session.forward(text, n_logits=1)

    assert session.n_ctx == 100
    assert np.isfinite(rows[0]).all()


@pytest.mark.parametrize("max_branches", [0, 3])
@pytest.mark.parametrize("n_back", [1, 12, 40, 300])
def test_sliding_window_equals_a_fresh_session_however_far_it_is_cut(
    open_session: Opener, max_branches: int, n_back: int
) -> None:
    """The window is 16 and its cache is far smaller than 400 tokens: most cells are gone."""
    session = open_session("gemma3", replace(SMALL, n_batch=16, max_branches=max_branches))
    fresh = open_session("gemma3", rollback="replay")
    text = tokens_of(400)
    session.forward(text, n_logits=1)

    turned = joined(text[:-n_back], tokens_of(3, seed=9))
    row = session.forward(turned, n_logits=1)[0].copy()

    np.testing.assert_allclose(row, fresh.forward(turned, n_logits=1)[0], atol=ATOL, rtol=0)


@pytest.mark.parametrize("beyond", [1, 2, 8, 13, 14, 15, 16, 17])
def test_cut_into_a_half_lost_window_equals_a_fresh_session(
    open_session: Opener, beyond: int
) -> None:
    """The token after the cut would see `beyond` cells that are there, and others that are not."""
    session = open_session("gemma3", replace(SMALL, n_batch=16))
    fresh = open_session("gemma3", rollback="replay")
    text = tokens_of(500)
    session.forward(text, n_logits=1)
    first = session._context.start()

    turned = joined(text[: first + beyond], tokens_of(1, seed=9))
    row = session.forward(turned, n_logits=1)[0].copy()

    assert 0 < first < 480
    np.testing.assert_allclose(row, fresh.forward(turned, n_logits=1)[0], atol=1e-3, rtol=0)


@pytest.mark.parametrize("name", ["llama", "gemma3", "mamba", "lfm2"])
def test_retain_keeps_what_it_says(open_session: Opener, name: str) -> None:
    session, fresh = open_session(name), open_session(name, rollback="replay")
    text = tokens_of(400)
    session.forward(text, n_logits=1)
    turned = joined(text[:100], tokens_of(20, seed=3))

    kept = session.retain(turned)
    rows = session.forward(turned, n_logits=1)

    assert rows.n_decoded == len(turned) - kept
    assert kept == (100 if name == "llama" else 0)
    expected = fresh.forward(turned, n_logits=1)[0]
    np.testing.assert_allclose(rows[0], expected, atol=ATOL, rtol=0)


@pytest.mark.parametrize("name", ["llama", "gemma3", "mamba", "lfm2"])
def test_retain_of_a_continuation_costs_nothing(open_session: Opener, name: str) -> None:
    session = open_session(name)
    text = tokens_of(200)
    session.forward(text, n_logits=1)

    kept = session.retain(joined(text, tokens_of(5, seed=4)))

    assert kept == 200


@pytest.mark.parametrize("kv_type", ["f16", "q8_0", "q4_0"])
def test_quantised_caches_decode(tiny: TinyModels, kv_type: KvType) -> None:
    """Heads of 32: a quantised block. Flash attention, which they need, is switched on."""
    model = tiny["guard"]
    text = tokens_of(40) % 256
    session = model.new_session(replace(SMALL, n_ctx=128, kv_type=kv_type))
    try:
        row = session.forward(text, n_logits=1)[0].copy()
    finally:
        session.close()

    exact = model.new_session(replace(SMALL, n_ctx=128))
    expected = exact.forward(text, n_logits=1)[0].copy()
    exact.close()
    assert np.isfinite(row).all()
    assert np.corrcoef(row, expected)[0, 1] > 0.9
    assert (row == expected).all() == (kv_type == "f16")


def test_output_bytes_are_those_of_the_most_rows_of_a_pass(open_session: Opener) -> None:
    session = open_session("llama")
    text = tokens_of(40)
    sizes = [session.output_bytes]

    for n in (1, 7, 3):
        session.forward(text, n_logits=n)
        sizes.append(session.output_bytes)

    assert sizes == [n * session.n_vocab * 4 for n in (1, 1, 7, 7)]


def test_close_twice_is_once(open_session: Opener, tmp_path: Path) -> None:
    model = Model(tinygguf.write_llama(tmp_path / "m.gguf"))
    session = model.new_session(SMALL)

    for _ in range(2):
        session.close()
        model.close()


def test_ten_loads_leave_no_memory_behind(tmp_path: Path) -> None:
    path = write_roomy(tmp_path / "m.gguf")
    large = ContextOptions(n_ctx=2048, n_batch=256, max_logits=32, n_threads=1)

    def cycle() -> int:
        model = Model(path)
        session = model.new_session(large)
        session.forward(tokens_of(300), n_logits=8)
        gc.collect()
        rss_bytes: int = psutil.Process().memory_info().rss
        session.close()
        model.close()
        return rss_bytes

    first_bytes = cycle()
    for _ in range(9):
        last_bytes = cycle()

    assert last_bytes - first_bytes < 30e6  # weights of 10 MB and a cache of 16, each time
