"""The `edgespec` command with a scripted model behind it, for tests that need a real process.

SCRIPT_TEXT is the answer; SCRIPT_HOLD_AT holds the stream there until it is cancelled.
"""

import os

from edgespec.cli.doors import Doors
from edgespec.cli.main import main
from tests.scripted import Script, ScriptedLM

_hold_at = os.environ.get("SCRIPT_HOLD_AT")
_script = Script(os.environ["SCRIPT_TEXT"], hold_at=int(_hold_at) if _hold_at else None)

main(doors=Doors(load=lambda *_, **__: ScriptedLM([_script])))
