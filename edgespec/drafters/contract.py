"""The contract of drafters as tests, for ours and for other distributions'.

    from edgespec.drafters.contract import StatelessDrafterContract

    class TestMyDrafter(StatelessDrafterContract):
        name = "mine"

pytest collects it; each test is a plain function of assertions, so other runners can call them
too. `build` makes the drafter; override it where the registered name is not enough.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from edgespec.core import Branch, Constraint, Draft, Drafter, Mask, Row, Sampling, Session, Tokens
from edgespec.drafters import DrafterInputs, create
from edgespec.drafters.guard import check
from edgespec.sampling import RequestSampler

N_VOCAB, EOG = 8, 7
GREEDY, WARM = Sampling(), Sampling(temperature=1.0, seed=3)
_CONTEXT = (1, 2, 3, 1, 2, 3)
_N_CASES, _N_DRAWS = 40, 400


class DrafterContract:
    """What every drafter keeps to."""

    name: str
    """As it is registered."""

    def inputs(self, session: Session) -> DrafterInputs:
        """What the drafter is built from; override to add what it needs."""
        return DrafterInputs(N_VOCAB, lambda token: token == EOG, session, max_branches=16)

    def build(self, session: Session) -> Drafter:
        """A fresh drafter, with this draft model."""
        return create(self.name, self.inputs(session))

    def test_name_is_the_registered_one(self) -> None:
        """The loop and the statistics find a drafter by it."""
        assert self.build(TinyModel()).name == self.name

    def test_draft_keeps_to_length_vocabulary_and_distributions(self) -> None:
        """At most k tokens, real ids, the end of a generation last, distributions for all or none.

        Each token is in the distribution that it came from, which sums to 1.
        """
        for context, k in _cases():
            drafter, model = self.build(TinyModel(scale=3.0)), TinyModel()

            draft = draft_of(drafter, context, k, WARM)

            check(draft, len(context), k, self.inputs(model))

    def test_draft_is_empty_and_free_when_k_is_0(self) -> None:
        """No pass of the draft model, not even to catch up."""
        model = TinyModel()

        draft = draft_of(self.build(model), _CONTEXT, 0, WARM)

        assert draft == Draft()
        assert model.n_decoded == 0

    def test_draft_has_no_distributions_when_greedy(self) -> None:
        """Point masses are left out: the draft is then judged as the guess that it is."""
        draft = draft_of(self.build(TinyModel()), _CONTEXT, 4, GREEDY)

        assert draft.dists == ()

    def test_drawn_tokens_are_distributed_as_the_draft_says(self) -> None:
        """A sampled draft keeps every token it drew: one that is dropped by its value changes what
        the target's answer looks like, and nothing else would show it."""
        context = np.array(_CONTEXT, np.int32)
        counts: Counter[int | None] = Counter()
        expected = np.zeros(N_VOCAB)
        for seed in range(_N_DRAWS):
            sampler = RequestSampler(Sampling(temperature=1.0, seed=seed), N_VOCAB)
            draft = self.build(TinyModel(scale=1.0)).draft(context, 1, sampler)
            if draft.tokens and not draft.dists:
                return  # a guess: it may be anything
            counts[draft.tokens[0] if draft.tokens else None] += 1
            if draft.dists:
                expected[draft.dists[0].ids] += draft.dists[0].probs

        n_drawn = _N_DRAWS - counts[None]
        assert n_drawn in (0, _N_DRAWS), "whether a token is drawn may not depend on its value"
        for token in range(N_VOCAB):
            deviation = abs(counts[token] - expected[token])
            assert deviation <= 5 * max(expected[token], 1.0) ** 0.5, (token, counts, expected)

    def test_sampled_branches_do_not_follow_from_what_was_drawn(self) -> None:
        """They have a drawn trunk judged token by token, without them it is judged as a block: to
        choose between the rules by a drawn token changes what the target's answer looks like."""
        context, has_branches = np.array(_CONTEXT, np.int32), set()
        for seed in range(_N_CASES):
            sampler = RequestSampler(Sampling(temperature=1.0, seed=seed), N_VOCAB)
            draft = self.build(TinyModel(scale=1.0)).draft(context, 8, sampler)
            if draft.dists:
                has_branches.add(any(branch.dists for branch in draft.branches))

        assert len(has_branches) <= 1

    def test_drawn_draft_obeys_the_grammar_and_leaves_its_state(self) -> None:
        """The loop cuts what was guessed, but may not cut what was drawn."""
        for context, k in _cases():
            grammar = Alternating()

            draft = draft_of(self.build(TinyModel()), context, k, WARM, grammar)

            if draft.dists:
                assert [token % 2 for token in draft.tokens] == [i % 2 for i in range(len(draft))]
            assert grammar.parity == 0

    def test_context_is_not_written_to(self) -> None:
        """It is the loop's own."""
        context = np.array(_CONTEXT, np.int32)
        context.flags.writeable = False

        self.build(TinyModel()).draft(context, 8, RequestSampler(WARM, N_VOCAB))

        assert context.tolist() == list(_CONTEXT)

    def test_draft_is_of_the_context_as_it_was_when_the_array_is_reused(self) -> None:
        """What a drafter remembers of a context is a copy."""
        used, array = self.build(TinyModel()), np.array(_CONTEXT, np.int32)
        used.draft(array, 4, RequestSampler(GREEDY, N_VOCAB))

        array[:] = (4, 5, 4, 5, 4, 5)
        draft = used.draft(array, 4, RequestSampler(GREEDY, N_VOCAB))

        assert draft == draft_of(self.build(TinyModel()), (4, 5, 4, 5, 4, 5), 4, GREEDY)

    def test_draft_is_possible_when_the_context_is_one_token(self) -> None:
        """The shortest there is, of any token."""
        for token in range(N_VOCAB):
            draft = draft_of(self.build(TinyModel()), (token,), 4, GREEDY)

            assert len(draft) <= 4

    def test_second_conversation_drafts_as_in_a_fresh_process(self) -> None:
        """Nothing of one conversation is in the drafts of the next."""
        first, second = (1, 2, 3, 4, 5, 6, 1, 2, 3), (6, 5, 1, 2)
        shared, alone = self.build(TinyModel()), self.build(TinyModel())

        draft_of(shared, first, 8, GREEDY)
        after_another = [draft_of(shared, second[:n], 8, GREEDY) for n in range(1, 5)]

        assert after_another == [draft_of(alone, second[:n], 8, GREEDY) for n in range(1, 5)]


