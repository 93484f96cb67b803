"""One random request beside plain decoding, perhaps harmed first; what is wrong with it."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from edgespec.api.types import Message, Prompt
from edgespec.errors import ContextOverflow, EngineError
from edgespec.events import Delta, Done, Event, Round
from edgespec.text.answer import AnswerText
from tests.fuzz import checks
from tests.fuzz.asking import edited, options, words
from tests.fuzz.harms import HARMS, Harm, Injected, break_off
from tests.fuzz.plain import Said
from tests.fuzz.setups import Loaded

_GUESSED = ("none", "suffix", "tree", "lookahead", "index")


class Case:
    """One request, perhaps with a fault in its middle, and then again without."""

    def __init__(self, loaded: Loaded, rng: random.Random, counts: Counter[str]) -> None:
        self._loaded = loaded
        self._rng = rng
        self._counts = counts
        self._asked = options(rng, loaded.target.n_vocab, loaded.drafters)
        self._prompt = self._made_prompt()
        self._tokens: tuple[int, ...] = ()
        self.faults: list[str] = []

    def __str__(self) -> str:
        shaping = self._asked.sampling
        few = tuple(bias for bias in shaping.logit_bias if bias[0] > 258)
        asked = replace(self._asked, sampling=replace(shaping, logit_bias=few))
        return f"{self._prompt!r} {asked} bytes banned: {len(shaping.logit_bias) - len(few)}"

    def run(self) -> None:
        """Ask, compare, and let the chat go on."""
        loaded, rng, prompt, asked = self._loaded, self._rng, self._prompt, self._asked
        if loaded.model.count(prompt, asked) >= loaded.target.n_ctx:
            self._too_long()
            return
        self._tokens = tuple(loaded.model._prepare.prompt_tokens(prompt, asked).tokens)
        expected = loaded.plain.says(self._tokens, asked, self._text())
        loaded.chaos.truth = (*self._tokens, *expected.tokens)
        loaded.chaos.rng = random.Random(rng.random())
        loaded.encourage()
        if rng.random() < 0.4:
            self._harmed(rng.choice(HARMS), expected)
        self._sound(expected)
        if isinstance(prompt, list):
            loaded.chat = [*prompt, Message(role="assistant", content=expected.text)]

    def _made_prompt(self) -> Prompt:
        n_ctx = self._loaded.target.n_ctx
        if self._asked.raw:
            return words(self._rng, 2 if n_ctx < 64 else n_ctx // 20)
        return (
            words(self._rng, 1) if n_ctx < 64 else edited(self._loaded.chat, self._rng, n_ctx // 60)
        )

    def _text(self) -> AnswerText:
        template = () if self._asked.raw else self._loaded.model._template.stops
        return AnswerText(
            self._loaded.vocab, (*self._asked.stop, *template), is_raw=self._asked.raw
        )

    def _text_of(self, tokens: Sequence[int]) -> str:
        text = self._text()
        for token in tokens:
            text.feed(token, "plain")
        text.finish()
        return text.text

    def _too_long(self) -> None:
        self._loaded.chat = []
        try:
            self._loaded.model.complete(self._prompt, self._asked)
        except ContextOverflow:
            self._counts["overflow"] += 1
        else:
            self.faults.append("a prompt that fills the context was taken")

    def _harmed(self, how: Harm, expected: Said) -> None:
        """What was said before the fault must be right, and so must the caches be after it."""
        loaded, events = self._loaded, list[Event]()
        self._counts[how.__name__] += 1
        stream = loaded.model.chat(self._prompt, self._asked)
        try:
            with how(loaded, stream, self._rng):
                for event in stream:
                    events.append(event)
                    if how is break_off and self._rng.random() < 0.2:
                        break
        except (EngineError, Injected) as error:
            self._counts[f"told: {type(error).__name__}"] += 1
        stream.close()
        said, text = _said(events)
        rest = expected.tokens[len(said) :]  # what a step said that was not told any more
        if not self._is_exact:
            pass
        elif said != expected.tokens[: len(said)]:
            self._judge(said, expected)
        elif not any(text == self._text_of(said + rest) for rest in _beginnings(rest)):
            self.faults.append(f"harmed by {how.__name__}: {text!r} of {expected.text!r}")
        self.faults += checks.wrong_cache(loaded, self._rng)

    def _sound(self, expected: Said) -> None:
        loaded, asked = self._loaded, self._asked
        self._counts[f"by {asked.drafter}"] += 1
        events: list[Event] = []
        try:
            events += loaded.model.chat(self._prompt, asked)
        except EngineError as error:
            if expected.reason != "error":
                self.faults.append(f"failed: {error}")
            self._counts["failed as plain decoding does"] += 1
            return
        said, text = _said(events)
        steps = [event.step for event in events if isinstance(event, Round)]
        end = events[-1]
        assert isinstance(end, Done), events
        self._counts.update(
            tokens=len(said), drafted=end.stats.drafted, accepted=end.stats.accepted
        )
        if said == expected.tokens:
            self._counts["equal"] += 1
            if (text, end.stats.finish_reason) != (expected.text, expected.reason):
                self.faults.append(f"{text!r}, {end.stats.finish_reason} instead of {expected}")
        elif self._is_exact:
            self._judge(said, expected)
        else:
            self._counts["drawn otherwise"] += 1
            self.faults += checks.impossible_token(loaded, self._tokens, asked, said, self._rng)
        self.faults += checks.wrong_counts(loaded, asked, self._tokens, said, end.stats, steps)
        if asked.logprobs is not None:
            self.faults += checks.wrong_logprobs(loaded, self._tokens, said, steps, self._rng)
        if loaded.guarded.note:
            self.faults.append(loaded.guarded.note)
        self.faults += checks.wrong_cache(loaded, self._rng)

    @property
    def _is_exact(self) -> bool:
        """Whether the tokens must be plain decoding's, drawn by the same numbers."""
        shaping, drafter = self._asked.sampling, self._asked.drafter
        if shaping.temperature == 0 or shaping.reproducible or shaping.top_k == 1:
            return True
        has_model = self._loaded.setup.draft is not None
        return drafter in _GUESSED or (drafter != "chaos" and not has_model)

    def _judge(self, said: tuple[int, ...], expected: Said) -> None:
        wrong = checks.wrong_tokens(self._loaded, self._tokens, self._asked, said, expected)
        self.faults += [wrong] if wrong else []
        self._counts["near ties"] += not wrong


def _beginnings(tokens: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return (tokens[:n] for n in range(len(tokens) + 1))


def _said(events: Sequence[Event]) -> tuple[tuple[int, ...], str]:
    tokens = (t for event in events if isinstance(event, Round) for t in event.step.tokens)
    texts = (event.text for event in events if isinstance(event, Delta) and event.kind == "text")
    return tuple(tokens), "".join(texts)
