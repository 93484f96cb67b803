"""The target of the last chat: what a chat without a name begins with. Knows no catalogue."""

from pathlib import Path

from edgespec import paths


def last_target() -> str:
    """A catalogue id or a file; empty: none yet."""
    try:
        return _file().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def keep_target(name: str) -> None:
    """Remember it for the next start."""
    try:
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_text(name + "\n", encoding="utf-8")
    except OSError:
        return  # a home that cannot be written to: the next start chooses by size


def _file() -> Path:
    return paths.state_dir() / "last-target"
