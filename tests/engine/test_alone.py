"""Modules without the package around them: the front never runs, and nothing stays behind."""

import importlib
import sys
from pathlib import Path

import pytest

from edgespec.engine.alone import import_alone

FRONT = "raise AssertionError('the front ran')"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with two modules, one of which imports the other by its full name."""
    folder = tmp_path / "fronted"
    folder.mkdir()
    (folder / "__init__.py").write_text(FRONT)
    (folder / "first.py").write_text("from fronted.second import N\n")
    (folder / "second.py").write_text("N = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "fronted"


def test_modules_come_without_the_front(package: str) -> None:
    first, second = import_alone(package, ("first", "second"))

    assert (first.N, second.N) == (7, 7)


def test_package_is_whole_for_whoever_imports_it_later(package: str) -> None:
    import_alone(package, ("first",))

    assert not [name for name in sys.modules if name.startswith(package)]
    with pytest.raises(AssertionError, match="the front ran"):
        importlib.import_module(package)


def test_nothing_stays_behind_when_a_module_is_not_there(package: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        import_alone(package, ("first", "third"))

    assert not [name for name in sys.modules if name.startswith(package)]


def test_package_that_is_imported_already_is_used_as_it_is() -> None:
    import email.message

    assert import_alone("email", ("message",)) == (email.message,)
    assert sys.modules["email.message"] is email.message


def test_missing_package_is_an_import_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        import_alone("no_such_package", ("any",))
