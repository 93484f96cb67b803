"""`edgespec models`: lists, describes, hashes again and deletes, against a server of its own."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from edgespec import paths
from edgespec.cli.main import cli
from edgespec.sizes import gigabytes
from tests.hub import COMMIT, Fault, LocalHub, serving
from tests.tinygguf import write_llama

REPO, FILE = "owner/tiny-GGUF", "tiny-Q8_0.gguf"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = write_llama(tmp_path_factory.mktemp("model") / "m.gguf", n_vocab_extra=20_000)
    return path.read_bytes()


@pytest.fixture
def hub(model: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    with serving() as server:
        server.files[REPO, FILE] = model
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


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


def test_info_of_a_file_on_the_hub_fetches_its_header_only(
    edgespec_home: Path, model: bytes, hub: LocalHub
) -> None:
    catalogue(edgespec_home, model)

    result = run("info", "tiny")

    assert result.exit_code == 0
    assert "owner/tiny-GGUF on the Hugging Face hub" in result.output
    assert f"{368 + 20_000:,} tokens, llama" in result.output
    assert "llama: 2 layers, attention" in result.output
    assert len(model) > 10_000_000
    assert hub.sent_bytes <= 2 << 20


def test_info_asks_for_no_byte_twice(edgespec_home: Path, model: bytes, hub: LocalHub) -> None:
    catalogue(edgespec_home, model)

    run("info", "tiny", "--json")

    ranges = [asked.range for asked in hub.gets]
    assert len(set(ranges)) == len(ranges)
    assert all(ranges)


def test_info_shows_its_token_to_the_hub_only(
    edgespec_home: Path, model: bytes, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue(edgespec_home, model)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.wanted_token = "hf_secret"

    result = run("info", "tiny")

    assert result.exit_code == 0
    assert hub.gets
    assert not any(asked.has_token for asked in hub.gets)
    assert "hf_secret" not in result.output


def test_info_as_json_is_one_object(edgespec_home: Path, model: bytes, hub: LocalHub) -> None:
    catalogue(edgespec_home, model, extra='unverified = ["licence"]\n')

    card = json.loads(run("info", "tiny", "--json").stdout)

    assert (card["id"], card["n_layer"], card["n_ctx_train"]) == ("tiny", 2, 512)
    assert (card["is_here"], card["size_bytes"], card["licence"]) == (False, len(model), "mit")
    assert card["sha256"] == hashlib.sha256(model).hexdigest()


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault(ignores_range=True), "gives no parts of"),
        (Fault(status=503), "HTTP status 503"),
        (Fault(cut_after=1000), "could not be read from"),
        (
            Fault(status=403, at_hub=True, headers={"X-Error-Code": "GatedRepo"}),
            f"/{REPO}, make a token",
        ),
    ],
)
def test_info_says_why_a_header_cannot_be_had(
    edgespec_home: Path, model: bytes, hub: LocalHub, fault: Fault, says: str
) -> None:
    catalogue(edgespec_home, model)
    hub.faults.append(fault)

    result = run("info", "tiny")

    assert result.exit_code == 6
    assert says in result.output
    assert "hint:" in result.output


def test_info_refuses_a_damaged_file_before_it_is_fetched(
    edgespec_home: Path, model: bytes, hub: LocalHub
) -> None:
    catalogue(edgespec_home, model)
    hub.files[REPO, FILE] = b"<!doctype html>" + model[15:]

    result = run("info", "tiny")

    assert result.exit_code == 1
    assert "is a web page, not a model" in result.output


def test_info_of_an_unreachable_hub_is_a_sentence(
    edgespec_home: Path, model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue(edgespec_home, model)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    result = run("info", "tiny")

    assert result.exit_code == 6
    assert "check the connection" in result.output


def test_info_offline_asks_nothing(
    edgespec_home: Path, model: bytes, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue(edgespec_home, model)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    result = run("info", "tiny")

    assert result.exit_code == 3
    assert hub.asked == []


def test_info_of_a_model_that_is_here_reads_it_here(edgespec_home: Path, model: bytes) -> None:
    catalogue(edgespec_home, model)
    path = put(edgespec_home / "models" / "tiny" / FILE, model)

    result = run("info", "tiny")

    assert str(path) in result.output
    assert "were fetched" not in result.output


def test_ls_shows_other_programs_models_that_are_here(home: Path, model: bytes) -> None:
    file = put(home / ".lmstudio/models/pub/mod/mod-Q4_K_M.gguf", model)

    listed = run("ls", "--here")
    (found,) = json.loads(run("ls", "--here", "--json").stdout)["models"]

    assert "* pub/mod@Q4_K_M" in listed.output
    assert "LM Studio's, read in place" in listed.output
    assert (found["path"], found["program"]) == (str(file), "LM Studio")


def test_ls_shows_a_catalogued_file_of_the_shared_cache_once(
    edgespec_home: Path, model: bytes
) -> None:
    catalogue(edgespec_home, model)
    in_cache(model, COMMIT)

    rows = json.loads(run("ls", "--here", "--json").stdout)["models"]

    assert [row["name"] for row in rows] == ["tiny"]


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
