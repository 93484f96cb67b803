"""Addresses of workers, as a person types them."""

import pytest

from edgespec.engine.rpc.endpoint import DEFAULT_PORT, Endpoint, endpoints_of
from edgespec.errors import UsageError


def test_endpoints_are_read_in_order() -> None:
    found = endpoints_of("10.0.0.2:5000, desk:6000")

    assert found == (Endpoint("10.0.0.2", 5000), Endpoint("desk", 6000))


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("desk", Endpoint("desk", DEFAULT_PORT)),
        ("[::1]:70", Endpoint("::1", 70)),
        ("[::1]", Endpoint("::1", DEFAULT_PORT)),
    ],
)
def test_endpoint_may_leave_out_the_port(text: str, endpoint: Endpoint) -> None:
    assert endpoints_of(text) == (endpoint,)


@pytest.mark.parametrize("text", ["desk:", ":5000", "desk:0", "desk:65536", "desk:x", "desk:５"])
def test_endpoint_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a worker's address"):
        endpoints_of(text)


def test_endpoint_named_twice_is_refused() -> None:
    with pytest.raises(UsageError, match=r"desk:5000 is named twice"):
        endpoints_of("desk:5000,desk:5000")


def test_no_endpoint_is_refused() -> None:
    with pytest.raises(UsageError, match="no worker is named"):
        endpoints_of(" , ")


@pytest.mark.parametrize("text", ["desk:5000", "[::1]:70"])
def test_endpoint_is_written_as_it_is_read(text: str) -> None:
    assert str(endpoints_of(text)[0]) == text
