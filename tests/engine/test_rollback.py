"""The classes of memory: what each keeps, and that nothing stale is ever put back."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from edgespec.core import Branch, Tokens
from edgespec.engine.session import LlamaSession
from edgespec.errors import DecodeFailed, EngineError
from tests.engine.conftest import SMALL, TinyModels
from tests.engine.test_session_stateful import ATOL, inject_fault

Opener = Callable[..., LlamaSession]


def tokens_of(n: int, seed: int = 0) -> Tokens:
    return np.random.default_rng(seed).integers(3, 360, n).astype(np.int32)


@pytest.mark.parametrize(
    ("name", "options", "kind"),
    [
        ("llama", {}, "trim"),
        ("gemma3", {}, "trim"),
        ("mamba", {}, "snapshot"),
        ("lfm2", {}, "snapshot"),
        ("lfm2-window", {}, "snapshot"),
        ("llama", {"rollback": "replay"}, "replay"),
    ],
)
def test_rollback_follows_from_the_architecture(
    open_session: Opener, name: str, options: dict[str, str], kind: str
) -> None:
    assert open_session(name, **options).rollback == kind


@pytest.mark.parametrize("name", ["mamba", "lfm2", "lfm2-window"])
def test_states_saved_before_a_fault_are_not_put_back_after_it(
    open_session: Opener, name: str
) -> None:
    """What is restored must be the state of these tokens, not of those before the fault."""
    session, fresh = open_session(name), open_session(name, rollback="replay")
    old, new, draft = tokens_of(40, seed=1), tokens_of(60, seed=2), tokens_of(11, seed=3)
    session.forward(old, n_logits=0)
    session.forward(np.concatenate([old, draft]), n_logits=11)  # saves the state after 40 tokens
    inject_fault(session, after_rows=0.5)
    with pytest.raises(DecodeFailed):
        session.forward(np.concatenate([old, draft, draft]), n_logits=1)
    session.forward(new, n_logits=0)

    turned = np.concatenate([new[:45], draft])
    row = session.forward(turned, n_logits=1)[0].copy()

    np.testing.assert_allclose(row, fresh.forward(turned, n_logits=1)[0], atol=ATOL, rtol=0)


@pytest.mark.parametrize("name", ["mamba", "lfm2", "lfm2-window"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_state_that_cannot_be_saved_costs_one_pass(
    open_session: Opener, name: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a pass or behind it: what is in the cache then must be known again."""
    session, fresh = open_session(name), open_session(name, rollback="replay")
    context: Any = session._context
    states, save = iter(range(1, 100)), context.save_state

    def save_state() -> bytes:
        if next(states) == at:
            raise EngineError("injected")
        found: bytes = save()
        return found

    monkeypatch.setattr(context, "save_state", save_state)
    text, n_faults = tokens_of(30), 0
    for step in range(8):
        text = np.concatenate([text[: len(text) - step], tokens_of(11, seed=step)])
        for n_logits in (11, 1):  # may be refused; a draft model's
            try:
                row = session.forward(text, n_logits=n_logits)[n_logits - 1].copy()
            except EngineError:
                n_faults += 1
                continue
            right = fresh.forward(text, n_logits=1)[0]
            np.testing.assert_allclose(row, right, atol=ATOL, rtol=0)

    assert n_faults == 1


def test_branch_that_cannot_be_read_leaves_nothing_behind(tiny: TinyModels) -> None:
    session = tiny["llama"].new_session(replace(SMALL, max_branches=2))
    fresh = tiny["llama"].new_session(SMALL, rollback="replay")
    text = tokens_of(20)
    session.forward(text, n_logits=1, branches=[Branch(15, (7, 8, 9))])
    with pytest.raises(OverflowError):
        session.forward(text, n_logits=1, branches=[Branch(20, (4, 5)), Branch(12, (2**40,))])

    rows = session.forward(text, n_logits=1, branches=[Branch(20, (5, 6)), Branch(10, (7,))])
    got = [rows.branch(0)[1].copy(), rows.branch(1)[0].copy()]

    for tokens, row in zip(([*text, 5, 6], [*text[:10], 7]), got, strict=True):
        right = fresh.forward(np.array(tokens, np.int32), n_logits=1)[0]
        np.testing.assert_allclose(row, right, atol=ATOL, rtol=0)
    session.close()
    fresh.close()


