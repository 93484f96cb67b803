"""Trees of drafts through llama.cpp: rows, grammar, texts and random streams as without them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from edgespec.control import Fixed
from edgespec.core import Branch, Draft, Drafter, Sampler, Sampling, Tokens
from edgespec.decode import Request, speculate
from edgespec.engine.context import ContextOptions
from edgespec.engine.model import Model
from edgespec.engine.session import LlamaSession
from edgespec.events import Step
from edgespec.sampling import RequestSampler
from tests import tinygguf
from tests.exactness.chi_square import p_value
from tests.exactness.llama_loop import REPLY, Reply, law, repetitive_prompt

N_NODES = 16
TOLERANCE = 0.01
"""A chain's rows differ from single ones by 0.003 as well: kernels, not trees."""
OPTIONS = ContextOptions(n_ctx=96, n_batch=64, max_logits=32, n_threads=1, max_branches=6)
PROMPT = np.array([1, 270, 275, 300, 270, 275], np.int32)


WRITERS: dict[str, tinygguf.Write] = {
    "llama": tinygguf.write_llama,
    "gemma3": tinygguf.write_gemma3,
}


@pytest.fixture(scope="module", params=WRITERS)
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LlamaSession]:
    path = tmp_path_factory.mktemp("trees") / "m.gguf"
    model = Model(WRITERS[request.param](path, scale=2.0))
    session = model.new_session(OPTIONS)
    yield session
    session.close()
    model.close()


def random_tree(rng: np.random.Generator, n_context: int, n_vocab: int, likely: list[int]) -> Draft:
    """A trunk of up to 5 tokens and up to 6 branches from anywhere along it, 16 nodes at most.

    Half of the tokens are `likely` ones, so that paths are accepted too.
    """

    def chain(most: int) -> tuple[int, ...]:
        n = int(rng.integers(1, most + 1))
        pick = rng.integers(0, n_vocab, n)
        hit = rng.choice(likely, n)
        return tuple(np.where(rng.random(n) < 0.5, hit, pick).tolist())

    trunk = chain(5)
    left = N_NODES - len(trunk)
    branches: list[Branch] = []
    while left > 0 and len(branches) < 6:
        tokens = chain(min(4, left))
        branches.append(Branch(n_context + int(rng.integers(0, len(trunk) + 1)), tokens))
        left -= len(tokens)
    return Draft(trunk, branches=tuple(branches))


class RandomTrees:
    """Drafts trees at random, or of what plain decoding is known to say."""

    name = "trees"

    def __init__(self, n_vocab: int, answer: list[int], seed: int) -> None:
        self._n_vocab, self._answer = n_vocab, answer
        self._rng = np.random.default_rng(seed)

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        if k < N_NODES:
            return Draft()
        made = len(context) - len(PROMPT)
        soon = self._answer[made : made + 4] or [0]
        tree = random_tree(self._rng, len(context), self._n_vocab, soon)
        # Now and then the right way on, as a branch.
        branches = tree.branches
        if self._rng.random() < 0.5 and len(soon) > 1:
            branches = (*branches[:5], Branch(len(context), tuple(soon)))
        return replace(tree, branches=branches)


def run(target: LlamaSession, drafter: Drafter, params: Sampling, n: int = 48) -> list[Step]:
    request = Request(
        prompt=PROMPT,
        sampler=RequestSampler(params, target.n_vocab),
        max_tokens=n,
        ends=lambda token, source: False,
        is_eog=lambda token: False,
        is_cancelled=lambda: False,
    )
    return list(speculate(target, {"it": drafter}, Fixed("it", 20), request))


def tokens_of(steps: list[Step]) -> list[int]:
    return [token for step in steps for token in step.tokens]


class Plain:
    name = "none"

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        return Draft()


def test_greedy_text_is_plain_decodings(target: LlamaSession) -> None:
    plain = tokens_of(run(target, Plain(), Sampling()))
    for seed in range(6):
        steps = run(target, RandomTrees(target.n_vocab, plain, seed), Sampling())

        text = tokens_of(steps)
        assert_equal_but_for_a_tie(target, plain, text)
        assert len(steps) < len(plain), "nothing was accepted"
        assert any(step.accepted and step.rows > step.drafted + 1 for step in steps)


