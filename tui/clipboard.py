"""Copying out of a terminal: the terminal itself, a tool of the desktop, a file.

OSC 52 gives no answer, and many terminals ignore it, so a tool is asked too; where there is none,
the text is also written to a file that the person is told about.
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
MAX_OSC52_BYTES = 74_994
"""What terminals take at most: 100,000 bytes in base64, as xterm counts."""


def copy(text: str, send_osc52: Callable[[str], None], environ: Mapping[str, str]) -> str:
    """Copy `text`; says by which way, and where it is besides."""
    is_sent = len(text.encode("utf-8", "replace")) <= MAX_OSC52_BYTES
    if is_sent:
        send_osc52(text)
    size = f"{len(text):,} characters"
    tool = _native_tool(environ)
    if tool and _ran(tool, text):
        return f"copied {size} with {tool[0]}" + (" and OSC 52" if is_sent else "")
    path = _saved(text)
    if is_sent:
        return f"sent {size} to the terminal (OSC 52); if it took none: {path}"
    return f"{size} are too long for OSC 52, and there is no clipboard tool: saved as {path}"


def _ran(tool: tuple[str, ...], text: str) -> bool:
    try:
        subprocess.run(
            tool,
            input=text.encode("utf-8", "replace"),
            check=True,
            timeout=TIMEOUT_S,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True


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
