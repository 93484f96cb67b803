"""The loop: a drafter proposes, the target checks all of it in one pass, exact rules decide.

Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1, with the drafter chosen anew at every step.
Knows sessions, drafters and a sampler by their Protocols; nothing of text, files or llama.cpp.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter

from edgespec.context import Context
from edgespec.core import (
    Controller,
    Draft,
    Drafter,
    LearnsFromTarget,
    Sampler,
    Session,
    Tokens,
    Verdict,
)
from edgespec.decode_law import TargetLaw, legal
from edgespec.drafters.asked import drafted
from edgespec.events import FinishReason, Source, Step, sources
from edgespec.logprobs import logprobs
from edgespec.verify import verify
from edgespec.verify_tree import verify_tree


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be continued, how it is sampled, and when it ends."""

    prompt: Tokens
    sampler: Sampler
    max_tokens: int | None
    ends: Callable[[int, Source], bool]
    """Hears every committed token once, in order; True: it ends the answer."""
    is_eog: Callable[[int], bool]
    is_cancelled: Callable[[], bool]
    n_logprobs: int | None = None
    """Rivals to report with each token's log-probability; None: report none."""
    hear_odds: Callable[[tuple[float, ...]], None] = lambda odds: None
    """Hears before each step's tokens how likely the drafter found those of the trunk; nothing of
    a draft without distributions."""


def prefill(target: Session, request: Request, n_chunk: int) -> Iterator[int]:
    """Read the prompt but for its last token, in chunks; yields how many tokens are resident."""
    prompt = request.prompt[:-1]
    done = target.resident_prefix(prompt)
    while done < len(prompt) and not request.is_cancelled():
        done = min(done + n_chunk, len(prompt))
        target.forward(prompt[:done], n_logits=0)
        yield done


def speculate(
    target: Session,
    drafters: Mapping[str, Drafter],
    controller: Controller,
    request: Request,
) -> Generator[Step, None, FinishReason]:
    """Yield steps whose tokens are distributed exactly as sampling from `target` alone.

    The prompt's tokens but the last should be resident (`prefill`). Returns why it ended.
    Raises: `Interrupted`; what was yielded stands.
    """
    sampler = request.sampler
    # Asked once: a check against a Protocol takes as long as a step's other bookkeeping.
    learners = {name: d for name, d in drafters.items() if isinstance(d, LearnsFromTarget)}
    context = Context(request.prompt, target.n_ctx)
    end = target.n_ctx
    if request.max_tokens is not None:
        end = min(end, len(context) + request.max_tokens)

    while len(context) < end and not context.is_ended and not request.is_cancelled():
        began_s = perf_counter()
        committed, n = context.tokens, len(context)
        budget = min(end - n, target.max_logits) - 1  # one token is always the target's own
        choice = controller.choose(committed, budget)
        drafter = drafters[choice.drafter]
        proposed = drafted(drafter, choice, committed, sampler)
        draft = legal(proposed, sampler.constraint, n)
        drafted_s = perf_counter()

        tokens = context.followed_by(draft.tokens)
        logits = target.forward(tokens, n_logits=len(draft) + 1, branches=draft.branches)
        decoded_s = perf_counter()

        p = TargetLaw(logits, draft, tokens, n, sampler)
        judge = verify_tree if draft.branches else verify
        verdict = judge(draft, p, sampler, position=n)
        path = draft.along(verdict.branch, n)
        verified_s = perf_counter()

        request.hear_odds(_odds(draft, verdict))
        origins = sources(len(path), verdict.accepted)
        emitted = context.commit(verdict.tokens, origins, request.ends)
        for token in emitted:
            if not request.is_eog(token):
                sampler.commit(token)
        asked = request.n_logprobs
        told = () if asked is None else logprobs(p.rows(verdict.branch), emitted, asked)
        is_whole = draft.n_nodes == proposed.n_nodes
        if is_whole and choice.drafter in learners:
            # Last: what a stranger does to the rows changes nothing.
            learners[choice.drafter].learn(context.tokens, logits)
        accepted = min(verdict.accepted, len(emitted))
        step = Step(
            drafter=drafter.name,
            draft=path,
            tokens=emitted,
            accepted=accepted,
            discarded=verdict.accepted - accepted,
            rows=logits.n_decoded,
            draft_s=drafted_s - began_s,
            target_s=decoded_s - drafted_s,
            verify_s=verified_s - decoded_s,
            step_s=perf_counter() - began_s,
            context=n,
            match=draft.match,
            logprobs=told,
        )
        controller.observe(step)
        yield step

    return _reason(context, request, end)


def _odds(draft: Draft, verdict: Verdict) -> tuple[float, ...]:
    """Of a branch there are none: its first q lacks what was drawn beside it."""
    if verdict.branch is not None or not draft.dists:
        return ()
    return tuple(q.prob(token) for q, token in zip(draft.dists, draft.tokens, strict=False))


def _reason(context: Context, request: Request, end: int) -> FinishReason:
    if context.is_ended:
        return "stop"
    if len(context) < end:
        return "cancelled"
    n_asked = request.max_tokens
    is_full = n_asked is None or len(context) - len(request.prompt) < n_asked
    return "context_full" if is_full else "length"
