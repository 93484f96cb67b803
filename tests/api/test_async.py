"""The asyncio twins: the event loop never blocks, cancelled tasks free the engine."""

import asyncio
import gc
import threading
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import pytest

from edgespec.api.entry import aload
from edgespec.api.model import LoadedModel
from edgespec.errors import Busy, Closed, ContextOverflow
from edgespec.events import Event
from tests.api.answers import end_of, options, text_of
from tests.api.conftest import Gate

T = TypeVar("T")
_ENOUGH_S = 30.0


async def in_time(awaitable: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaitable, _ENOUGH_S)


async def ticks(n: int) -> int:
    """`n` turns of the event loop, 10 ms apart: ends only if nothing blocks it."""
    done = 0
    while done < n:
        await asyncio.sleep(0.01)
        done += 1
    return done


async def events_of(model: LoadedModel, prompt: str, n: int = 12) -> list[Event]:
    async with model.achat(prompt, options(n)) as stream:
        return [event async for event in stream]


def test_async_answer_equals_the_sync_one(pair: LoadedModel) -> None:
    expected = pair.complete("Hello", options(30))

    events = asyncio.run(in_time(events_of(pair, "Hello", 30)))
    reply = asyncio.run(in_time(pair.acomplete("Hello", options(30))))

    assert text_of(events) == reply.text == expected.text
    assert reply.tokens == expected.tokens
    assert end_of(events).finish_reason == "length"


def test_event_loop_ticks_while_the_engine_decodes(model: LoadedModel, gate: Gate) -> None:
    async def main() -> tuple[int, list[Event]]:
        gate.hold(at=4)
        answer = asyncio.create_task(events_of(model, "Hello"))
        await asyncio.to_thread(gate.wait)
        counted = await ticks(10)
        gate.release()
        return counted, await answer

    counted, events = asyncio.run(in_time(main()))

    assert counted == 10
    assert end_of(events).generated_tokens == 12


def test_event_loop_ticks_while_an_answer_waits_for_another(model: LoadedModel, gate: Gate) -> None:
    async def main() -> list[str]:
        gate.hold(at=4)
        tasks = [asyncio.create_task(events_of(model, prompt)) for prompt in ("One", "Two")]
        await asyncio.to_thread(gate.wait)
        await ticks(5)
        gate.release()
        return [text_of(await task) for task in tasks]

    texts = asyncio.run(in_time(main()))

    assert texts == [model.complete(prompt, options(12)).text for prompt in ("One", "Two")]


def test_cancelled_task_frees_the_engine(model: LoadedModel, gate: Gate) -> None:
    async def main() -> list[Event]:
        gate.hold(at=4)
        answer = asyncio.create_task(events_of(model, "Hello", 400))
        await asyncio.to_thread(gate.wait)
        answer.cancel()
        await ticks(3)  # it waits for the engine to let go, and the loop goes on
        gate.release()
        with pytest.raises(asyncio.CancelledError):
            await answer
        return await events_of(model, "Hello", 5)

    after = asyncio.run(in_time(main()))

    assert end_of(after).generated_tokens == 5
    assert text_of(after) == model.complete("Hello", options(5)).text


def test_cancelled_acomplete_frees_the_engine(model: LoadedModel, gate: Gate) -> None:
    async def main() -> int:
        gate.hold(at=4)
        answer = asyncio.create_task(model.acomplete("Hello", options(400)))
        await asyncio.to_thread(gate.wait)
        answer.cancel()
        gate.release()
        with pytest.raises(asyncio.CancelledError):
            await answer
        return (await model.acomplete("Hello", options(2))).stats.generated_tokens

    assert asyncio.run(in_time(main())) == 2


