"""`edgespec doctor --pair`: that drafting loses nothing, shown on a person's own models.

Three proofs: every drafter's greedy text is plain decoding's, or leaves it at a near-tie; drafts
drawn from the draft model's real distributions are accepted as often as theory says, and what
comes out has the target's law; block verification accepts no less than token by token.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgespec.api.types import DraftVocab, Options
from edgespec.bench.rig import Rig
from edgespec.bench.suite import BenchPrompt, prompts
from edgespec.control.costs import Measured
from edgespec.core import Dist, Draft, Sampling, Session, Tokens
from edgespec.drafters.translation import Translation
from edgespec.equality import Difference, explained
from edgespec.proof.tally import Acceptance, Tally
from edgespec.sampling import RequestSampler

GREEDY_TOKENS = 64
_SUITE = "chat,code-edit,summary,json,short"
_POSITIONS = 48
"""Answer tokens after which a draft is drawn."""
_DRAFT_LEN = 4
SAMPLING = Sampling(temperature=1, top_k=40, seed=20_240_611)


@dataclass(frozen=True, slots=True)
class Greedy:
    """One drafter's greedy answer to one prompt; `difference` None: equal to plain decoding's."""

    prompt: str
    drafter: str
    difference: Difference | None
    texts: tuple[str, str] = ("", "")
    """Plain decoding's token and the drafter's, where they differ."""

    @property
    def is_sound(self) -> bool:
        """Equal, or a near-tie."""
        return self.difference is None or self.difference.is_near_tie


@dataclass(frozen=True, slots=True)
class Agreement:
    """Positions of a greedy answer, and those at which the draft model would say the same."""

    n_positions: int
    n_agreed: int


@dataclass(frozen=True, slots=True)
class Proof:
    """All that was found."""

    target: str
    draft: str
    greedy: tuple[Greedy, ...]
    acceptance: Acceptance
    agreement: Agreement
    costs: Measured
    """Of this machine's passes, by which the acceptance pays or does not."""
    shared_tokens: str = ""
    """What two different vocabularies share, in a sentence; empty where they are the same."""

    @property
    def is_lossless(self) -> bool:
        """Nothing was found that drafting changes."""
        return self.acceptance.is_sound and all(greedy.is_sound for greedy in self.greedy)


def prove(
    target: str | Path,
    draft: str | Path,
    *,
    draft_vocab: DraftVocab = "same",
    is_quick: bool = False,
    n_threads: int | None = None,
    progress: Callable[[str, float], None] = lambda phase, fraction: None,
) -> Proof:
    """Load the pair and try to refute it, on one prompt where it `is_quick`.

    Raises: `IncompatibleDraft`; as `edgespec.load`.
    """
    rig = Rig.load(target, draft, n_threads, progress, draft_vocab=draft_vocab)
    try:
        greedy = tuple(_greedy(rig, prompts(_SUITE)[: 1 if is_quick else None], progress))
        progress("measuring acceptance", 0.0)
        names = rig.model.description
        assert names.draft is not None, "a pair has a draft model"
        acceptance = _acceptance(rig)
        return Proof(
            names.target,
            names.draft,
            greedy,
            acceptance,
            _agreement(rig),
            rig.costs,
            rig.shared_tokens,
        )
    finally:
        rig.close()


def _greedy(
    rig: Rig, asked: Sequence[BenchPrompt], progress: Callable[[str, float], None]
) -> Iterator[Greedy]:
    for prompt in asked:
        plain = rig.model.complete(prompt.messages, _greedy_options("none")).tokens
        for name in (name for name in rig.drafters if name != "none"):
            progress(f"comparing greedy texts: {prompt.name}, {name}", 0.0)
            tokens = rig.model.complete(prompt.messages, _greedy_options(name)).tokens
            if tokens == plain:
                yield Greedy(prompt.name, name, None)
                continue
            found = explained(rig.target, rig.tokens_of(prompt), plain, tokens)
            assert found is not None, "the answers differ"
            texts = rig.text(found.plain), rig.text(found.other)
            yield Greedy(prompt.name, name, found, texts)


def _greedy_options(drafter: str) -> Options:
    return Options(max_tokens=GREEDY_TOKENS, drafter=drafter)


def _acceptance(rig: Rig) -> Acceptance:
    """Drafts along one sampled answer, at every position of it, verified again and again.

    There is room for it: longer prompts were answered before.
    """
    prompt = prompts(_SUITE)[0]
    options = Options(SAMPLING, max_tokens=_POSITIONS, drafter="none")
    answer = np.array(rig.model.complete(prompt.messages, options).tokens, np.int32)
    text = np.concatenate((rig.tokens_of(prompt), answer))
    sampler = RequestSampler(SAMPLING, rig.target.n_vocab)
    assert rig.draft is not None, "a pair has a draft model"
    tally = Tally(sampler)
    translation = rig.translation
    for end in range(len(text) - len(answer), len(text)):
        draft = _drawn(rig.draft, text[:end], sampler, translation)
        tally.add(draft, _laws(rig, text[:end], draft, sampler), end)
    return tally.acceptance()


def _agreement(rig: Rig) -> Agreement:
    prompt = prompts(_SUITE)[0]
    answer = rig.model.complete(prompt.messages, _greedy_options("none")).tokens
    text = np.concatenate((rig.tokens_of(prompt), np.array(answer, np.int32)))
    sampler = RequestSampler(Sampling(), rig.target.n_vocab)
    assert rig.draft is not None, "a pair has a draft model"
    n_agreed = 0
    for end in range(len(text) - len(answer), len(text)):
        draft = _drawn(rig.draft, text[:end], sampler, rig.translation, 1)
        n_agreed += draft.tokens[0] == text[end]
    return Agreement(len(answer), n_agreed)


def _drawn(
    session: Session,
    context: Tokens,
    sampler: RequestSampler,
    translation: Translation,
    n_tokens: int = _DRAFT_LEN,
) -> Draft:
    """A draft of full length, however unsure the draft model is: the harder test.

    The draft model sees what fits its own context; whatever it says is a draft to be judged.
    """
    tokens, read = context, translation.context(context)
    skipped = max(0, len(read) + n_tokens - 1 - session.n_ctx)
    dists = []
    for _ in range(n_tokens):
        row = session.forward(read[skipped:], n_logits=1)[0]
        q = sampler.dist(translation.row(row), tokens)
        dists.append(q)
        token = sampler.draw_draft(q, len(tokens))
        own = translation.token(token)
        assert own is not None, f"the draft model cannot say {token}, which it drew"
        tokens, read = np.append(tokens, np.int32(token)), np.append(read, np.int32(own))
    return Draft(tuple(tokens[len(context) :].tolist()), tuple(dists))


def _laws(rig: Rig, context: Tokens, draft: Draft, sampler: RequestSampler) -> list[Dist]:
    """The target's distributions after 0, 1, … of the draft's tokens, from one pass."""
    tokens = np.concatenate((context, np.array(draft.tokens, np.int32)))
    rows = rig.target.forward(tokens, n_logits=len(draft) + 1)
    return [sampler.dist(rows[i], tokens[: len(context) + i]) for i in range(len(draft) + 1)]
