"""Where edgespec keeps its files, and where Hugging Face keeps its own.

`EDGESPEC_HOME` puts all of edgespec's into one folder. Folders are named here, never created.
"""

import os
from pathlib import Path

_APP = "edgespec"


def home() -> Path | None:
    """`EDGESPEC_HOME`, if set."""
    value = os.environ.get("EDGESPEC_HOME", "").strip()
    return expanded(value).absolute() if value else None


def config_dir() -> Path:
    """For the user's models.toml."""
    return home() or _platform("user_config_path")


def data_dir() -> Path:
    """For models."""
    return home() or _platform("user_data_path")


def state_dir() -> Path:
    """For the log, the last model used, and what may be forgotten without loss."""
    return home() or _platform("user_state_path")


def cache_dir() -> Path:
    """For measurements and verdicts that can be made again."""
    own = home()
    return own / "cache" if own else _platform("user_cache_path")


def models_dir() -> Path:
    """For model files that edgespec itself puts together."""
    return data_dir() / "models"


def hub_cache() -> Path:
    """Hugging Face's cache, shared with llama.cpp and others; their variables, in their order.

    As there, a value may name other variables: `$HOME/models`.
    """
    for name, below in (
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ):
        if value := os.environ.get(name, "").strip():
            return expanded(os.path.expandvars(value)) / below
    return user_home() / ".cache" / "huggingface" / "hub"


def user_home() -> Path:
    """The person's own folder; "~" itself where nobody knows it, as in some containers."""
    return expanded("~")


def expanded(path: str | Path) -> Path:
    """`path` with "~" and "~name" replaced, as far as they are known; never fails."""
    try:
        return Path(os.path.expanduser(path))
    except ValueError:  # a name that nobody can have
        return Path(path)


def _platform(folder: str) -> Path:
    # Imported late: `edgespec --help` needs no folders.
    import platformdirs

    path: Path = getattr(platformdirs, folder)(_APP, appauthor=False)
    return path
