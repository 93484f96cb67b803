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
    or it failed; what it had written then stays in its file.
    """
    file = _written(text)
    try:
        _run(environ.get("VISUAL") or environ.get("EDITOR"), str(file))
        found = _read(file).removesuffix("\n")
    except OSError as error:
        raise EdgespecError(
            f"the editor left no file that can be read: {error.strerror or error}"
        ) from error
    except EdgespecError as error:
        if file.exists() and _read(file) != text:
            raise EdgespecError(error.message, hint=f"what it had written is in {file}") from error
        file.unlink(missing_ok=True)
        raise
    file.unlink(missing_ok=True)
    return found


def _written(text: str) -> Path:
    try:
        descriptor, name = tempfile.mkstemp(prefix="edgespec-message-", suffix=".md")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
    except OSError as error:
        raise EdgespecError(
            f"no file for the editor can be written: {error.strerror or error}"
        ) from error
    return Path(name)


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _run(named: str | None, file: str) -> None:
    for command in [named] if named else _FALLBACKS:
        try:
            subprocess.run([*shlex.split(command), file], check=True)
            return
        except FileNotFoundError:
            continue
        except subprocess.CalledProcessError as error:
            told = f"the editor '{command}' failed with exit status {error.returncode}"
            raise EdgespecError(told) from error
        except (OSError, ValueError) as error:
            raise EdgespecError(f"the editor '{command}' failed: {error}") from error
    raise EdgespecError(
        f"there is no editor '{named or ' or '.join(_FALLBACKS)}'",
        hint="export EDITOR=nano, or another one, before you start edgespec",
    )
