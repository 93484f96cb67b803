"""From a prompt and options to an answer ready to run: all that can be refused is refused here.

Runs on the caller's thread, under the model's reading lock; decodes nothing.
"""

from collections.abc import Sequence

import numpy as np

from edgespec.api.answer import Answer, Engine
from edgespec.api.types import Message, Options, Prompt
from edgespec.core import Constraint
from edgespec.engine.grammar import Grammars
from edgespec.engine.json_schema import gbnf_of_schema
from edgespec.errors import ContextOverflow, UsageError
from edgespec.sampling.sampler import RequestSampler
from edgespec.text.after_reasoning import AfterReasoning
from edgespec.text.answer import AnswerText
from edgespec.text.prompt import PromptTokens, prompt_tokens, raw_tokens
from edgespec.text.template import ChatTemplate


class Preparer:
    """Makes answers for one loaded model."""

    def __init__(
        self, engine: Engine, template: ChatTemplate, note: str, *, n_ctx_train: int
    ) -> None:
        """`note`: why the drafter asked for at loading is not in force; empty when it is.

        `n_ctx_train`: the longest context that the model knows; 0: not said.
        """
        self._engine = engine
        self._template = template
        self._note = note
        self._n_ctx_train = n_ctx_train
        self._grammars = Grammars(engine.vocab.handle)

    def answer(self, prompt: Prompt, options: Options) -> Answer:
        """An answer to run once. Raises: `UsageError`, `ContextOverflow`."""
        options.check()
        read = self.prompt_tokens(prompt, options)
        constraint = self._constraint(options, read)
        n_ctx = self._engine.target.n_ctx
        if len(read.tokens) >= n_ctx:
            raise ContextOverflow(len(read.tokens), n_ctx, hint=self._longer(n_ctx))
        drafting = self._engine.drafting
        drafter, controller, log = drafting.controller(
            options.drafter, options.draft_len, options.max_tokens
        )
        stops = (*options.stop, *(() if options.raw else self._template.stops))
        return Answer(
            self._engine,
            np.array(read.tokens, np.int32),
            options,
            RequestSampler(options.sampling, self._engine.target.n_vocab, constraint),
            drafter=drafter,
            drafter_note=self._note if drafter == drafting.drafter else "",
            controller=controller,
            log=log,
            text=AnswerText(
                self._engine.vocab,
                stops,
                opens_reasoning=read.opens_reasoning,
                is_raw=options.raw,
            ),
        )

    def prompt_tokens(self, prompt: Prompt, options: Options) -> PromptTokens:
        """The prompt as the target reads it. Raises: `UsageError`."""
        vocab = self._engine.vocab
        if options.raw:
            if not isinstance(prompt, str):
                raise UsageError(
                    "a raw prompt is one text, not messages", hint="leave out raw=True for a chat"
                )
            return PromptTokens(raw_tokens(vocab, prompt), opens_reasoning=False)
        messages: Sequence[Message] = (
            (Message(role="user", content=prompt),) if isinstance(prompt, str) else prompt
        )
        return prompt_tokens(self._template, vocab, messages, options.think, self._engine.memory)

    def _longer(self, n_ctx: int) -> str:
        """What to do about a prompt that is longer than the context."""
        most = self._n_ctx_train
        if most and most <= n_ctx:
            return f"shorten the prompt: this model was trained for {most:,} tokens"
        return "shorten the prompt, or load with a larger --ctx" + (
            f", up to {most}" if most else ""
        )

    def _constraint(self, options: Options, read: PromptTokens) -> Constraint | None:
        gbnf = options.grammar
        if options.json_schema is not None:
            gbnf = gbnf_of_schema(options.json_schema)
        if gbnf is None:
            return None
        grammar = self._grammars.start(gbnf)
        if not read.opens_reasoning:
            return grammar
        first = self._grammars.vocabulary.first
        return AfterReasoning(self._engine.vocab, self._grammars.is_end, first, grammar)
