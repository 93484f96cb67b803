import pytest

from edgespec.models.hub_client import gist


class ReadTimeout(Exception):
    """Named as the client's own."""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(-2, "Name or service not known"), "Name or service not known"),
        (OSError("[Errno 111] Connection refused"), "Connection refused"),
        (ValueError("no such host.\nFor more, see a page"), "no such host"),
        (ReadTimeout("x"), "nothing came in time"),
        (ValueError(""), "ValueError"),
    ],
)
def test_gist_is_a_clause_without_numbers(error: Exception, told: str) -> None:
    assert gist(error) == told
