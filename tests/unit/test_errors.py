"""What a program gets of an error, wherever it meets it: here, in a traceback, from a process."""

import copy
import pickle
import traceback

import pytest

import edgespec
from edgespec import errors

KINDS = sorted(
    (k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, Exception)),
    key=lambda kind: kind.__name__,
)


def made(kind: type[Exception]) -> Exception:
    if issubclass(kind, edgespec.ContextOverflow):
        return kind(20, 16, hint="shorten it")
    if issubclass(kind, edgespec.EdgespecError):
        return kind("it broke", hint="mend it")
    return kind()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_error_comes_whole_out_of_another_process(kind: type[Exception]) -> None:
    error = made(kind)

    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is kind
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)


def test_traceback_tells_the_hint() -> None:
    try:
        raise edgespec.ModelNotFound("no model is called 'smol'", hint="edgespec models")
    except edgespec.ModelNotFound as error:
        told = traceback.format_exception(error)

    assert told[-2:] == [
        "edgespec.errors.ModelNotFound: no model is called 'smol'\n",
        "hint: edgespec models\n",
    ]


def test_traceback_has_no_empty_hint() -> None:
    told = traceback.format_exception(edgespec.Busy("another answer is running"))

    assert told == ["edgespec.errors.Busy: another answer is running\n"]
