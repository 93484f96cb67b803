"""Copying out of a terminal: a tool of the desktop, else the terminal itself and a file.

OSC 52 gives no answer, and many terminals ignore it, so what was only sent that way is also
written to a file that the person is told about.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

_TOOLS = (
    (("wl-copy",), "WAYLAND_DISPLAY"),
    (("xclip", "-selection", "clipboard"), "DISPLAY"),
    (("xsel", "--clipboard", "--input"), "DISPLAY"),
    (("pbcopy",), None),
    (("clip.exe",), None),
)
TIMEOUT_S = 2.0


def copy(text: str, send_osc52: Callable[[str], None], environ: Mapping[str, str]) -> str:
    """Copy `text`; says where it is now."""
    if tool := _native_tool(environ):
        try:
            subprocess.run(
                tool,
                input=text.encode(),
                check=True,
                timeout=TIMEOUT_S,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            return f"copied {len(text):,} characters with {tool[0]}"
        except (OSError, subprocess.SubprocessError):
            pass  # the terminal may still be able to
    send_osc52(text)
    path = _saved(text)
    return f"sent {len(text):,} characters to the terminal's clipboard; also saved as {path}"


def _native_tool(environ: Mapping[str, str]) -> tuple[str, ...] | None:
    if "SSH_CONNECTION" in environ:
        return None  # its clipboard would be the far machine's
    for command, variable in _TOOLS:
        if (variable is None or environ.get(variable)) and shutil.which(command[0]):
            return command
    return None


def _saved(text: str) -> Path:
    descriptor, name = tempfile.mkstemp(prefix="edgespec-answer-", suffix=".md")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return Path(name)
