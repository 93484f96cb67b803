"""`edgespec models info` and `ls`: facts of models here and far away."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.model_world import FILE, REPO, catalogue, in_cache, put, run
from tests.hub import COMMIT, Fault, LocalHub, serving


@pytest.fixture
def hub(model: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    with serving() as server:
        server.files[REPO, FILE] = model
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


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
