"""What every test starts from: a home of its own, a clean environment, no network.

A test marked `models` keeps the network and finds downloaded models under `models_home`.
"""

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
"""The same examples in every run, on slow machines too: a change that breaks nothing never fails by
chance."""
settings.load_profile("same")
pytest_plugins = ("tests.strangers",)
MODELS_HOME = os.environ.get("EDGESPEC_HOME")
_CLEANED = ("EDGESPEC_", "HF_", "HUGGINGFACE_", "LLAMA_", "TEXTUAL", "XDG_")
_CLEANED_NAMES = ("NO_COLOR", "FORCE_COLOR", "PYTHONIOENCODING", "COLUMNS", "LINES")


def _clean_environment() -> None:
    """Runs at import: some of these are read when a native library loads."""
    for name in list(os.environ):
        if name.startswith(_CLEANED) or name in _CLEANED_NAMES:
            del os.environ[name]
    os.environ["EDGESPEC_HOME"] = str(Path(tempfile.gettempdir(), f"edgespec-tests-{os.getpid()}"))
    os.environ["EDGESPEC_CHECK"] = "1"
    os.environ["OMP_WAIT_POLICY"] = "passive"
    os.environ["TERM"] = "xterm-256color"


_clean_environment()


@pytest.fixture(autouse=True)
def edgespec_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own EDGESPEC_HOME; nothing in it yet, not even the folder."""
    home = tmp_path / "edgespec-home"
    monkeypatch.setenv("EDGESPEC_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def models_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where real models are kept over test runs: the EDGESPEC_HOME pytest was started with."""
    return Path(MODELS_HOME) if MODELS_HOME else tmp_path_factory.mktemp("models-home")


@pytest.fixture(autouse=True)
def _only_loopback(request: pytest.FixtureRequest) -> Iterator[None]:
    """Refuse every connection that would leave this machine."""
    if request.node.get_closest_marker("models"):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _refusing(getattr(socket.socket, name)))
        yield


def _refusing(connect: Callable[..., Any]) -> Callable[..., Any]:
    def checked(self: socket.socket, address: Any) -> Any:
        is_ip = self.family in (socket.AF_INET, socket.AF_INET6)
        if is_ip and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"tests may not connect to {address[0]}")
        return connect(self, address)

    return checked
