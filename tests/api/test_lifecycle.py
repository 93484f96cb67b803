"""Nothing is lost, nothing runs on, nothing is freed twice: ends of answers, streams and models."""

import asyncio
import gc
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.api.entry import aload
from edgespec.api.model import LoadedModel, load
from edgespec.errors import UsageError
from edgespec.events import Event
from tests.api.answers import end_of, options, text_of
from tests.api.conftest import Gate


def threads_of_models() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("edgespec ")]


def test_a_stop_text_that_ends_with_the_last_token_is_a_stop(model: LoadedModel) -> None:
    plain = model.complete("Hello", options(12)).text
    tail = plain[-1]
    # Both could begin at the last character: which one it is shows only at the end.
    stops = (tail, tail + "never said")
    n_before = plain.index(tail)

    events = list(model.chat("Hello", replace(options(12), stop=stops)))

    assert text_of(events) == plain[:n_before]
    assert end_of(events).finish_reason == "stop"


def test_a_cancel_after_the_last_token_leaves_the_answer_complete(model: LoadedModel) -> None:
    stream = model.chat("Hello", options(5))
    for event in stream:
        if event.kind == "round" and event.stats.generated_tokens == 5:
            stream.cancel()

    assert stream.stats.finish_reason == "length"


def test_a_stream_that_nobody_holds_stops_the_engine(model: LoadedModel, gate: Gate) -> None:
    gate.hold(4)
    stream = model.chat("Hello", options(400))
    gate.wait()

    del stream
    gc.collect()
    gate.release()
    after = model.complete("Hello", options(1))

    assert after.stats.generated_tokens == 1
    assert gate.n_passes < 100


def test_every_closer_returns_only_once_the_model_is_freed(model: LoadedModel, gate: Gate) -> None:
    gate.hold(3)
    stream = model.chat("Hello", options(400))
    gate.wait()
    first = threading.Thread(target=model.close)
    second = threading.Thread(target=model.close)
    first.start()
    second.start()
    were_waiting = first.is_alive() and second.is_alive()

    gate.release()
    first.join(30)
    second.join(30)

    assert were_waiting
    assert not first.is_alive()
    assert not second.is_alive()
    assert stream.stats.finish_reason == "cancelled"


def test_a_forgotten_model_warns_and_frees_its_thread(files: dict[str, Path]) -> None:
    before = threads_of_models()
    held = [load(files["llama"], n_threads=1, measure=False)]
    (thread,) = set(threads_of_models()) - set(before)

    with pytest.warns(ResourceWarning, match="never closed"):
        held.clear()
    thread.join(30)

    assert not thread.is_alive()


def test_a_cancelled_load_leaves_no_model(files: dict[str, Path]) -> None:
    phases: list[str] = []
    before = threads_of_models()

    async def give_up() -> None:
        is_loading = asyncio.Event()
        loop = asyncio.get_running_loop()

        def tell(phase: str, fraction: float) -> None:
            phases.append(phase)
            loop.call_soon_threadsafe(is_loading.set)

        task = asyncio.create_task(aload(files["llama"], n_threads=1, progress=tell))
        await is_loading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())

    assert phases
    assert set(threads_of_models()) <= set(before)


@pytest.mark.parametrize("stop", [None, ["END"], ("END", 3), "END"])
def test_stop_texts_of_another_shape_are_refused(model: LoadedModel, stop: object) -> None:
    with pytest.raises(UsageError, match="stop is"):
        model.complete("Hello", replace(options(3), stop=stop))  # type: ignore[arg-type]


@pytest.mark.parametrize("n_threads", [0, -1, 513, 10**9])
def test_thread_counts_that_cannot_be_are_refused(files: dict[str, Path], n_threads: int) -> None:
    with pytest.raises(UsageError, match="threads cannot compute"):
        load(files["llama"], n_threads=n_threads)


def test_a_failed_answer_shows_what_was_held_back(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = model.complete("Hello", options(8)).text
    held = replace(options(8), stop=(plain[2:6] + "never said",))
    n_rounds = 0

    def failing(self: object, step: object) -> None:
        nonlocal n_rounds
        n_rounds += 1
        if n_rounds == 6:
            raise OSError("planted")

    monkeypatch.setattr("edgespec.control.auto.Auto.observe", failing)
    seen: list[Event] = []
    with pytest.raises(OSError, match="planted"):
        seen.extend(model.chat("Hello", held))

    shown = text_of(seen)
    assert plain.startswith(shown)
    assert len(shown) >= 5
