"""Copying out of a terminal: the terminal itself, a tool of the desktop, a file.

OSC 52 gives no answer, and many terminals ignore it, so the tools are asked too, one after the
other; where none takes it, the text is also written to a file that the person is told about.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping

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


def copy(
    text: str,
    send_osc52: Callable[[str], None],
    environ: Mapping[str, str],
    *,
    may_save: bool = True,
) -> str:
    """Copy `text`; says by which way, and where it is besides.

    `may_save`: whether a file may have it where nothing else has it for certain.
    """
    is_sent = len(text.encode("utf-8", "replace")) <= MAX_OSC52_BYTES
    if is_sent:
        send_osc52(text)
    size = f"{len(text):,} characters"
    failed = []
    for tool in _native_tools(environ):
        if _ran(tool, text):
            return f"copied {size} with {tool[0]}" + (" and OSC 52" if is_sent else "")
        failed.append(tool[0])
    tools = f"{' and '.join(failed)} failed" if failed else "there is no clipboard tool"
    kept = _saved(text) if may_save else "in no file, as this chat is private"
    if not is_sent:
        return f"{size} are too long for OSC 52, and {tools}: {kept}"
    kept = f"if it took none: {kept}" if may_save else kept
    return f"sent {size} to the terminal (OSC 52), as {tools}; {kept}"


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


def _native_tools(environ: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    if "SSH_CONNECTION" in environ:
        return  # its clipboard would be the far machine's
    for command, variable in _TOOLS:
        if (variable is None or environ.get(variable)) and shutil.which(command[0]):
            yield command


def _saved(text: str) -> str:
    """Where the text is, or why it is not."""
    try:
        descriptor, name = tempfile.mkstemp(prefix="edgespec-answer-", suffix=".md")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        return f"in no file either ({error.strerror or error})"
    return f"saved as {name}"
