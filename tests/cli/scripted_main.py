"""The `edgespec` command with a scripted model behind it, for tests that need a real process.

SCRIPT_TEXT is the answer, SCRIPT_REASONING what is thought before it; SCRIPT_HOLD_AT holds the
stream there until it is cancelled. SCRIPT_LOAD makes loading end at 40 %: "fail" with an error,
"hold" never. SCRIPT_AT_EXIT is printed when the interpreter shuts down in order.
"""

import atexit
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from edgespec.cli.doors import Doors
from edgespec.cli.main import main
from edgespec.errors import DoesNotFit

if TYPE_CHECKING:
    from edgespec.api.types import Loading
    from tests.scripted import ScriptedLM

# Started in the background by a shell without jobs, a process ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _load(target: str | Path, **loading: "Unpack[Loading]") -> "ScriptedLM":
    how = os.environ.get("SCRIPT_LOAD")
    progress = loading.get("progress")
    assert progress is not None, "nobody hears of the loading"
    if how:
        progress("loading m", 0.4)
    if how == "fail":
        raise DoesNotFit("memory is short")
    if how == "hold":
        threading.Event().wait()
    return _scripted()


def _scripted() -> "ScriptedLM":
    from tests.scripted import Script, ScriptedLM  # late: what a first paint costs is measured

    hold_at = os.environ.get("SCRIPT_HOLD_AT")
    script = Script(
        os.environ.get("SCRIPT_TEXT", ""),
        os.environ.get("SCRIPT_REASONING", ""),
        hold_at=int(hold_at) if hold_at else None,
    )
    return ScriptedLM([script])


if _last_words := os.environ.get("SCRIPT_AT_EXIT"):
    atexit.register(print, _last_words, flush=True)
main(doors=Doors(load=_load))
