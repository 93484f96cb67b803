import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import edgespec
from edgespec.errors import DownloadError, ModelNotFound
from edgespec.store import Patience
from tests.hub import COMMIT, Fault, LocalHub, serving
from tests.unit.wheels import content

DATA = content(3_000_000)
HASTY = Patience(tries=2, pause_s=0.01)
ENTRY = f"""
[models.tiny]
title = "Tiny"
repo = "owner/tiny"
file = "tiny.gguf"
revision = "{COMMIT}"
quant = "Q8_0"
size_bytes = {len(DATA)}
sha256 = "{hashlib.sha256(DATA).hexdigest()}"
"""


@pytest.fixture
def hub(tmp_path: Path, edgespec_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    edgespec_home.mkdir(parents=True, exist_ok=True)
    (edgespec_home / "models.toml").write_text(ENTRY)
    with serving() as server:
        server.files["owner/tiny", "tiny.gguf"] = DATA
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def test_download_gives_states_and_then_the_path(hub: LocalHub) -> None:
    pull = edgespec.download("tiny")

    states = list(pull)

    assert (states[0].kind, states[0].file) == ("pull", "tiny.gguf")
    assert states[-1].done_bytes == states[-1].total_bytes == len(DATA)
    assert pull.path is not None
    assert pull.path.read_bytes() == DATA


def test_download_offline_asks_nobody_for_a_repository(hub: LocalHub) -> None:
    with pytest.raises(ModelNotFound, match="offline mode forbids asking the hub"):
        edgespec.download("owner/other", offline=True)

    assert hub.asked == []


def test_download_of_what_is_here_gives_its_path_at_once(hub: LocalHub) -> None:
    first = edgespec.download("tiny")
    list(first)
    again = edgespec.download("tiny", offline=True)

    assert list(again) == []
    assert again.path == first.path


def test_download_of_a_file_gives_that_file(hub: LocalHub) -> None:
    done = edgespec.download("tiny")
    list(done)
    assert done.path is not None

    own = edgespec.download(done.path)

    assert list(own) == []
    assert own.path == done.path


def test_download_ends_when_its_iterator_is_left(hub: LocalHub) -> None:
    hub.faults.append(Fault(rate=2_000_000))

    with edgespec.download("tiny") as pull:
        for state in pull:
            if state.done_bytes:
                break
    sent = hub.sent_bytes
    second = edgespec.download("tiny")
    list(second)

    assert pull.path is None
    assert sent < len(DATA)
    assert hub.gets[-1].range.startswith("bytes=")  # what came was kept


def test_download_that_is_closed_elsewhere_ends_its_iterator(hub: LocalHub) -> None:
    hub.faults.append(Fault(rate=500_000))
    pull = edgespec.download("tiny")
    states = iter(pull)
    next(states)
    reader = threading.Thread(target=list, args=(states,), daemon=True)
    reader.start()

    pull.close()
    reader.join(20)

    assert not reader.is_alive()
    assert pull.path is None


def test_download_that_is_over_ends_at_once_when_iterated_again(hub: LocalHub) -> None:
    hub.faults.extend([Fault(status=404)] * 3)
    pull = edgespec.download("tiny", patience=HASTY)
    with pytest.raises(DownloadError):
        list(pull)
    again = threading.Thread(target=list, args=(pull,), daemon=True)

    again.start()
    again.join(20)

    assert not again.is_alive()


def test_download_raises_where_it_is_iterated(hub: LocalHub) -> None:
    hub.faults.extend([Fault(status=404)] * 3)
    pull = edgespec.download("tiny", patience=HASTY)

    with pytest.raises(DownloadError, match="HTTP status 404"):
        list(pull)


def test_download_of_an_unknown_name_raises_at_once() -> None:
    with pytest.raises(ModelNotFound, match="no model is called"):
        edgespec.download("nonesuch")
