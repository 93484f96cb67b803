"""Files and folders as documents: what is text, not ignored by git, and no secret.

Reads, never writes; says of every file that it leaves out why.
"""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgespec.errors import UsageError
from edgespec.index.secrets import secret_in, secret_name

MOST_BYTES = 4 << 20
"""A longer file is data rather than text that somebody wrote."""
_SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache"}
)
_GIT_IS_TOLD = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"})


@dataclass(frozen=True, slots=True)
class Document:
    """One text and where it came from."""

    path: str
    text: str
    ids: tuple[int, ...] = ()
    """The tokens it was made of, where a model wrote it: tokenising its text gives others."""
    fingerprint: str = ""
    """The vocabulary of `ids`."""

    @property
    def sha256(self) -> str:
        """Of the text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not indexed."""

    path: str
    reason: str


class _Unlisted(Exception):
    """A folder that git cannot list; the message says why."""


def documents(paths: list[Path]) -> Iterator[Document | LeftOut]:
    """Every file under `paths`, in order, each once. Links are followed only where they are named:
    within a folder they may lead far away, to what nobody meant, or in circles.

    Raises: `UsageError` for a path that is not there, or a repository without git to ask.
    """
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no {path}")
        named = path.resolve() if path.is_dir() else path.absolute()
        try:
            for found in _files(named):
                real = found.resolve() if isinstance(found, Path) else Path(found.path)
                if real not in seen:
                    seen.add(real)
                    yield found if isinstance(found, LeftOut) else _read(found, real.name)
        except _Unlisted as fault:
            raise UsageError(f"git cannot list {named}: {fault}") from fault


def _files(path: Path) -> Iterator[Path | LeftOut]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from _files_of_folder(path)
    else:
        yield LeftOut(str(path), "it is neither a file nor a folder")


def _files_of_folder(folder: Path) -> Iterator[Path | LeftOut]:
    entries = _by_git(folder)
    if entries is None:
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            yield LeftOut(str(folder), f"it cannot be read: {error.strerror or error}")
            return
    for entry in entries:
        if entry.is_symlink():
            if entry.is_file():
                yield LeftOut(str(entry), "it is a link; name the file itself")
        elif entry.is_dir():  # git names only folders that are repositories of their own
            if entry.name not in _SKIPPED_FOLDERS:
                yield from _files_below(entry)
        elif entry.is_file():
            yield entry


def _files_below(folder: Path) -> Iterator[Path | LeftOut]:
    """Of a folder that nobody named: a broken repository costs its own files, no others."""
    try:
        yield from _files_of_folder(folder)
    except _Unlisted as fault:
        yield LeftOut(str(folder), f"git cannot list it: {fault}")


def _by_git(folder: Path) -> list[Path] | None:
    """What git does not ignore; None outside a repository. Git alone knows its rules.

    Raises: `_Unlisted`; `UsageError` without git.
    """
    if not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return None
    # A repository's own settings can name a program that git runs to watch its files.
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), "ls-files", "-z", "-c", "-o"]
    # Within a hook, git is told of another repository.
    own = {name: value for name, value in os.environ.items() if name not in _GIT_IS_TOLD}
    try:
        run = subprocess.run(
            [*command, "--exclude-standard"], capture_output=True, check=True, env=own
        )
    except FileNotFoundError as error:
        raise UsageError(
            f"{folder} is in a git repository, but git is not installed to say what it ignores",
            hint="install git, or name single files",
        ) from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise _Unlisted(said) from error
    names = sorted(set(run.stdout.split(b"\0")) - {b""})
    if b"./" in names:
        raise _Unlisted("it is kept as a submodule, but its repository is not there")
    return [folder / os.fsdecode(name) for name in names]


def _read(file: Path, real_name: str) -> Document | LeftOut:
    """`real_name`: where `file` is a link, of what it points at."""
    name = str(file)
    if secret_name(file.name) or secret_name(real_name):
        return LeftOut(name, "files of this name mostly hold secrets")
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            return LeftOut(name, f"it has {size:,} bytes, more than {MOST_BYTES:,}")
        raw = file.read_bytes()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return LeftOut(name, "it is not text in UTF-8")
    except OSError as error:
        return LeftOut(name, f"it cannot be read: {error.strerror or error}")
    if "\0" in text:
        return LeftOut(name, "it is not text")
    if not text.strip():
        return LeftOut(name, "it is empty")
    if (kind := secret_in(text)) is not None:
        return LeftOut(name, f"it seems to hold {kind}")
    return Document(name, text)
