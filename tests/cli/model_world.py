"""Models on a server of their own, in a catalogue and in a cache."""

import hashlib
from pathlib import Path

from click.testing import CliRunner, Result

from edgespec import paths
from edgespec.cli.main import cli
from tests.hub import COMMIT

REPO, FILE = "owner/tiny-GGUF", "tiny-Q8_0.gguf"


def catalogue(home: Path, model: bytes, *, extra: str = "") -> None:
    """An entry "tiny" for the model, in the user's own catalogue."""
    home.mkdir(exist_ok=True)
    (home / "models.toml").write_text(
        f'[models.tiny]\ntitle = "Tiny"\nrepo = "{REPO}"\nfile = "{FILE}"\n'
        f'revision = "{COMMIT}"\nquant = "Q8_0"\nsize_bytes = {len(model)}\n'
        f'sha256 = "{hashlib.sha256(model).hexdigest()}"\nlicence = "mit"\n{extra}'
    )


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["models", *arguments], catch_exceptions=False)


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def in_cache(content: bytes, *commits: str) -> Path:
    """The file in Hugging Face's cache, linked from the snapshots of these commits; its blob."""
    repo = paths.hub_cache() / f"models--{REPO.replace('/', '--')}"
    blob = put(repo / "blobs" / hashlib.sha256(content).hexdigest(), content)
    for commit in commits:
        link = repo / "snapshots" / commit / FILE
        link.parent.mkdir(parents=True)
        link.symlink_to(blob)
    return blob
