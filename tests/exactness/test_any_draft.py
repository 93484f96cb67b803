"""Drafts of any shape, whose length follows from what was drawn, leave the law exactly as it is.

Trunks and branches, sampled and not, by laws that have nothing to do with the target's; two judged
drafts one after the other. In rationals, by every outcome of the random numbers.
"""

import random
from fractions import Fraction

import pytest

from edgespec.core import Branch, Dist, Draft, Rule
from edgespec.verify import verify
from edgespec.verify_tree import verify_tree
from tests.exactness.exact_models import Prefix, random_model, target_law
from tests.exactness.exact_tree import Coins, ExactDist, exact, law_of
from tests.exactness.test_trees import Along


class AnyDraft:
    """Decided by the seed, the text and what it has drawn so far; but not whether branches are
    sampled, unless `is_fickle`."""

    def __init__(
        self, seed: int, n_vocab: int, text: Prefix, coins: Coins, *, is_fickle: bool = False
    ) -> None:
        self._key = f"{seed}/{text}"
        self._n_vocab = n_vocab
        self._coins = coins
        self._is_fickle = is_fickle
        self._drawn: list[int] = []
        self._n_text = len(text)

    def draft(self) -> Draft:
        """Chains and trees, in all mixtures."""
        kind = self._fixed("kind").choice(("chain", "chain", "sampled", "mixed", "guessed"))
        trunk, dists = self._chain("trunk", self._fixed("k").randint(0, 3), kind != "guessed")
        branches = []
        for b in range(self._fixed("n").randint(0, 2) if kind != "chain" else 0):
            rng = self._rng(f"branch {b}")
            share = self._fixed(f"sampled {b}").random()
            is_sampled = kind == "sampled" or (kind == "mixed" and share < 0.3)
            leaves = self._n_text + rng.randint(0, len(trunk))
            branches.append(Branch(leaves, *self._chain(f"{b}", rng.randint(1, 2), is_sampled)))
        return Draft(trunk, dists, tuple(branches))

    def _chain(
        self, tag: str, n: int, is_sampled: bool
    ) -> tuple[tuple[int, ...], tuple[Dist, ...]]:
        tokens: list[int] = []
        dists: list[Dist] = []
        for i in range(n):
            rng = self._rng(f"{tag} {i}")
            if i and rng.random() < 0.25:
                break
            if is_sampled:
                dists.append(self._law(rng))
                tokens.append(self._coins.draw_draft(dists[-1], 0))
            else:
                tokens.append(rng.randrange(self._n_vocab))
            self._drawn.append(tokens[-1])
        return tuple(tokens), tuple(dists)

    def _fixed(self, tag: str) -> random.Random:
        return self._rng(tag) if self._is_fickle else random.Random(f"{self._key}/{tag}")

    def _rng(self, tag: str) -> random.Random:
        return random.Random(f"{self._key}/{tag}/{self._drawn}")

    def _law(self, rng: random.Random) -> ExactDist:
        weights = [rng.choice((0, 0, 1, 1, 2, 3, 7)) for _ in range(self._n_vocab)]
        weights[rng.randrange(self._n_vocab)] += 1
        return exact([Fraction(weight, sum(weights)) for weight in weights])


def laws(
    seed: int, rule: Rule, *, is_fickle: bool = False
) -> tuple[dict[Prefix, Fraction], dict[Prefix, Fraction]]:
    """The joint law with drafts, and the target's."""
    n_vocab, n = random.Random(seed).choice(((2, 3), (2, 4), (3, 3)))
    p = random_model(n_vocab, seed=seed)

    def run(coins: Coins) -> Prefix:
        text: Prefix = ()
        while len(text) < n:
            drafter = AnyDraft(seed, n_vocab, text, coins, is_fickle=is_fickle)
            draft = drafter.draft() if len(text) < 2 else Draft()
            judge = verify_tree if draft.branches else verify
            target = Along(p, text, draft)
            text += judge(draft, target, coins.sampler, len(text), rule=rule).tokens
        return text[:n]

    emitted = {text: chance for text, chance in law_of(run).items() if chance}
    return emitted, target_law(p, n_vocab, n)


@pytest.mark.parametrize("rule", ["token", "block"])
@pytest.mark.parametrize("seed", range(20))
def test_any_draft_leaves_the_targets_joint_law(seed: int, rule: Rule) -> None:
    emitted, expected = laws(seed, rule)

    assert emitted == expected


def test_branches_sampled_by_what_was_drawn_change_the_law_of_blocks() -> None:
    """Which rule judges a draft may not follow from what was drawn: see `core.Draft`."""
    by_rule: dict[Rule, bool] = {}
    for rule in ("token", "block"):
        emitted, expected = laws(18, rule, is_fickle=True)
        by_rule[rule] = emitted == expected

    assert by_rule == {"token": True, "block": False}
