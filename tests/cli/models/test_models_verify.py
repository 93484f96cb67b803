"""`edgespec models verify`: what is hashed again, and what becomes of a bad file."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from tests.cli.model_world import FILE, catalogue, put, run


def test_verify_hashes_a_good_file_again(edgespec_home: Path, model: bytes) -> None:
    catalogue(edgespec_home, model)
    put(edgespec_home / "models" / "tiny" / FILE, model)

    result = run("verify", "tiny")

    assert result.exit_code == 0
    assert result.stdout.startswith("good ")


def test_verify_calls_a_draft_head_good(edgespec_home: Path, model: bytes) -> None:
    head = model.replace(b"llama", b"dream", 1)  # an architecture that is no model by itself
    catalogue(edgespec_home, head, extra='kind = "head"\nmethod = "dflash"\n')
    put(edgespec_home / "models" / "tiny" / FILE, head)

    result = run("verify", "tiny")

    assert result.exit_code == 0
    assert result.stdout.startswith("good ")


def test_verify_finds_a_flipped_bit_that_nothing_else_shows(
    edgespec_home: Path, model: bytes
) -> None:
    catalogue(edgespec_home, model)
    path = put(edgespec_home / "models" / "tiny" / FILE, model)
    assert run("verify", "tiny").exit_code == 0
    status = path.stat()
    path.write_bytes(model[:-1] + bytes([model[-1] ^ 1]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    result = run("verify", "tiny")

    assert result.exit_code == 6
    assert result.stdout.startswith("bad ")
    assert f"not the expected {hashlib.sha256(model).hexdigest()}" in result.stdout


def test_verify_makes_a_bad_file_unused(edgespec_home: Path, model: bytes) -> None:
    from edgespec.models.catalogue import load_catalogue
    from edgespec.store import installed

    catalogue(edgespec_home, model)
    path = put(edgespec_home / "models" / "tiny" / FILE, model)
    spec = load_catalogue().models["tiny"]
    assert installed(spec) == path
    status = path.stat()
    path.write_bytes(model[:-1] + bytes([model[-1] ^ 1]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    run("verify", "tiny")

    assert installed(spec) is None


def test_verify_holds_a_blob_against_its_name(home: Path, model: bytes) -> None:
    digest = hashlib.sha256(model).hexdigest()
    folder = home / ".ollama/models"
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    manifest = json.dumps({"layers": [layer]}).encode()
    put(folder / "manifests/registry.ollama.ai/library/tiny/1b", manifest)
    blob = put(folder / "blobs" / f"sha256-{digest}", model)

    good = run("verify", "tiny:1b")
    blob.write_bytes(model + b"!")
    bad = run("verify", "--all")

    assert (good.exit_code, bad.exit_code) == (0, 6)
    assert good.stdout.startswith("good ")


def test_verify_of_a_file_of_ones_own_gives_its_hash(tmp_path: Path, model: bytes) -> None:
    path = put(tmp_path / "m.gguf", model)

    result = run("verify", str(path))

    assert result.exit_code == 0
    assert result.stdout.startswith("unknown ")
    assert hashlib.sha256(model).hexdigest() in result.stdout


@pytest.mark.parametrize("arguments", [(), ("tiny", "--all")])
def test_verify_needs_a_name_or_all(arguments: tuple[str, ...]) -> None:
    assert run("verify", *arguments).exit_code == 2
