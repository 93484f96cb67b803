"""Writing the message in the person's own editor."""

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from edgespec.errors import EdgespecError
from edgespec.files import owned_folder
from edgespec.history.unsent import is_running

_FALLBACKS = ("nano", "vi")
_PREFIX, _SUFFIX = "edgespec-message-", ".md"
_NAME = re.compile(rf"{_PREFIX}(\d+)-.*{re.escape(_SUFFIX)}~?")


def edited(text: str, environ: Mapping[str, str], lent: Path | None = None) -> str:
    """`text` as it came back from $VISUAL or $EDITOR.

    The terminal must be the editor's meanwhile. `lent`: a file that is found should this process
    die; None: `forget_left` removes it then. Raises: `EdgespecError` where there is no editor, or
    it failed; what it had written then stays in a file.
    """
    file = _written(text, lent)
    try:
        return _edited(text, file, environ)
    finally:
        for left in (file, file.with_name(f"{file.name}~")):  # some keep what was there before
            with suppress(OSError):
                left.unlink(missing_ok=True)


def forget_left() -> None:
    """Remove what processes that are no more had lent an editor and must not be kept."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            number, owner = _NAME.fullmatch(path.name), path.lstat().st_uid
            is_own = not hasattr(os, "getuid") or owner == os.getuid()
            if number is not None and is_own and not is_running(int(number[1])):
                path.unlink()


def _edited(text: str, file: Path, environ: Mapping[str, str]) -> str:
    try:
        _run(environ.get("VISUAL") or environ.get("EDITOR"), str(file))
        return _read(file).removesuffix("\n")
    except OSError as error:
        raise EdgespecError(
            f"the editor left no file that can be read: {error.strerror or error}"
        ) from error
    except EdgespecError as error:
        if file.exists() and _read(file) != text:
            kept = _kept(file)
            raise EdgespecError(error.message, hint=f"what it had written is in {kept}") from error
        raise


def _written(text: str, lent: Path | None) -> Path:
    if lent is not None:
        try:
            owned_folder(lent.parent)
            descriptor = os.open(lent, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            return _filled(lent, descriptor, text)
        except OSError:  # a full disk, a folder that takes nothing: another may
            with suppress(OSError):
                lent.unlink()
    try:
        prefix = f"{_PREFIX}{os.getpid()}-"
        descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=_SUFFIX)
        return _filled(Path(name), descriptor, text)
    except OSError as error:
        raise EdgespecError(
            f"no file for the editor can be written: {error.strerror or error}"
        ) from error


def _filled(path: Path, descriptor: int, text: str) -> Path:
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
    return path


def _kept(file: Path) -> Path:
    """Under a name that no other message and no start of the chat takes."""
    descriptor, name = tempfile.mkstemp(_SUFFIX, "edgespec-kept-", file.parent)
    os.close(descriptor)
    return file.replace(name)


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
