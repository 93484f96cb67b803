"""What a draft model reads of a context, and since when it may draft.

Where drafts must follow from the request alone (the same seed, the same text, whatever is
resident), where the window begins and in which step the model has read it is decided by lengths;
what is resident only makes that cheaper. The price is that a long context is drafted for some steps
later than its cache would allow: where costs are measured, lengths follow from times anyway, and
what is resident counts as read.
Knows no tokens' meaning and no sampling.
"""

import numpy as np

from edgespec.core import Session, Tokens

WINDOW = 512
"""Least tokens read of a longer context; at most twice as many. With Qwen2.5-Coder-0.5B for 1.5B
on a code edit with an 833-token prompt, 64, 128, 256, 512 and all tokens give 0.67, 0.75, 0.92,
0.90, 0.96 of the greedy tokens; on summaries and fixes 256 of 362 lose 0.05 to 0.16."""
SLICE = 128
"""Most tokens read in one step: a longer way is spread over steps that draft nothing, so that
an answer starts at once and a cancelled one ends soon."""


class Reading:
    """The first token and a window up to the context's end, read slice by slice.

    With each request, the window begins at a multiple of its least length, so that the next turn
    of a conversation mostly finds it resident; then it grows with the answer. It begins anew when
    the draft model's context is full or too much came at once.
    """

    def __init__(self, session: Session, *, counts_resident: bool = False) -> None:
        self._session = session
        self._counts_resident = counts_resident
        self._window = max(1, min(WINDOW, session.n_ctx // 3))
        self._start = 0
        self._n_read = 0
        """Tokens that count as read, resident or not."""
        self._is_caught_up = False

    def begin(self, context: Tokens) -> None:
        """A request with this context: nothing of it counts as read, or what is resident."""
        self._start = max(0, (len(context) // self._window - 1) * self._window)
        self._n_read = 0
        if self._counts_resident:
            self._n_read = self._session.resident_prefix(_from(context, self._start))
        self._is_caught_up = False

    def back(self, context: Tokens) -> None:
        """The same request's context, cut and continued otherwise."""
        if len(context) <= self._start:
            self.begin(context)
        else:
            kept = self._session.resident_prefix(_from(context, self._start))
            self._n_read = min(self._n_read, kept)

    def unread(self, context: Tokens) -> int:
        """Tokens to be read before `context` can be drafted after, its last one aside."""
        n = len(context) - max(self._start, 1) - self._n_read
        return min(max(0, n), 2 * self._window)  # more at once begins the window anew

    def read(self, context: Tokens, n_tokens: int) -> None:
        """Read at most `n_tokens` more. Raises: `EngineError`."""
        read = self._window_of(context, 0)
        end = min(self._n_read + n_tokens, len(read) - 1)
        if end > self._n_read:
            if self._session.resident_prefix(read) < end:
                self._session.forward(read[:end], n_logits=0)
            self._n_read = end

    def step(self, context: Tokens, k: int) -> Tokens | None:
        """What to draft up to k tokens after, which is resident but for its end.

        None: it is not all read yet; a slice was. Raises: `EngineError`.
        """
        read = self._window_of(context, k)
        if len(read) - self._n_read > SLICE:
            self._is_caught_up = False
        if not self._is_caught_up:
            # Like a prompt's, the last token is read by itself: its row is then the same, to the
            # last bit, where the others are resident already.
            last = len(read) - 1
            end = min(self._n_read + SLICE, last)
            if self._session.resident_prefix(read) < end:
                self._session.forward(read[:end], n_logits=0)
            self._n_read = end
            if end < last:
                return None
            self._is_caught_up = True
        self._n_read = len(read)
        return read

    def _window_of(self, context: Tokens, k: int) -> Tokens:
        """What is to be read, with room for k tokens; the window begins anew where it must."""
        read = _from(context, self._start)
        is_far = len(read) - self._n_read > 2 * self._window
        if is_far or len(read) + min(k, self._window) > self._session.n_ctx:
            self.begin(context)
            read = _from(context, self._start)
        return read


def _from(context: Tokens, start: int) -> Tokens:
    """The window from `start` on, behind the first token: many models need their BOS."""
    return context if start <= 1 else np.concatenate((context[:1], context[start:]))
