"""Plain decoding, written anew: a cache that never goes back, one row and one draw per token."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgespec.api.types import Options
from edgespec.core import Constraint, Row, Tokens
from edgespec.engine.context import ContextOptions
from edgespec.engine.grammar import Grammars
from edgespec.engine.json_schema import gbnf_of_schema
from edgespec.engine.model import Model
from edgespec.errors import EngineError
from edgespec.sampling import RequestSampler
from edgespec.text.answer import AnswerText

_NOISE, _NOISE_PER_TOKEN = 0.03, 5e-5
"""Of a logit: what a row may differ by between one pass and another (their deviation is 3)."""
_TRIES = 300


@dataclass(frozen=True)
class Said:
    """An answer, or where it failed."""

    tokens: tuple[int, ...]
    text: str
    reason: str


class Plain:
    """The reference for one model; `close` frees its cache."""

    def __init__(self, model: Model, n_ctx: int, n_batch: int) -> None:
        options = ContextOptions(n_ctx, n_batch, max_logits=1, n_threads=1)
        self._session = model.new_session(options, rollback="replay")
        self._vocab = model.vocab
        self._grammars = Grammars(model.vocab.handle)

    def close(self) -> None:
        self._session.close()

    def constraint(self, options: Options) -> Constraint | None:
        """The grammar's state before the answer."""
        if options.json_schema is not None:
            return self._grammars.start(gbnf_of_schema(options.json_schema))
        return None if options.grammar is None else self._grammars.start(options.grammar)

    def says(self, prompt: Sequence[int], options: Options, text: AnswerText) -> Said:
        """The answer to `prompt`."""
        vocab, n_ctx = self._vocab, self._session.n_ctx
        sampler = RequestSampler(options.sampling, self._session.n_vocab, self.constraint(options))
        said: list[int] = []
        context = np.array(prompt, np.int32)
        most = options.max_tokens
        self._session.retain(np.empty(0, np.int32))
        if len(context) > 1:
            self._session.forward(context[:-1], n_logits=0)
        reason = ""
        while not reason:
            if most is not None and len(said) >= most:
                reason = "length"
            elif len(context) >= n_ctx:
                reason = "context_full"
            else:
                row = self._session.forward(context, n_logits=1)[0]
                try:
                    dist = sampler.dist(row, context, sampler.constraint)
                except EngineError:
                    return Said(tuple(said), text.text, "error")
                token = sampler.draw(dist, len(context))
                context = np.append(context, np.int32(token))
                said.append(token)
                text.feed(token, "plain")
                if vocab.is_eog(token) or text.is_stopped:
                    reason = "stop"
                else:
                    sampler.commit(token)
        text.finish()
        if text.is_stopped:
            reason = "stop"
        return Said(tuple(said), text.text, reason)

    def row(self, tokens: Tokens) -> Row:
        """The row after a sequence, read from nothing."""
        self._session.retain(np.empty(0, np.int32))
        return self._session.forward(tokens, n_logits=1)[0].copy()

    def may_say(
        self, prompt: Sequence[int], answer: Sequence[int], options: Options, *, is_drawn: bool
    ) -> bool:
        """Whether the last token of `answer` is one that plain decoding may say after the others,
        were its logits a little different. `is_drawn`: with its own random numbers."""
        *before, last = answer
        context = np.array([*prompt, *before], np.int32)
        row, noise = self.row(context), _NOISE + _NOISE_PER_TOKEN * len(context)
        rng = np.random.default_rng(0)
        for _ in range(_TRIES):
            sampler = RequestSampler(
                options.sampling, self._session.n_vocab, self.constraint(options)
            )
            for token in before:
                sampler.commit(token)
            noisy = row + rng.normal(0, noise, len(row)).astype(np.float32)
            dist = sampler.dist(noisy, context, sampler.constraint)
            if not is_drawn:
                if dist.prob(last) > 0:
                    return True
                continue
            if not options.sampling.reproducible:
                for at in range(len(before)):
                    sampler.draw(dist, len(prompt) + at)
            if sampler.draw(dist, len(context)) == last:
                return True
        return False
