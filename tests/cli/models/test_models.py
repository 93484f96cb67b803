"""`edgespec models`: lists, describes, hashes again and deletes, against a server of its own."""

import os
from pathlib import Path

import pytest

from edgespec import paths
from edgespec.sizes import gigabytes
from tests.cli.model_world import FILE, REPO, catalogue, in_cache, put, run
from tests.hub import COMMIT


def test_rm_shows_what_it_frees_and_then_deletes(edgespec_home: Path, model: bytes) -> None:
    catalogue(edgespec_home, model)
    path = put(edgespec_home / "models" / "tiny" / FILE, model)

    shown = run("rm", "tiny", "--dry-run")
    was_there = path.exists()
    done = run("rm", "tiny")

    assert was_there
    assert f"would delete {path} (" in shown.stdout
    assert f"delete {path} (" in done.stdout
    assert "are free again" in done.output
    assert not path.exists()


def test_rm_keeps_a_blob_that_another_revision_uses(edgespec_home: Path, model: bytes) -> None:
    blob = in_cache(model, "1" * 40, "2" * 40)

    result = run("rm", f"hf://{REPO}@{'1' * 40}")

    assert "1 other revisions use the same file" in result.stdout
    assert "0 bytes are free again" in result.output
    assert blob.read_bytes() == model
    assert [path.name for path in blob.parents[1].glob("snapshots/*/*.gguf")] == [FILE]


def test_rm_deletes_a_blob_with_the_last_revision_that_uses_it(
    edgespec_home: Path, model: bytes
) -> None:
    catalogue(edgespec_home, model)
    blob = in_cache(model, COMMIT, "2" * 40)

    result = run("rm", "tiny")

    assert not blob.exists()
    assert "MB are free again" in result.output


def test_rm_frees_nothing_of_a_file_with_another_name(
    edgespec_home: Path, tmp_path: Path, model: bytes
) -> None:
    catalogue(edgespec_home, model)
    mine = put(tmp_path / "mine.gguf", model)
    path = edgespec_home / "models" / "tiny" / FILE
    path.parent.mkdir(parents=True)
    os.link(mine, path)

    result = run("rm", "tiny")

    assert "1 other names of this file stay" in result.stdout
    assert "0 bytes are free again" in result.output
    assert mine.read_bytes() == model


def test_rm_leaves_the_target_of_a_link_alone(
    edgespec_home: Path, tmp_path: Path, model: bytes
) -> None:
    catalogue(edgespec_home, model)
    mine = put(tmp_path / "mine.gguf", model)
    path = edgespec_home / "models" / "tiny" / FILE
    path.parent.mkdir(parents=True)
    path.symlink_to(mine)

    run("rm", "tiny")

    assert not path.is_symlink()
    assert mine.read_bytes() == model


@pytest.mark.parametrize("where", [".lmstudio/models/pub/mod", ".", "elsewhere"])
def test_rm_refuses_files_that_are_not_its_own(home: Path, model: bytes, where: str) -> None:
    path = put(home / where / "mod-Q4_K_M.gguf", model)
    name = "pub/mod" if "lmstudio" in where else str(path)

    result = run("rm", name)

    assert result.exit_code == 2
    assert path.exists()


def test_rm_deletes_all_files_of_a_split_model(home: Path, model: bytes) -> None:
    repo = paths.hub_cache() / f"models--{REPO.replace('/', '--')}"
    for i in (1, 2):
        blob = put(repo / "blobs" / f"etag{i}", model)
        link = repo / "snapshots" / COMMIT / f"tiny-Q8_0-0000{i}-of-00002.gguf"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(blob)

    shown = run("rm", REPO, "--dry-run")
    done = run("rm", REPO)

    size = gigabytes(2 * len(model))
    assert [line.split()[1] for line in shown.stdout.splitlines()] == ["delete", "delete"]
    assert f"{size} would be free again" in shown.output
    assert f"{size} are free again" in done.output
    assert list(repo.rglob("*.gguf")) + list((repo / "blobs").iterdir()) == []


def test_rm_of_what_is_not_here_says_so(edgespec_home: Path, model: bytes) -> None:
    catalogue(edgespec_home, model)

    result = run("rm", "tiny")

    assert result.exit_code == 3
    assert "tiny is not on this machine" in result.output
