"""Writing the message in the person's own editor."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from edgespec.errors import EdgespecError

_FALLBACKS = ("nano", "vi")


def edited(text: str, environ: Mapping[str, str]) -> str:
    """`text` as it came back from $VISUAL or $EDITOR.

    The terminal must be the editor's meanwhile. Raises: `EdgespecError` where there is no editor,
    or it failed; the text is not lost then.
    """
    named = environ.get("VISUAL") or environ.get("EDITOR")
    descriptor, name = tempfile.mkstemp(prefix="edgespec-message-", suffix=".md")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    try:
        _run(named, name)
        return Path(name).read_text(encoding="utf-8", errors="replace").removesuffix("\n")
    finally:
        Path(name).unlink(missing_ok=True)


def _run(named: str | None, file: str) -> None:
    for command in [named] if named else _FALLBACKS:
        try:
            subprocess.run([*shlex.split(command), file], check=True)
            return
        except FileNotFoundError:
            continue
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise EdgespecError(f"the editor '{command}' failed: {error}") from error
    raise EdgespecError(
        f"there is no editor '{named or ' or '.join(_FALLBACKS)}'",
        hint="export EDITOR=nano, or another one, before you start edgespec",
    )
