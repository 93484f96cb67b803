"""Scripted conversations to be killed: a server that forks one for every line on stdin.

A line is a path of a history and a seed. stdout gets a line "pid N", then one line of JSON for
every turn that is about to be deleted and every turn that is committed, then "dead" once the
process is gone.
"""

import json
import os
import random
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from edgespec.chat.controller import ChatController
from edgespec.history.keeper import Keeper
from edgespec.history.records import ChatRecord, TurnRecord
from edgespec.history.store import HistoryStore
from tests.scripted import Script, ScriptedLM

ANSWER = " ".join(f"word{i}" for i in range(60)) + " 日本語も。"


def tell(line: str) -> None:
    """One write, so that no line is ever cut off."""
    os.write(1, f"{line}\n".encode())


class TellingStore:
    """A history that tells what it has committed."""

    def __init__(self, path: Path) -> None:
        self._store = HistoryStore.open(path)
        self.notices = self._store.notices

    def save(
        self,
        chats: Iterable[ChatRecord],
        turns: Iterable[TurnRecord],
        gone: Iterable[str],
        titles: Mapping[str, str],
    ) -> None:
        turns, gone = list(turns), list(gone)
        for turn_id in gone:
            tell(json.dumps([turn_id]))
        self._store.save(chats, turns, gone, titles)
        for turn in turns:
            tell(json.dumps([turn.id, turn.prompt, len(turn.text), turn.status]))

    is_in_place = True

    def close(self) -> None:
        self._store.close()


def converse(path: Path, seed: int) -> None:
    """Send, regenerate, edit and stop for ever."""
    rng = random.Random(seed)
    keeper = Keeper(path, fallbacks=(), every_s=0.005, open_store=TellingStore)  # type: ignore[arg-type]
    chat = ChatController(journal=keeper)
    chat.attach(ScriptedLM([Script(ANSWER, pace_s=0.0005)]))
    for number in range(10_000):
        act = rng.choice(("send", "send", "regenerate", "edit", "stop", "remove"))
        if act == "regenerate" and chat.turns:
            chat.regenerate()
        elif act == "edit" and chat.turns:
            chat.edit(rng.choice(chat.turns), f"edited {number}")
        elif act == "remove" and len(chat.turns) > 3:
            chat.branches.remove(chat.turns[0])
            continue
        else:
            chat.send(f"message {number}")
        for _ in chat.follow():
            if act == "stop" and rng.random() < 0.2:
                chat.stop()


def main() -> None:
    """Serve until stdin ends."""
    for line in sys.stdin:
        path, seed = line.split()
        if (child := os.fork()) == 0:
            converse(Path(path), int(seed))
            os._exit(0)
        tell(f"pid {child}")
        os.waitpid(child, 0)
        tell("dead")


if __name__ == "__main__":
    main()
