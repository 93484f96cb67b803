"""The law of replies through llama.cpp is the target's, and these tests see when it is not.

Pearson's chi-square over all 27 replies of 3 tokens at temperature 1 and top_k 3. The seeds are
fixed; for fresh ones each test would fail once in 10,000 runs.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from edgespec import decode, decode_law
from edgespec.core import Dist, Draft, Sampler, Sampling, Tokens, Verdict
from edgespec.drafters.cascade import CascadeDrafter
from edgespec.drafters.guessed import Guessed
from edgespec.verify import Target
from tests import tinygguf
from tests.exactness.chi_square import p_value
from tests.exactness.llama_loop import (
    Pair,
    cascade_inputs,
    law,
    open_pair,
    repetitive_prompt,
    replies,
)

WRITERS: dict[str, tinygguf.Write] = {
    "llama": tinygguf.write_llama,
    "gemma3": tinygguf.write_gemma3,
    "mamba": tinygguf.write_mamba,
    "lfm2": tinygguf.write_hybrid,
}
N = 2_000
LEAST_P = 1e-4
WARM = Sampling(1.0, top_k=3)
COOL = Sampling(0.7, top_k=3)
PENALISED = Sampling(1.0, top_k=3, presence_penalty=2.0, repeat_last_n=-1)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Pair]]:
    made = {
        name: open_pair(write, tmp_path_factory.mktemp(name)) for name, write in WRITERS.items()
    }
    yield made
    for pair in made.values():
        pair.close()


@pytest.mark.parametrize(
    ("name", "drafter", "params"),
    [
        ("llama", "suffix", WARM),
        ("llama", "model", WARM),
        ("llama", "suffix+model", WARM),
        ("llama", "cascade", WARM),
        ("llama", "cascade", COOL),
        ("llama", "model", PENALISED),
        ("llama", "cascade", PENALISED),
        ("gemma3", "model", WARM),
        ("mamba", "model", WARM),
        ("lfm2", "model", WARM),
    ],
)
def test_law_of_replies_is_the_targets(
    pairs: dict[str, Pair], name: str, drafter: str, params: Sampling
) -> None:
    pair = pairs[name]
    prompt = repetitive_prompt(pair.target)
    expected = law(pair.target, prompt, params)

    counts, steps = replies(pair, pair.drafters[drafter], prompt, params, N)

    assert p_value(counts, expected) > LEAST_P
    drafted = sum(step.drafted for step in steps)
    accepted = sum(step.accepted for step in steps)
    assert 0.05 * drafted < accepted < 0.98 * drafted  # both ways out of a draft were taken


def test_cascade_spares_passes_of_its_draft_model(pairs: dict[str, Pair]) -> None:
    """What the law above was seen with: guesses that came true."""
    cascade = pairs["llama"].drafters["cascade"]
    assert isinstance(cascade, CascadeDrafter)

    replies(pairs["llama"], cascade, repetitive_prompt(pairs["llama"].target), WARM, 200)

    assert 0.4 * cascade.tally.tokens < cascade.tally.passes < 0.9 * cascade.tally.tokens


class Credulous(CascadeDrafter):
    """What a cascade must not do: keep what was guessed as if the draft model had drawn it."""

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        assert isinstance(self._passes, Guessed)
        passes: Guessed = self._passes

        class Believing:
            def __getattr__(self, name: str) -> object:
                return getattr(sampler, name)

            def draw_draft(self, dist: Dist, position: int) -> int:
                drawn, made = sampler.draw_draft(dist, position), passes._pass
                guesses = made.guesses[made.used - 1 :][:1] if made is not None else ()
                return guesses[0] if guesses and guesses[0] in dist.ids else drawn

        return super().draft(context, k, Believing())  # type: ignore[arg-type]


def test_guesses_kept_as_if_they_were_drawn_are_seen(pairs: dict[str, Pair]) -> None:
    pair = pairs["llama"]
    prompt = repetitive_prompt(pair.target)
    expected = law(pair.target, prompt, WARM)

    counts, _ = replies(pair, Credulous(cascade_inputs(pair)), prompt, WARM, N)

    assert p_value(counts, expected) < LEAST_P


class ArgmaxAsSampled:
    """Drafts the likeliest token, yet says that it drew it."""

    name = "wrong"

    def __init__(self, pair: Pair) -> None:
        self._session = pair.draft

    def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
        if k == 0:
            return Draft()
        q: Dist = sampler.dist(self._session.forward(context, n_logits=1)[0], context)
        return Draft((int(q.ids[q.probs.argmax()]),), (q,))


def test_argmax_draft_treated_as_sampled_is_seen(pairs: dict[str, Pair]) -> None:
    pair = pairs["llama"]
    prompt = repetitive_prompt(pair.target)
    expected = law(pair.target, prompt, WARM)

    counts, _ = replies(pair, ArgmaxAsSampled(pair), prompt, WARM, N)

    assert p_value(counts, expected) < LEAST_P


def test_stale_penalties_are_seen(pairs: dict[str, Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    """Penalties that count the committed text, but not the draft before a row."""
    pair = pairs["llama"]
    prompt = repetitive_prompt(pair.target)
    expected = law(pair.target, prompt, PENALISED)

    def stale(target: decode_law.TargetLaw, i: int) -> Dist:
        return target._sampler.dist(target._logits[i], target._tokens[: target._n])

    monkeypatch.setattr(decode_law.TargetLaw, "__call__", stale)
    counts, _ = replies(pair, pair.drafters["model"], prompt, PENALISED, N)

    assert p_value(counts, expected) < LEAST_P


def test_rows_verified_independently_are_seen(
    pairs: dict[str, Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One draw judges the draft, another one is emitted."""
    pair = pairs["llama"]
    prompt = repetitive_prompt(pair.target)
    expected = law(pair.target, prompt, WARM)

    def independent(draft: Draft, p: Target, sampler: Sampler, **_: object) -> Verdict:
        n = 0
        while n < len(draft) and sampler.draw(p(n), n) == draft.tokens[n]:
            n += 1
        own = sampler.draw(p(n), n)
        return Verdict(n, (*draft.tokens[:n], own), "recovered")

    monkeypatch.setattr(decode, "verify", independent)
    counts, _ = replies(pair, pair.drafters["suffix"], prompt, WARM, N)

    assert p_value(counts, expected) < LEAST_P


def test_row_of_a_reply_depends_on_the_whole_prompt(pairs: dict[str, Pair]) -> None:
    """A control: a law that ignored the cache's beginning would pass for a right one."""
    for pair in pairs.values():
        prompt = repetitive_prompt(pair.target)
        changed = prompt.copy()
        changed[1] += 1

        rows = [pair.target.forward(text, n_logits=1)[0].copy() for text in (prompt, changed)]

        assert np.abs(rows[0] - rows[1]).max() > 0.05
