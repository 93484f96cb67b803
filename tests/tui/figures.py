"""What the chat's screen costs, measured with a model that answers at a set speed.

`python -m tests.tui.figures` prints every figure, in about two minutes on a quiet machine; with
scenes named, only theirs. Each scene runs in a child on a terminal of its own, so that what the
terminal is sent is paid for. Times are CPU times: those of the screen's thread, and of the whole
process up to the first paint.
"""

import asyncio
import fcntl
import gc
import json
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.tui.paced import PacedLM

ROOT = Path(__file__).parents[2]
PROSE = (
    "A small draft model proposes `tokens` and the **target** checks them in one pass, so that "
    "every accepted token costs a fraction of a step.\n\n- the first point of a list\n"
    "- the second point, a little longer than the first one\n\n"
    "```python\nwhile not done:\n    draft = small.propose(gamma)\n    n = verify(draft)\n```\n\n"
)
SAMPLE_TOKENS = 100


@dataclass(frozen=True, slots=True)
class Scene:
    """An answer, how fast it comes, how often it is given."""

    text: str = ""
    tokens_per_s: float = 0.0
    """0: as fast as it is read."""
    n_turns: int = 1


def fence(n_lines: int) -> str:
    lines = (f"value_{i} = compute({i}, other[{i % 7}])  # line {i}\n" for i in range(n_lines))
    return f"```python\n{''.join(lines)}```\n\nThat is all.\n"


SCENES = {
    "paint": Scene(n_turns=0),
    "idle": Scene(n_turns=0),
    "prose 40 tok/s": Scene(PROSE * 6, 40),
    "prose 300 tok/s": Scene(PROSE * 40, 300),
    "prose 500 tok/s": Scene(PROSE * 60, 500),
    "fence of 500 lines": Scene(fence(500), 300),
    "fence of 2000 lines": Scene(fence(2000), 1000),
    "200 turns": Scene(PROSE, n_turns=200),
    "10,000 lines": Scene(PROSE * 10, n_turns=100),
}


# In the child


def play(name: str, path: Path) -> None:
    """Run a scene and write its figures."""
    from edgespec.tui.app import EdgespecApp
    from edgespec.tui.start import hurried

    from edgespec.chat.controller import ChatController
    from tests.tui.paced import PacedLM

    scene, seen = SCENES[name], dict[str, Any]()
    model, chat = PacedLM(scene.text, scene.tokens_per_s), ChatController()
    chat.attach(model)
    app = EdgespecApp(chat)

    async def act() -> None:
        while not (prompts := app.screen.query("#prompt")) or not prompts.first().size.width:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        seen["cpu until the first paint, ms"] = 1000 * time.process_time()
        if name == "idle":
            await asyncio.sleep(1)
            before_s = time.thread_time()
            await asyncio.sleep(5)
            seen["share of a core"] = (time.thread_time() - before_s) / 5
        if scene.n_turns:
            await _talk(app, model, scene, seen)
        if name == "10,000 lines":
            await _scroll(app, seen)
        app.exit(0)

    async def go() -> None:
        await app.run_async(auto_pilot=lambda pilot: act())

    with hurried():  # as the command does
        asyncio.run(go())
    chat.close()
    path.write_text(json.dumps(seen))


async def _talk(app: Any, model: "PacedLM", scene: Scene, seen: dict[str, Any]) -> None:
    from edgespec.tui.prompt import Prompt

    screen, chat, sizes = app.screen, app.chat, []
    per_token, flushes, lines = [], [], 0
    began_s, thread_s = time.monotonic(), time.thread_time()
    for i in range(scene.n_turns):
        screen.prompt.post_message(Prompt.Submitted(f"message {i}"))
        mark_s, n_seen = time.thread_time(), 0
        while not (len(chat.turns) > i and chat.turns[i].status == "complete"
                   and screen.feed.is_drawn):  # fmt: skip
            await asyncio.sleep(0.2 if scene.tokens_per_s else 0.01)
            n = chat.turns[i].stats.generated_tokens if len(chat.turns) > i else 0
            if n - n_seen >= SAMPLE_TOKENS:
                per_token.append((time.thread_time() - mark_s) / (n - n_seen))
                mark_s, n_seen = time.thread_time(), n
        flushes += screen.flush_costs_s
        if i % 10 == 9:
            sizes.append(_resident_bytes())
    lines = sum(turn.text.count("\n") for turn in chat.turns)
    spent_s, took_s = time.thread_time() - thread_s, time.monotonic() - began_s
    seen["lines"], seen["tokens"] = lines, sum(t.stats.generated_tokens for t in chat.turns)
    seen["share of a core"] = spent_s / took_s
    seen["ms per token, median"] = 1000 * statistics.median(per_token) if per_token else None
    seen["flush, ms: median, worst"] = (
        1000 * statistics.median(flushes),
        1000 * max(flushes),
    )
    seen["answer late by, s"] = model.streams[-1].late_s
    if len(sizes) > 4:
        seen["memory grown since turn 50, MB"] = (sizes[-1] - sizes[4]) / 1e6


async def _scroll(app: Any, seen: dict[str, Any]) -> None:
    before_s, n = time.thread_time(), 30
    for _ in range(n):
        app.screen.action_scroll("page_up")
        await asyncio.sleep(0.05)
    seen["a page up, ms"] = 1000 * (time.thread_time() - before_s) / n


def _resident_bytes() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


# In the parent


def measured(name: str, folder: Path) -> dict[str, Any]:
    """The figures of one scene."""
    child = ("tests.tui.figures", "--child", name)
    env = {**os.environ, "EDGESPEC_HOME": str(folder)}
    figures: dict[str, Any] = on_terminal(child, folder, env)
    return figures


def on_terminal(child: Sequence[str], folder: Path, env: Mapping[str, str]) -> Any:
    """What a module, given with its arguments, writes as JSON to the path that is its last one.

    It runs on a terminal of its own, that somebody reads.
    """
    path = folder / "figures.json"
    path.unlink(missing_ok=True)
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 34, 120, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", *child, str(path)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=ROOT,
        env={**env, "TERM": "xterm-256color"},
    )
    os.close(follower)
    written = b""
    while process.poll() is None:
        if select.select([leader], [], [], 0.1)[0]:
            try:
                written = (written + os.read(leader, 65536))[-4000:]
            except OSError:  # its end: the child has closed the other one
                break
    process.wait()
    os.close(leader)
    assert path.exists(), written.decode("utf-8", "replace")
    return json.loads(path.read_text())


def main(names: Sequence[str]) -> None:
    """Print the figures of these scenes, or of all."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names or SCENES:
            print(name, flush=True)
            for what, figure in measured(name, Path(folder)).items():
                print(f"  {what:<34}{_shown(figure)}", flush=True)


def _shown(figure: object) -> str:
    if isinstance(figure, list):
        return ", ".join(map(_shown, figure))
    return f"{figure:.3g}" if isinstance(figure, float) else str(figure)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        play(sys.argv[2], Path(sys.argv[3]))
    else:
        main(sys.argv[1:])