class StatelessDrafterContract(DrafterContract):
    """Also for drafters whose drafts follow from the context alone: all but those that learn from
    the target's rows."""

    def test_draft_equals_a_fresh_instances_whatever_came_before(self) -> None:
        """The context may have been continued, cut, or replaced."""
        rng = np.random.default_rng(5)
        for context, k in _cases():
            used = self.build(TinyModel())
            draft_of(used, context, k, GREEDY)
            kept = int(rng.integers(0, len(context) + 1))
            other = (*context[:kept], *rng.integers(0, N_VOCAB, 3).tolist())

            draft = draft_of(used, other, 8, GREEDY)

            assert draft == draft_of(self.build(TinyModel()), other, 8, GREEDY)


def draft_of(
    drafter: Drafter,
    context: Sequence[int],
    k: int,
    params: Sampling,
    constraint: Constraint | None = None,
) -> Draft:
    """What it drafts in a request of its own."""
    sampler = RequestSampler(params, N_VOCAB, constraint)
    return drafter.draft(np.array(context, np.int32), k, sampler)


def _cases() -> Iterator[tuple[tuple[int, ...], int]]:
    """Contexts and lengths: short and long, with repeats, with every token."""
    rng = np.random.default_rng(1)
    for _ in range(_N_CASES):
        n_symbols = int(rng.integers(1, N_VOCAB + 1))
        context = rng.integers(0, n_symbols, rng.integers(1, 40))
        yield tuple(context.tolist()), int(rng.integers(0, 13))


class Alternating:
    """A grammar: even and odd tokens in turn."""

    def __init__(self, parity: int = 0) -> None:
        self.parity = parity

    def allowed(self, ids: Tokens) -> Mask:
        """See `core.Constraint`."""
        allowed: Mask = ids % 2 == self.parity
        return allowed

    def advanced(self, token: int) -> "Alternating":
        """See `core.Constraint`."""
        assert token % 2 == self.parity, (token, self.parity)
        return Alternating(1 - self.parity)


class TinyModel:
    """A `core.Session` without weights: logits are drawn by the last three tokens.

    `scale` is their deviation: at 8, the default, it is sure of what it says.
    """

    n_ctx, n_vocab, max_logits = 1024, N_VOCAB, 64

    def __init__(self, scale: float = 8.0) -> None:
        self.n_decoded = 0
        self._scale = scale
        self._resident: list[int] = []

    def resident_prefix(self, tokens: Tokens) -> int:
        """See `core.Session`."""
        pairs = zip(self._resident, tokens.tolist(), strict=False)
        return next(
            (i for i, (a, b) in enumerate(pairs) if a != b), min(len(self._resident), len(tokens))
        )

    def forward(
        self, tokens: Tokens, *, n_logits: int, branches: Sequence[Branch] = ()
    ) -> "TinyRows":
        """See `core.Session`; a drafter's own passes need no branches."""
        assert not branches, "the contract's model makes no passes that branch"
        assert 0 <= n_logits <= len(tokens) <= self.n_ctx, (n_logits, len(tokens))
        kept = min(self.resident_prefix(tokens), len(tokens) - n_logits)
        self._resident = tokens.tolist()
        self.n_decoded += len(tokens) - kept
        ends = range(len(tokens) - n_logits + 1, len(tokens) + 1)
        return TinyRows([self._row(self._resident[:end]) for end in ends], len(tokens) - kept)

    def _row(self, tokens: Sequence[int]) -> Row:
        rng = np.random.default_rng([len(tokens[-3:]), *tokens[-3:]])
        return (self._scale * rng.normal(size=N_VOCAB)).astype(np.float32)


class TinyRows:
    """A `core.Logits`."""

    def __init__(self, rows: Sequence[Row], n_decoded: int) -> None:
        self._rows = rows
        self.n_decoded = n_decoded

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: int) -> Row:
        return self._rows[i]

    def branch(self, b: int) -> Sequence[Row]:
        """See `core.Logits`; there are none."""
        raise IndexError(b)
