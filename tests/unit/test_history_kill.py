"""kill -9 at random moments of a conversation: what was committed is there, the file is whole."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edgespec.history.store import HistoryStore
from tests.killed_chat import ANSWER

ROOT = Path(__file__).parents[2]
N_KILLS = 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
def test_nothing_committed_is_lost_by_a_hundred_kills(tmp_path: Path) -> None:
    path, rng = tmp_path / "history.db", random.Random(1)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.killed_chat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    committed: dict[str, tuple[str, int, str]] = {}

    with server:
        assert server.stdin is not None
        for seed in range(N_KILLS):
            server.stdin.write(f"{path} {seed}\n")
            server.stdin.flush()
            for line in killed(server, rng):
                turn_id, *fields = json.loads(line)
                if fields:
                    committed[turn_id] = tuple(fields)
                else:
                    committed.pop(turn_id, None)
            assert_all_there(path, committed)
        server.stdin.close()

    assert len(committed) > N_KILLS // 2  # most kills came after a line; how many more, by chance
    assert any(status == "running" for _, _, status in committed.values())


def killed(server: subprocess.Popen[str], rng: random.Random) -> list[str]:
    """Kill the conversation at a random moment. Returns: what it had committed until then."""
    assert server.stdout is not None
    pid = int(server.stdout.readline().removeprefix("pid "))
    lines = []
    for _ in range(rng.randrange(7)):
        lines.append(server.stdout.readline())
    time.sleep(rng.random() * 0.01)
    os.kill(pid, signal.SIGKILL)
    while (line := server.stdout.readline()) != "dead\n":
        assert line, "the server ended"
        lines.append(line)
    return lines


def assert_all_there(path: Path, committed: dict[str, tuple[str, int, str]]) -> None:
    if not path.exists():
        assert committed == {}
        return
    store = HistoryStore.open(path)
    assert store.notices == []
    assert store.check() == []
    held = {turn.id: turn for chat in store.chats() for turn in store.chat(chat.id).turns}
    store.close()
    for turn_id, (prompt, n_chars, status) in committed.items():
        turn = held[turn_id]
        assert turn.prompt == prompt
        assert ANSWER.startswith(turn.text)
        assert len(turn.text) >= n_chars
        assert turn.status == status or status in ("queued", "running")
