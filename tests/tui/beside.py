"""What the chat's screen takes from the model beside it: one answer, seen and unseen, in turns.

`python -m tests.tui.beside smollm2-135m [PAIRS]` asks a real model, plainly, for the same tokens
with the screen drawing them and with nobody looking; `python -m tests.tui.beside 500` asks one
that works on a single core for 500 tokens a second. Prints the ratio of their times: median, and
the middle half. Wants a quiet machine; 8 pairs take a minute or two.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.tui.figures import PROSE, on_terminal

PAIRS = 8
TOKENS = 300
PROMPT = "Tell me how bread is made, with every step, and write a small program that times them."


def play(what: str, pairs: int, path: Path) -> None:
    """Both kinds of answers, in turns, while the screen is up."""
    from edgespec.tui.app import EdgespecApp
    from edgespec.tui.start import hurried

    import edgespec
    from edgespec.api.types import Options
    from edgespec.chat.controller import ChatController
    from edgespec.shaping import Sampling
    from tests.tui.paced import PacedLM, WorkingStream

    options = Options(sampling=Sampling(temperature=0), drafter="none", max_tokens=TOKENS)
    inner: Any
    if what.isdigit():
        inner = PacedLM(PROSE * 40, float(what), WorkingStream)
    else:
        inner = edgespec.load(what, draft=None)
    model = Timed(inner)
    chat = ChatController(options)
    chat.attach(model)
    app = EdgespecApp(chat)

    def unseen() -> None:
        with model.chat(PROMPT, options) as stream:
            for _ in stream:
                pass

    async def act() -> None:
        while not (prompts := app.screen.query("#prompt")) or not prompts.first().size.width:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(unseen)
        await _seen(app)
        found = []
        for i in range(pairs):
            took_s = {}
            for is_seen in (True, False) if i % 2 else (False, True):
                await (_seen(app) if is_seen else asyncio.to_thread(unseen))
                took_s[is_seen] = model.took_s
            found.append((took_s[True], took_s[False]))
        path.write_text(json.dumps(found))
        app.exit(0)

    with hurried():
        asyncio.run(app.run_async(auto_pilot=lambda pilot: act()))
    chat.close()
    model.close()


async def _seen(app: Any) -> None:
    """An answer that is drawn as it comes, in a chat of its own."""
    from edgespec.tui.prompt import Prompt

    chat = app.chat
    chat.clear()
    await app.screen.show_turns()
    app.screen.prompt.post_message(Prompt.Submitted(PROMPT))
    while not (chat.turns and chat.turns[-1].status == "complete" and app.screen.feed.is_drawn):
        await asyncio.sleep(0.3)


class Timed:
    """A model that notes how long its last answer took from the first event to the last."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.took_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def chat(self, *args: Any, **kwargs: Any) -> "TimedStream":
        return TimedStream(self, self._model.chat(*args, **kwargs))


class TimedStream:
    """One answer."""

    def __init__(self, model: Timed, stream: Any) -> None:
        self._model, self._stream = model, stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> "TimedStream":
        self._stream.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._stream.__exit__(*exc)

    def __iter__(self) -> Iterator[Any]:
        events = iter(self._stream)
        first = next(events)
        began_s = time.monotonic()
        yield first
        yield from events
        self._model.took_s = time.monotonic() - began_s


def main(what: str, pairs: int) -> None:
    """Print the figures."""
    child = ("tests.tui.beside", "--child", what, str(pairs))
    with tempfile.TemporaryDirectory() as folder:
        found = on_terminal(child, Path(folder), os.environ)
    ratios = sorted(seen_s / unseen_s for seen_s, unseen_s in found)
    low, median, high = statistics.quantiles(ratios, n=4)
    unseen_s = statistics.median(unseen_s for _, unseen_s in found)
    print(f"unseen          {unseen_s:.2f} s in the median of {len(found)}")
    print(f"seen / unseen   {median:.3f} in the median, half of them {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        play(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    else:
        main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else PAIRS)
