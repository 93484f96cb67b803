"""A draft model's own passes, one row at a time: the seam where guesses come in (see `guessed`)."""

from typing import Protocol

from edgespec.core import Constraint, Row, Sampler, Session, Tokens


class Passes(Protocol):
    """Rows of a draft model, one after the other; `begin`, then `row` and `drew` in turn."""

    @property
    def is_there(self) -> bool:
        """Whether the next row costs no pass."""
        ...

    def begin(self, context: Tokens, sampler: Sampler) -> None:
        """A draft begins after this committed context."""
        ...

    def row(self, read: Tokens, context: Tokens, most: int, constraint: Constraint | None) -> Row:
        """Logits after `read`, which is `context` in the model's own tokens.

        `most`: tokens that may be drafted yet, this one included. Valid until the next.
        Raises: `EngineError`.
        """
        ...

    def drew(self, token: int) -> None:
        """The token that was drawn from the latest row."""
        ...

    def end(self, *, is_full: bool) -> None:
        """The draft ended; `is_full`: for its length alone."""
        ...


class OneByOne:
    """A pass for each token."""

    is_there = False

    def __init__(self, session: Session) -> None:
        self._session = session

    def begin(self, context: Tokens, sampler: Sampler) -> None:
        """See `Passes`."""

    def row(self, read: Tokens, context: Tokens, most: int, constraint: Constraint | None) -> Row:
        """See `Passes`."""
        return self._session.forward(read, n_logits=1)[0]

    def drew(self, token: int) -> None:
        """See `Passes`."""

    def end(self, *, is_full: bool) -> None:
        """See `Passes`."""
