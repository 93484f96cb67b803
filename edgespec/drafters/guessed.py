"""A draft model's own passes: for one token each, or over what is guessed to come.

A guess is never drafted: the draft model draws every token from its own distribution, as without
guesses, and where the guess was the same, the next row is there already. So a cascade's drafts are
the draft model's, token for token and number for number of the random streams; what the guesses
come from, and how long they are, changes only how many passes the draft takes. (Where lengths are
steered, a draft may go further: a row that is there costs nothing to look at.)

Source: staged speculation (Spector & Re 2023, arXiv 2308.04623), with matching as the inner rule.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

import numpy as np

from edgespec.core import Constraint, Controller, Drafter, Row, Sampler, Session, Tokens
from edgespec.drafters.asked import drafted
from edgespec.drafters.echo import Echo
from edgespec.drafters.guessing import Guessing
from edgespec.drafters.translation import Translation
from edgespec.events import Step

_NOTHING = -1
"""In place of a token where a row was looked at and none drawn."""


@dataclass(frozen=True, slots=True)
class Tier:
    """What guesses for a draft model, within one request."""

    drafters: Mapping[str, Drafter]
    controller: Controller
    """Of the draft model's passes, as another one is of the target's."""


@dataclass(slots=True)
class Tally:
    """Of a draft model's passes, since it was loaded."""

    by_rows: Counter[int] = field(default_factory=Counter)
    """Passes by their rows."""
    tokens: int = 0
    """Rows that were looked at: as many passes as there would have been."""

    @property
    def passes(self) -> int:
        """All of them; for any thread, as copying is one operation."""
        return sum(dict(self.by_rows).values())

    @property
    def rows(self) -> int:
        """Of all passes; for any thread."""
        return sum(n * passes for n, passes in dict(self.by_rows).items())


@dataclass(slots=True)
class _Pass:
    """The latest one: a row after what was drawn, and one after each guess."""

    rows: "Rows"
    guesses: tuple[int, ...]
    drafter: str
    """Whose guesses they are."""
    context: int
    guessed_s: float
    passed_s: float
    used: int = 1
    is_right: bool = True
    """What was drawn is what was guessed, so far."""
    last: int = _NOTHING

    @property
    def step(self) -> Step:
        """What became of it, as a controller reads it."""
        n_right = self.used - 1
        return Step(
            drafter=self.drafter,
            draft=self.guesses,
            tokens=(*self.guesses[:n_right], self.last),
            accepted=n_right,
            discarded=0,
            rows=self.rows.n_decoded,
            draft_s=self.guessed_s,
            target_s=self.passed_s,
            verify_s=0.0,
            step_s=self.guessed_s + self.passed_s,
            context=self.context,
        )


class Rows(Protocol):
    """Of one pass."""

    @property
    def n_decoded(self) -> int:
        """Tokens that were really decoded."""
        ...

    def __getitem__(self, i: int) -> Row: ...


class Guessed:
    """Passes over guesses, as many as the tier's controller finds worth their rows."""

    def __init__(
        self, session: Session, translation: Translation, under: Callable[[], Tier]
    ) -> None:
        """`under` makes a request's tier."""
        self.tally = Tally()
        self._session = session
        self._translation = translation
        self._under = under
        self._sampler: Sampler | None = None
        self._guessing: Guessing | None = None
        self._tier: Tier | None = None
        self._echoes: tuple[Echo, ...] = ()
        self._pass: _Pass | None = None

    @property
    def is_there(self) -> bool:
        """Whether the last token was guessed, so that what follows it was computed with it."""
        made = self._pass
        return made is not None and made.is_right and made.used <= len(made.guesses)

    def begin(self, context: Tokens, sampler: Sampler) -> None:
        """A sampler stands for its request, which has a tier of its own."""
        if sampler is not self._sampler:
            self._sampler, self._guessing = sampler, Guessing(sampler)
            self._tier = self._under()
            self._echoes = tuple(d for d in self._tier.drafters.values() if isinstance(d, Echo))
            for echo in self._echoes:
                echo.forget()
        self._pass = None
        for echo in self._echoes:
            echo.begin(context)

    def row(self, read: Tokens, context: Tokens, most: int, constraint: Constraint | None) -> Row:
        """See `Passes`."""
        if self._pass is not None and self._pass.last != _NOTHING:
            self._hear(self._pass.last, is_useful=True)
        if self.is_there:
            made = self._pass
            assert made is not None
            made.used += 1
        else:
            self._settle()
            self._pass = made = self._made(read, context, most, constraint)
        self.tally.tokens += 1
        made.last = _NOTHING
        return made.rows[made.used - 1]

    def drew(self, token: int) -> None:
        """See `Passes`."""
        made = self._pass
        assert made is not None, "a token without a row"
        made.last = token
        at = made.used - 1
        made.is_right = made.is_right and at < len(made.guesses) and made.guesses[at] == token

    def end(self, *, is_full: bool) -> None:
        """See `Passes`; a guess of what no row was wanted behind was of no use."""
        made = self._pass
        if made is not None and made.last != _NOTHING and not is_full:
            self._hear(made.last, is_useful=False)
        self._settle()

    def _made(
        self, read: Tokens, context: Tokens, most: int, constraint: Constraint | None
    ) -> _Pass:
        """A pass over `read` and what is guessed to follow."""
        tier, guessing, session = self._tier, self._guessing, self._session
        assert tier is not None, "a row before `begin`"
        assert guessing is not None, "a row before `begin`"
        began_s = perf_counter()
        budget = min(most, session.max_logits, session.n_ctx - len(read) + 1) - 1
        choice = tier.controller.choose(context, budget)
        guessing.constraint = constraint
        draft = drafted(tier.drafters[choice.drafter], choice, context, guessing)
        own = self._own(draft.tokens)
        guessed_s = perf_counter()
        tokens = np.concatenate((read, np.array(own, np.int32))) if own else read
        rows = session.forward(tokens, n_logits=len(own) + 1)
        passed_s = perf_counter()
        self.tally.by_rows[len(own) + 1] += 1
        return _Pass(
            rows,
            draft.tokens[: len(own)],
            choice.drafter,
            len(context),
            guessed_s - began_s,
            passed_s - guessed_s,
        )

    def _own(self, tokens: tuple[int, ...]) -> list[int]:
        """The draft model's own tokens for guesses, up to the first that it lacks."""
        found = []
        for token in tokens:
            own = self._translation.token(token)
            if own is None:
                break
            found.append(own)
        return found

    def _hear(self, token: int, *, is_useful: bool) -> None:
        for echo in self._echoes:
            echo.drew(token, is_useful=is_useful)

    def _settle(self) -> None:
        """Tell the controller what became of the latest pass."""
        made, self._pass = self._pass, None
        if made is not None:
            assert self._tier is not None
            self._tier.controller.observe(made.step)