def assert_equal_but_for_a_tie(target: LlamaSession, plain: list[int], text: list[int]) -> None:
    """Rows of many and of one differ in their last bits, here by up to 0.003."""
    if text == plain:
        return
    at = next(i for i, (a, b) in enumerate(zip(plain, text, strict=True)) if a != b)
    before = np.concatenate([PROMPT, np.array(plain[:at], np.int32)])
    row = target.forward(before, n_logits=1)[0]
    assert abs(row[plain[at]] - row[text[at]]) < TOLERANCE


def test_logits_of_a_tree_are_those_of_linear_decoding(target: LlamaSession) -> None:
    rng = np.random.default_rng(7)
    for _ in range(12):
        tree = random_tree(rng, len(PROMPT), target.n_vocab, [5, 6])
        tokens = np.concatenate([PROMPT, np.array(tree.tokens, np.int32)])
        logits = target.forward(tokens, n_logits=len(tree) + 1, branches=tree.branches)
        trunk = [logits[i].copy() for i in range(len(tree) + 1)]
        ways = [[row.copy() for row in logits.branch(b)] for b in range(len(tree.branches))]

        for i, row in enumerate(trunk):
            linear = target.forward(tokens[: len(PROMPT) + i], n_logits=1)[0]
            np.testing.assert_allclose(row, linear, atol=TOLERANCE)
        for branch, rows in zip(tree.branches, ways, strict=True):
            for j, row in enumerate(rows, start=1):
                way = np.concatenate([tokens[: branch.at], np.array(branch.tokens[:j], np.int32)])
                np.testing.assert_allclose(row, target.forward(way, n_logits=1)[0], atol=TOLERANCE)


def test_accepted_branch_is_not_decoded_again(target: LlamaSession) -> None:
    plain = tokens_of(run(target, Plain(), Sampling(), n=8))

    class OneBranch:
        """A trunk that is wrong at once, and a branch that is right."""

        name = "branch"

        def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
            made = len(context) - len(PROMPT)
            soon = tuple(plain[made : made + 3])
            if k < 4 or len(soon) < 3:
                return Draft()
            wrong = (soon[0] + 1) % 200
            return Draft((wrong,), branches=(Branch(len(context), soon),))

    target.forward(PROMPT[:1], n_logits=0)
    steps = run(target, OneBranch(), Sampling(), n=8)

    first, second = steps[:2]
    assert tokens_of(steps) == plain
    assert (first.accepted, first.draft) == (3, tuple(plain[:3]))
    # The second pass decodes the own token of the first, and its draft: nothing of the branch.
    assert second.rows == 1 + 1 + 3 if second.drafted else second.rows == 1


def test_law_of_replies_with_trees_is_the_targets(target: LlamaSession) -> None:
    params = Sampling(1.0, top_k=3)
    prompt = repetitive_prompt(target)
    expected = law(target, prompt, params)
    rng = np.random.default_rng(11)
    likely = sorted({token for text in expected for token in text})

    class Small:
        name = "small"

        def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
            n = len(context)
            if k < 2:
                return Draft()
            a, b, c = (int(x) for x in rng.choice(likely, 3))
            return Draft((a,), branches=(Branch(n, (b,)),) if k < 3 else (Branch(n, (b, c)),))

    counts: Counter[Reply] = Counter()
    for seed in range(1200):
        request = Request(
            prompt=prompt,
            sampler=RequestSampler(replace(params, seed=seed), target.n_vocab),
            max_tokens=REPLY,
            ends=lambda token, source: False,
            is_eog=lambda token: False,
            is_cancelled=lambda: False,
        )
        steps = list(speculate(target, {"it": Small()}, Fixed("it", 3), request))
        counts[tuple(tokens_of(steps))] += 1

    assert p_value(counts, expected) > 1e-4
