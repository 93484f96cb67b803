"""A running answer as its consumers see it: an iterator of events, sync or async."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from queue import SimpleQueue
from typing import NoReturn, get_args

from edgespec.api.answer import Answer
from edgespec.api.owner import Owner, refuse_copy
from edgespec.errors import UsageError
from edgespec.events import Done, DraftMode, Event, Stats

Item = Event | BaseException | None
"""What the engine thread sends: an event, an error to raise, or None at the end."""


Job = Callable[[], None]
Submit = Callable[[Job, Job], None]
"""Takes the job of the engine thread, and what follows once that thread is free again."""


class AnswerStream:
    """Implements `types.Stream`. The engine works ahead of its consumer."""

    def __init__(self, answer: Answer, submit: Submit) -> None:
        self._answer = answer
        self._owner = Owner()
        self._items: SimpleQueue[Item] = SimpleQueue()
        self._is_over = threading.Event()
        # The engine holds answer and queue, not this stream: dropped, it can cancel.
        submit(partial(_run, answer, self._items.put), partial(_end, self._is_over, self._items))

    def __del__(self) -> None:
        if hasattr(self, "_is_over") and not self._is_over.is_set() and self._owner.is_here:
            self._answer.cancel()

    def __reduce__(self) -> NoReturn:
        refuse_copy(self)

    def __iter__(self) -> Iterator[Event]:
        """The events; breaking off cancels. Raises what went wrong, where it is iterated."""
        try:
            while (item := self._next()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
            self._items.put(None)  # a second iteration ends at once
        finally:
            self.close()

    def _next(self) -> Item:
        self._owner.check()
        return self._items.get()

    def __enter__(self) -> "AnswerStream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def cancel(self) -> None:
        """Stop within one step, or at once while it waits; any thread; idempotent."""
        if not self._owner.is_here:
            return  # the answer is another process's
        if self._answer.withdraw():
            self._items.put(Done(self.stats))
            _end(self._is_over, self._items)
        else:
            self._answer.cancel()

    def draft(self, mode: DraftMode) -> None:
        """As `types.Stream.draft`."""
        self._answer.draft(_known(mode))

    def close(self) -> None:
        """Cancel, and wait until the engine has let go; idempotent."""
        if not self._is_over.is_set() and self._owner.is_here:
            self.cancel()
            self._is_over.wait()

    @property
    def stats(self) -> Stats:
        """Statistics so far; final after the end, a cancel or a break."""
        return self._answer.stats


def _known(mode: DraftMode) -> DraftMode:
    if mode not in get_args(DraftMode):
        raise UsageError(f"{mode!r} is no way of drafting", hint="one of: auto, on, off")
    return mode


def _run(answer: Answer, put: Callable[[Item], None]) -> None:
    try:
        answer.run(put)
    except BaseException as error:
        put(error)


def _end(is_over: threading.Event, items: SimpleQueue[Item]) -> None:
    is_over.set()
    items.put(None)


class AsyncAnswerStream:
    """The same for asyncio: `async for`, `async with`; the event loop never blocks."""

    def __init__(self, answer: Answer, submit: Submit) -> None:
        self._answer = answer
        self._owner = Owner()
        self._mailbox = mailbox = _Mailbox(give_up=answer.cancel)
        # The engine holds answer and mailbox, not this stream: dropped, it can cancel.
        submit(partial(_run, answer, mailbox.put), partial(mailbox.put, None))

    def __del__(self) -> None:
        mailbox = getattr(self, "_mailbox", None)
        if mailbox is not None and not mailbox.is_over.is_set() and self._owner.is_here:
            self._answer.cancel()

    async def __aiter__(self) -> AsyncIterator[Event]:
        """The events; breaking off and cancelling the task cancel the answer."""
        try:
            while (item := await self._next()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
            self._mailbox.items.put_nowait(None)
        finally:
            await self.aclose()

    async def _next(self) -> Item:
        self._owner.check()
        return await self._mailbox.items.get()

    def __reduce__(self) -> NoReturn:
        refuse_copy(self)

    async def __aenter__(self) -> "AsyncAnswerStream":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def cancel(self) -> None:
        """Stop within one step, or at once while it waits; any thread; idempotent."""
        if not self._owner.is_here:
            return  # the answer is another process's
        if self._answer.withdraw():
            self._mailbox.put(Done(self.stats))
            self._mailbox.put(None)
        else:
            self._answer.cancel()

    def draft(self, mode: DraftMode) -> None:
        """As `types.Stream.draft`."""
        self._answer.draft(_known(mode))

    async def aclose(self) -> None:
        """Cancel, and wait until the engine has let go; idempotent."""
        if not self._mailbox.is_over.is_set() and self._owner.is_here:
            self.cancel()
            await self._mailbox.is_over.wait()

    @property
    def stats(self) -> Stats:
        """Statistics so far; final after the end, a cancel or a break."""
        return self._answer.stats


class _Mailbox:
    """Brings what the engine thread sends to the event loop that it was made on."""

    def __init__(self, give_up: Callable[[], None]) -> None:
        import asyncio  # 3 MB and 40 ms that only its users pay

        self.items: asyncio.Queue[Item] = asyncio.Queue()
        self.is_over = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._give_up = give_up

    def put(self, item: Item) -> None:
        """Send from any thread; None at the end."""
        try:
            self._loop.call_soon_threadsafe(self._receive, item)
        except RuntimeError:  # the loop was closed: nobody will ever hear the rest
            self._give_up()

    def _receive(self, item: Item) -> None:
        if item is None:
            self.is_over.set()
        self.items.put_nowait(item)
