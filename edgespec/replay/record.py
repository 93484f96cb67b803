"""Recording: answers decoded plainly, and at each position what every drafter would have proposed.

A draft model is asked along the answer, token by token. Given the answer so far, whether its token
is accepted is one event per position (arXiv 2211.17192; given the emitted token y, with probability
min(1, q(y) / p(y))), so one walk tells all drafts of any length and from any position. Behind a
token that is refused it goes on by itself for some tokens, for what a policy sees of its
confidence.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from edgespec.bench.main import Wish, within_context
from edgespec.bench.measure import Plan
from edgespec.bench.rig import Rig
from edgespec.control.costs import LONGEST
from edgespec.core import Dist, Sampling, Tokens
from edgespec.drafters import DRAFTERS, DrafterInputs, create, find
from edgespec.drafters.arms import Free
from edgespec.drafters.lookahead import LookaheadDrafter
from edgespec.drafters.model import ModelDrafter, top_probability
from edgespec.drafters.tree import TreeDrafter
from edgespec.drafters.ways import n_common
from edgespec.errors import UsageError
from edgespec.replay.backing import Copies, Said
from edgespec.replay.grown import Grown
from edgespec.replay.trace import PaidTrace, Proposal, Recording, Trace
from edgespec.replay.windows import windows
from edgespec.sampling.sampler import RequestSampler

_ASTRAY = 5
"""Tokens that a draft model goes on for behind one that is refused."""
_SEED = 7


def record(
    wish: Wish,
    plan: Plan,
    *,
    progress: Callable[[str, float], None],
    tell: Callable[[str], None],
    with_tokens: bool = False,
    with_windows: bool = False,
) -> Recording:
    """Record every prompt of the plan that fits the context, at every temperature.

    `with_windows`: also run lookahead's windows beside the answers, which takes three passes of
    up to 30 rows for each step.
    Raises: as loading does; `ContextOverflow` when no prompt fits.
    """
    rig = wish.load(progress)
    try:
        inputs = DrafterInputs(rig.target.n_vocab, rig.is_eog, retriever=rig.retriever)
        traces = []
        for prompt in within_context(rig, plan).prompts:
            tokens = rig.tokens_of(prompt)
            for temperature in plan.temperatures:
                tell(f"recording {prompt.name} at temperature {temperature:g}")
                walk = _Walk(rig, temperature, inputs)
                answer, paid = walk.answer(tokens, plan.n_tokens(prompt))
                found = {}
                if with_windows:
                    tell(f"running lookahead's windows beside {prompt.name}")
                    found = windows(rig.target, tokens, answer, rig.is_eog)
                traces.append(
                    Trace(
                        prompt.name,
                        temperature,
                        len(tokens),
                        len(answer),
                        proposals(tokens, answer, inputs),
                        paid,
                        (*tokens.tolist(), *answer) if with_tokens else None,
                        trees(tokens, answer, inputs),
                        found,
                    )
                )
        about = rig.model.description
        return Recording(about.target, about.draft, rig.costs, tuple(traces))
    finally:
        rig.close()


def proposals(
    prompt: Tokens, answer: Sequence[int], inputs: DrafterInputs
) -> dict[str, tuple[Proposal, ...]]:
    """What every drafter that costs no pass would have proposed, for each position.

    Lookahead's pool knows what a text tells it: no window was run.
    """
    found = {}
    whole = np.array([*prompt, *answer], np.int32)
    sampler = RequestSampler(Sampling(), inputs.n_vocab)
    for name in DRAFTERS:
        drafter = _built(name, inputs)
        if drafter is None:
            continue
        proposed = []
        for at in range(len(answer)):
            context = whole[: len(prompt) + at]
            buckets = tuple(islice(drafter.outlook(context, _unheard), LONGEST))
            draft = drafter.draft(context, len(buckets), sampler).tokens
            proposed.append(Proposal(buckets, n_common(draft, answer[at:])))
        found[name] = tuple(proposed)
    return found


def trees(prompt: Tokens, answer: Sequence[int], inputs: DrafterInputs) -> tuple[Grown, ...]:
    """The ways that the tree drafter would have found, for each position."""
    drafter = TreeDrafter(inputs)
    whole = np.array([*prompt, *answer], np.int32)
    grown = []
    for at in range(len(answer)):
        ways = drafter.ways(whole[: len(prompt) + at], _unheard)
        accepted = tuple(n_common(way.tokens, answer[at:]) for way in ways)
        grown.append(Grown(tuple(replace(way, tokens=()) for way in ways), accepted))
    return tuple(grown)


def _built(name: str, inputs: DrafterInputs) -> Free | None:
    """The drafter, if it costs no pass and needs nothing but the text and an index."""
    if name == LookaheadDrafter.name:
        return LookaheadDrafter(inputs, from_text=True)
    if not hasattr(find(name), "outlook"):
        return None
    try:
        drafter = create(name, inputs)
    except UsageError:
        return None
    return drafter if isinstance(drafter, Free) else None


class _Walk:
    """One answer of the target, with its draft model beside it."""

    def __init__(self, rig: Rig, temperature: float, inputs: DrafterInputs) -> None:
        self._rig = rig
        self._copies = Copies(inputs) if rig.draft is not None else None
        self._translation = rig.translation
        shaping = Sampling(temperature=temperature, seed=_SEED)
        self._sampler = RequestSampler(shaping, rig.target.n_vocab)
        self._coin = np.random.default_rng(_SEED)

    def answer(self, prompt: Tokens, n_most: int) -> tuple[list[int], dict[str, PaidTrace]]:
        """The answer, and what the draft model would have drafted."""
        context, rig = prompt, self._rig
        accepted: list[bool] = []
        confidence: list[float] = []
        astray: dict[int, tuple[float, ...]] = {}
        while len(context) < len(prompt) + n_most:
            p = self._sampler.dist(rig.target.forward(context, n_logits=1)[0], context)
            token = self._sampler.draw(p, len(context))
            if self._copies is not None:
                drafted = self._drafted(context)
                is_right = drafted is not None and self._is_accepted(p, drafted.q, token)
                said = token
                if drafted is not None and not is_right:
                    said = self._refused(p, drafted.q)
                self._copies.compare(context, drafted, said)  # before its row is overwritten
                if drafted is not None and not is_right:
                    astray[len(accepted)] = self._astray(context, said)
                confidence.append(0.0 if drafted is None else drafted.confidence)
                accepted.append(is_right)
            context = np.append(context, np.int32(token))
            if rig.is_eog(token):
                break
        answer = context[len(prompt) :].tolist()
        if self._copies is None:
            return answer, {}
        backing = self._copies.backing
        paid = PaidTrace(tuple(accepted), tuple(confidence), astray, backing)
        return answer, {ModelDrafter.name: paid}

    def _drafted(self, context: Tokens) -> Said | None:
        """What the draft model says next, and how sure it is; None within a character.

        It sees what fits its own context.
        """
        draft, translation = self._rig.draft, self._translation
        assert draft is not None, "a draft model was loaded"
        if not translation.is_whole(context):
            return None
        read = translation.context(context)[-draft.n_ctx :]
        row = translation.row(draft.forward(read, n_logits=1)[0])
        q = self._sampler.dist(row, context)
        return Said(row, q, round(top_probability(row, q), 3))

    def _is_accepted(self, p: Dist, q: Dist, token: int) -> bool:
        """Whether the draft's token would have been accepted, given that `token` was emitted."""
        if len(q.ids) == 1:
            return int(q.ids[0]) == token
        return bool(self._coin.random() * p.prob(token) < q.prob(token))

    def _refused(self, p: Dist, q: Dist) -> int:
        """The token that was refused: drawn from what q has beyond p."""
        beyond = np.maximum(q.probs - p.probs_of(q.ids), 0)
        if len(q.ids) == 1 or beyond.sum() == 0:
            return int(q.ids[0])
        return Dist(q.ids, beyond / beyond.sum()).draw(self._coin.random())

    def _astray(self, context: Tokens, token: int) -> tuple[float, ...]:
        """How sure the draft model would have been of the tokens behind a refused one."""
        sure: list[float] = []
        for _ in range(_ASTRAY):
            if self._rig.is_eog(token):
                break
            context = np.append(context, np.int32(token))
            drafted = self._drafted(context)
            if drafted is None:
                break
            sure.append(drafted.confidence)
            token = self._sampler.draw_draft(drafted.q, len(context))
        return tuple(sure)


def _unheard(bucket: int, is_hit: bool) -> None:
    """Nothing is learned."""
