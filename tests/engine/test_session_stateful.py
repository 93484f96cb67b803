"""Any sequence of forward calls, cuts, regrowths, branches and faults equals a fresh session."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from edgespec.core import Branch
from edgespec.engine.session import LlamaSession
from edgespec.errors import DecodeFailed
from tests.engine.conftest import SMALL, TinyModels

N_VOCAB = 365
ATOL = 3e-2  # the cache holds f16; a wrong cell moves a logit by tenths (their deviation is 1.5)


def inject_fault(session: LlamaSession, *, after_rows: float) -> None:
    """Let the next native decode fail once `after_rows` (a share) of its rows are in the cache."""
    context: Any = session._context
    real_decode = type(context).decode

    def failing(batch: Any) -> None:
        del context.decode
        n_rows, n_logits = batch.n_rows, batch.n_logits
        batch.n_rows = int(n_rows * after_rows)
        if batch.n_rows:
            batch.n_logits = min(n_logits, batch.n_rows)
            real_decode(context, batch)
        raise DecodeFailed("injected")

    context.decode = failing


class AnyForward(RuleBasedStateMachine):
    """Drives a session and a replaying twin (which decodes everything anew) side by side."""

    models: ClassVar[TinyModels]
    name: ClassVar[str]
    kinds: ClassVar[dict[str, Any]] = {}
    max_branches: ClassVar[int] = 3

    def __init__(self) -> None:
        super().__init__()
        model = self.models[self.name]
        options = replace(SMALL, max_branches=self.max_branches)
        self.session = model.new_session(options, **self.kinds)
        self.fresh = model.new_session(SMALL, rollback="replay")
        self.rng = np.random.default_rng(0)
        self.tokens = self._random(4)
        self.branches: list[Branch] = []

    def _random(self, n: int) -> np.ndarray:
        return self.rng.integers(3, N_VOCAB, n).astype(np.int32)

    def _forward(self, n_logits: int, branches: tuple[Branch, ...] = ()) -> None:
        n_logits = min(n_logits, len(self.tokens))
        logits = self.session.forward(self.tokens, n_logits=n_logits, branches=branches)

        rows = [logits[i].copy() for i in range(n_logits)]
        branch_rows = [[row.copy() for row in logits.branch(b)] for b in range(len(branches))]
        np.testing.assert_array_equal(self.session.resident, self.tokens)
        self._compare(self.tokens, rows)
        for branch, got in zip(branches, branch_rows, strict=True):
            path = np.concatenate([self.tokens[: branch.at], np.array(branch.tokens, np.int32)])
            self._compare(path, got)
        self.branches = list(branches)

    def _compare(self, tokens: np.ndarray, rows: list[np.ndarray]) -> None:
        if rows:
            expected = self.fresh.forward(tokens, n_logits=len(rows))
            for i, row in enumerate(rows):
                np.testing.assert_allclose(row, expected[i], atol=ATOL, rtol=0)

    @rule(n=st.integers(1, 9), n_logits=st.integers(0, 9))
    def grow(self, n: int, n_logits: int) -> None:
        if len(self.tokens) + n > 500:
            self.tokens = self._random(3)
        self.tokens = np.concatenate([self.tokens, self._random(n)])
        self._forward(n_logits)

    @rule(n=st.integers(30, 200))
    def grow_far(self, n: int) -> None:
        if len(self.tokens) + n > 480:
            self.tokens = self._random(3)
        self.tokens = np.concatenate([self.tokens, self._random(n)])
        self._forward(2)

    @rule(n_cut=st.integers(1, 12), n=st.integers(1, 5), n_logits=st.integers(1, 6))
    def cut_and_regrow(self, n_cut: int, n: int, n_logits: int) -> None:
        kept = self.tokens[: max(1, len(self.tokens) - n_cut)]
        self.tokens = np.concatenate([kept, self._random(n)])
        self._forward(n_logits)

    @rule(share=st.floats(0, 1))
    def cut_far(self, share: float) -> None:
        self.tokens = self.tokens[: max(1, int(len(self.tokens) * share))]
        self._forward(1)

    @rule(n_logits=st.integers(0, 4))
    def repeat(self, n_logits: int) -> None:
        self._forward(n_logits)

    @rule()
    def hold(self) -> None:
        self.session.hold()

    @rule(
        shapes=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3)), min_size=1, max_size=3),
        n_logits=st.integers(1, 3),
    )
    def branch(self, shapes: list[tuple[int, int]], n_logits: int) -> None:
        if not self.session.max_branches:
            return
        n = len(self.tokens)
        self._forward(
            n_logits,
            tuple(
                Branch(max(1, n - back), tuple(self._random(length).tolist()))
                for back, length in shapes
            ),
        )

    @rule(which=st.integers(0, 2), n_taken=st.integers(1, 3), n=st.integers(1, 2))
    def continue_along_a_branch(self, which: int, n_taken: int, n: int) -> None:
        if not self.branches:
            return
        branch = self.branches[which % len(self.branches)]
        taken = np.array(branch.tokens[:n_taken], np.int32)
        if branch.at + len(taken) + n > 500:
            return
        self.tokens = np.concatenate([self.tokens[: branch.at], taken, self._random(n)])
        self._forward(1)

    @rule(which=st.integers(0, 5))
    def continue_as_the_trunk_or_a_branch_of_it_would(self, which: int) -> None:
        """Along one branch, then with the tokens that others have there, after another text."""
        ways = [Branch(0, tuple(self.tokens.tolist())), *self.branches]
        pairs = [
            (branch, other)
            for branch in self.branches
            for other in ways
            if other is not branch and other.at <= branch.at + len(branch.tokens)
        ]
        if not pairs:
            return
        branch, other = pairs[which % len(pairs)]
        end = max(branch.at + 1, other.at)
        path = [*self.tokens[: branch.at].tolist(), *branch.tokens[: end - branch.at]]
        rest = other.tokens[end - other.at :] or (7,)
        self.tokens = np.array([*path, *rest][:500], np.int32)
        self._forward(1)

    @rule(after_rows=st.sampled_from([0.0, 0.5, 1.0]), n=st.integers(1, 40))
    def fail_while_growing(self, after_rows: float, n: int) -> None:
        if len(self.tokens) + n > 500:
            return
        grown = np.concatenate([self.tokens, self._random(n)])
        inject_fault(self.session, after_rows=after_rows)
        with pytest.raises(DecodeFailed):
            self.session.forward(grown, n_logits=1)
        self.branches = []
        self.tokens = grown
        self._forward(1)

    def teardown(self) -> None:
        self.session.close()
        self.fresh.close()


@pytest.mark.parametrize(
    ("name", "max_branches", "kinds"),
    [
        ("llama", 3, {}),
        ("llama", 0, {"rollback": "replay"}),
        ("gemma3", 3, {}),
        ("gemma3", 0, {}),
        ("mamba", 0, {}),
        ("lfm2", 0, {}),
        ("lfm2-window", 0, {}),
    ],
)
def test_any_sequence_of_forwards_equals_a_fresh_session(
    tiny: TinyModels, name: str, max_branches: int, kinds: dict[str, Any]
) -> None:
    fields = {"models": tiny, "name": name, "max_branches": max_branches, "kinds": kinds}
    machine = type("Machine", (AnyForward,), fields)

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],  # shrinking takes minutes; the steps are printed as they are
            suppress_health_check=list(HealthCheck),
        ),
    )