@pytest.mark.parametrize("name", ["mamba", "lfm2", "lfm2-window"])
def test_long_refused_drafts_equal_a_fresh_session(open_session: Opener, name: str) -> None:
    session, fresh = open_session(name), open_session(name, rollback="replay")
    context = tokens_of(30)
    for step in range(8):
        draft = tokens_of(10, seed=10 + step)
        session.forward(np.concatenate([context, draft]), n_logits=11)
        context = np.concatenate([context, draft[: step % 5], tokens_of(1, seed=50 + step)])

        row = session.forward(context, n_logits=1)[0].copy()

        np.testing.assert_allclose(row, fresh.forward(context, n_logits=1)[0], atol=ATOL, rtol=0)


@pytest.mark.parametrize("name", ["mamba", "lfm2", "lfm2-window"])
def test_tokens_drafted_one_by_one_are_taken_back_cheaply(open_session: Opener, name: str) -> None:
    """A draft model's pattern: the context, then a token at a time, then another context."""
    session, fresh = open_session(name), open_session(name, rollback="replay")
    context, n_decoded = tokens_of(40), 0
    session.forward(context, n_logits=1)
    for step in range(8):
        drafted = context
        for token in tokens_of(3, seed=20 + step):
            drafted = np.append(drafted, token)
            n_decoded += session.forward(drafted, n_logits=1).n_decoded
        context = np.concatenate([drafted[: len(context) + step % 3], tokens_of(1, seed=step)])

        rows = session.forward(context, n_logits=1)
        n_decoded += rows.n_decoded

        np.testing.assert_allclose(
            rows[0], fresh.forward(context, n_logits=1)[0], atol=ATOL, rtol=0
        )
    assert n_decoded < 8 * (3 + 5)


@pytest.mark.parametrize("name", ["mamba", "lfm2", "lfm2-window"])
def test_text_read_before_its_last_token_is_come_back_to(open_session: Opener, name: str) -> None:
    session = open_session(name)
    context, draft = tokens_of(40), tokens_of(3, seed=1)
    session.forward(context[:-1], n_logits=0)
    session.forward(context, n_logits=1)
    for n in range(1, 4):
        session.forward(np.concatenate([context, draft[:n]]), n_logits=1)

    refused = session.forward(np.concatenate([context, tokens_of(1, seed=2)]), n_logits=1)

    assert refused.n_decoded == 1


@pytest.mark.parametrize("name", ["mamba", "lfm2", "lfm2-window"])
def test_held_text_is_come_back_to_from_afar(open_session: Opener, name: str) -> None:
    session, fresh = open_session(name), open_session(name, rollback="replay")
    prompt = tokens_of(100)
    session.forward(prompt[:-1], n_logits=0)  # as a request does: its last row comes with a draft
    session.hold()
    text = prompt
    for step in range(6):  # an answer with long drafts, which save states of their own
        draft = tokens_of(11, seed=step)
        session.forward(np.concatenate([text, draft]), n_logits=12)
        text = np.concatenate([text, draft[:5], tokens_of(1, seed=90 + step)])

    other = np.concatenate([prompt, tokens_of(4, seed=99)])
    kept = session.retain(other)
    row = session.forward(other, n_logits=1)[0].copy()

    assert kept == 99
    np.testing.assert_allclose(row, fresh.forward(other, n_logits=1)[0], atol=ATOL, rtol=0)


def test_state_brings_back_the_window_that_slid_away(open_session: Opener) -> None:
    """The saved state holds the window's cells: by then others have taken their places."""
    session = open_session("lfm2-window")
    fresh = open_session("lfm2-window", rollback="replay")
    prompt = tokens_of(100)
    session.forward(prompt, n_logits=0)
    session.hold()
    session.forward(np.concatenate([prompt, tokens_of(390, seed=1)]), n_logits=0)

    other = np.concatenate([prompt, tokens_of(4, seed=2)])
    kept = session.retain(other)
    rows = session.forward(other, n_logits=4)

    assert kept == 100
    expected = fresh.forward(other, n_logits=4)
    for i in range(4):
        np.testing.assert_allclose(rows[i], expected[i], atol=ATOL, rtol=0)
