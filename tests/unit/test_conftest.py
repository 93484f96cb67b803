import os
import socket
from pathlib import Path

import pytest


def test_environment_points_to_the_tests_own_home(edgespec_home: Path) -> None:
    assert os.environ["EDGESPEC_HOME"] == str(edgespec_home)
    assert os.environ["EDGESPEC_CHECK"] == "1"


def test_connection_is_refused_when_it_leaves_the_machine() -> None:
    with socket.socket() as s, pytest.raises(OSError, match="may not connect to"):
        s.connect(("192.0.2.1", 80))


def test_connection_is_made_when_it_stays_on_the_machine() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        assert client.getpeername() == server.getsockname()