def test_break_cancels_the_answer_and_keeps_its_statistics(model: LoadedModel, gate: Gate) -> None:
    async def main() -> tuple[str | None, int]:
        gate.hold(at=3)
        stream = model.achat("Hello", options(400, drafter="none"))
        async for event in stream:
            if event.kind == "round":
                await asyncio.to_thread(gate.wait)  # else the cancel might come before the pass
                break
        closing = asyncio.create_task(stream.aclose())
        await ticks(2)
        gate.release()
        await closing
        return stream.stats.finish_reason, stream.stats.generated_tokens

    reason, n = asyncio.run(in_time(main()))

    assert (reason, n) == ("cancelled", 1)


def test_cancel_from_another_thread_ends_the_iteration(model: LoadedModel, gate: Gate) -> None:
    async def main() -> list[Event]:
        gate.hold(at=5)
        stream = model.achat("Hello", options(400, drafter="none"))
        await asyncio.to_thread(gate.wait)
        canceller = threading.Thread(target=stream.cancel)
        canceller.start()
        canceller.join()
        gate.release()
        return [event async for event in stream]

    events = asyncio.run(in_time(main()))

    assert end_of(events).finish_reason == "cancelled"
    assert end_of(events).generated_tokens == 3


def test_waiting_answer_is_cancelled_at_once(model: LoadedModel, gate: Gate) -> None:
    async def main() -> list[Event]:
        gate.hold(at=2)
        first = model.achat("Hello", options(5))
        await asyncio.to_thread(gate.wait)
        waiting = model.achat("Hello", options(5))
        waiting.cancel()
        events = [event async for event in waiting]  # while the first still holds the engine
        gate.release()
        await first.aclose()
        return events

    events = asyncio.run(in_time(main()))

    assert [event.kind for event in events] == ["done"]


def test_errors_are_raised_where_they_are_awaited(model: LoadedModel, gate: Gate) -> None:
    async def main() -> None:
        with pytest.raises(ContextOverflow):
            await model.acomplete("x" * 600)
        gate.hold(at=2)
        async with model.achat("Hello", options(300)):
            with pytest.raises(Busy):
                model.achat("Hello", wait=False)
            gate.release()

    asyncio.run(in_time(main()))


def test_answer_of_a_loop_that_is_gone_is_given_up(model: LoadedModel, gate: Gate) -> None:
    streams = []

    async def main() -> None:
        gate.hold(at=6)
        streams.append(model.achat("Hello", options(400)))
        await asyncio.to_thread(gate.wait)

    asyncio.run(in_time(main()))
    before = gate.n_passes
    gate.release()

    reply = model.complete("Hello", options(3, drafter="none"))

    assert reply.stats.generated_tokens == 3
    assert gate.n_passes - before < 12  # not the other 390


def test_stream_that_nobody_holds_stops_the_engine(model: LoadedModel, gate: Gate) -> None:
    async def main() -> int:
        gate.hold(at=4)
        stream = model.achat("Hello", options(400))
        await asyncio.to_thread(gate.wait)
        del stream
        gc.collect()
        gate.release()
        return (await model.acomplete("Hello", options(1))).stats.generated_tokens

    assert asyncio.run(in_time(main())) == 1
    assert gate.n_passes < 100


def test_model_loads_without_blocking_the_loop(files: dict[str, Path]) -> None:
    async def main() -> str:
        model = await aload(files["llama"], n_threads=1)
        try:
            return (await model.acomplete("Hello", options(5))).text
        finally:
            await asyncio.to_thread(model.close)

    assert asyncio.run(in_time(main()))


def test_model_is_closed_while_the_loop_goes_on(files: dict[str, Path], gate: Gate) -> None:
    async def main() -> tuple[list[Event], int]:
        async with await aload(files["llama"], n_threads=1, measure=False) as model:
            gate.hold(at=4)
            answer = asyncio.create_task(events_of(model, "Hello", 400))
            await asyncio.to_thread(gate.wait)
            closing = asyncio.create_task(model.aclose())
            counted = await ticks(10)
            gate.release()
            await closing
        with pytest.raises(Closed):
            model.achat("Hello")
        return await answer, counted

    events, counted = asyncio.run(in_time(main()))

    assert end_of(events).finish_reason == "cancelled"
    assert counted == 10
