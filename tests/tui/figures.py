"""What the chat's screen costs, measured with a model that answers at a set speed.

`python -m tests.tui.figures` prints the figures, in about a minute. Each scene runs in a child
on a terminal of its own, so that what the terminal is sent is paid for; times are CPU times.
"""

import json
import os
import pty
import select
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROSE = (
    "A small draft model proposes `tokens` and the **target** checks them in one pass, so that "
    "every accepted token costs a fraction of a step.\n\n- the first point of a list\n"
    "- the second point, a little longer than the first one\n\n"
    "```python\nwhile not done:\n    draft = small.propose(gamma)\n    n = verify(draft)\n```\n\n"
)
FENCE = "```python\n{}```\n\nThat is all.\n"


def _fence(n_lines: int) -> str:
    lines = (f"value_{i} = compute({i}, other[{i % 7}])  # line {i}\n" for i in range(n_lines))
    return FENCE.format("".join(lines))


# In the child


def _play(scene: str, path: Path) -> None:
    import asyncio

    from edgespec.tui.app import EdgespecApp
    from edgespec.tui.prompt import Prompt

    from edgespec.chat.controller import ChatController
    from tests.tui.paced import PacedLM

    text, rate, n_turns = {
        "paint": ("", 0, 0),
        "idle": ("", 0, 0),
        "prose": (PROSE * 16, 300, 1),
        "prose40": (PROSE * 3, 40, 1),
        "prose500": (PROSE * 30, 500, 1),
        "fence": (_fence(500), 300, 1),
        "fence2000": (_fence(2000), 1000, 1),
        "turns": (PROSE, 0, 200),
        "long": (PROSE * 8, 0, 110),
    }[scene]
    model = PacedLM(text, rate)
    chat = ChatController()
    app = EdgespecApp(chat)
    seen: dict[str, object] = {}

    async def act() -> None:
        while not app.screen.query(Prompt):
            await asyncio.sleep(0.005)
        screen = app.screen
        await asyncio.sleep(0)
        if scene == "idle":
            await asyncio.sleep(1)
            before_s = time.thread_time()
            await asyncio.sleep(5)
            seen["idle_share"] = (time.thread_time() - before_s) / 5
        costs: list[tuple[float, int]] = []
        sizes = []
        for i in range(n_turns):
            screen.query_one(Prompt).post_message(Prompt.Submitted(f"message {i}"))
            began_s, mark_s, wall_s, n_seen = (
                time.thread_time(),
                time.thread_time(),
                time.monotonic(),
                0,
            )
            while not (
                len(chat.turns) > i and chat.turns[i].status == "complete" and screen.feed.is_drawn
            ):
                await asyncio.sleep(0.5 if rate else 0.01)
                n = chat.turns[i].stats.generated_tokens if len(chat.turns) > i else 0
                if n - n_seen >= 100 or (n > n_seen and chat.turns[i].status == "complete"):
                    costs.append((time.thread_time() - mark_s, n - n_seen))
                    mark_s, n_seen = time.thread_time(), n
            if i % 10 == 9:
                sizes.append(_rss())
            seen["share"] = (time.thread_time() - began_s) / (time.monotonic() - wall_s)
        if rate:
            seen["ms_per_token"] = 1000 * statistics.median(s / n for s, n in costs)
            seen["late_s"] = model.streams[0].late_s
            seen["tokens"] = chat.turns[0].stats.generated_tokens
        seen["flush_ms"] = [round(1000 * s, 1) for s in sorted(screen.flush_costs_s)[-3:]]
        seen["n_flushes"] = len(screen.flush_costs_s)
        if sizes:
            seen["growth_mb"] = (sizes[-1] - sizes[len(sizes) // 4]) / 1e6
            seen["rss_mb"] = sizes[-1] / 1e6
        if scene == "long":
            before_s = time.thread_time()
            for _ in range(20):
                screen.action_scroll("page_up")
                await asyncio.sleep(0.05)
            seen["scroll_ms"] = 1000 * (time.thread_time() - before_s) / 20
        app.exit(0)

    async def go() -> None:
        chat.attach(model)
        task = asyncio.ensure_future(act())
        await app.run_async()
        await task

    if scene == "paint":
        _stamp_first_paint(app, seen)
    asyncio.run(go())
    chat.close()
    path.write_text(json.dumps(seen))


def _stamp_first_paint(app, seen) -> None:  # type: ignore[no-untyped-def]
    real = app._display

    def display(screen, renderable) -> None:  # type: ignore[no-untyped-def]
        real(screen, renderable)
        if (
            renderable is not None
            and "first_paint_cpu_ms" not in seen
            and app.screen.id != "_default"
        ):
            seen["first_paint_cpu_ms"] = 1000 * time.process_time()

    app._display = display


def _rss() -> int:
    import gc

    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


# In the parent


def measured(scene: str, folder: Path) -> dict[str, float]:
    """The figures of one scene, from a child on a terminal."""
    path = folder / f"{scene}.json"
    leader, follower = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 34, 120, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.tui.figures", "--child", scene, str(path)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
    )
    os.close(follower)
    written = b""
    while child.poll() is None:
        if select.select([leader], [], [], 0.1)[0]:
            try:
                written += os.read(leader, 65536)
            except OSError:
                break
    child.wait()
    if not path.exists():
        print(written[-3000:].decode("utf-8", "replace"))
    return json.loads(path.read_text())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        _play(sys.argv[2], Path(sys.argv[3]))
    else:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            for scene in sys.argv[1:] or [
                "paint",
                "idle",
                "prose40",
                "prose",
                "prose500",
                "fence",
                "fence2000",
                "turns",
            ]:
                print(scene, measured(scene, Path(folder)))
