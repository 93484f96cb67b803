"""Files that are whole or not there."""

from pathlib import Path

import pytest

from edgespec.files import whole, write_whole


def test_write_whole_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"

    write_whole(path, "one")
    write_whole(path, "zwei: ü")

    assert path.read_text(encoding="utf-8") == "zwei: ü"
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_whole_that_is_given_up_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")

    def interrupted() -> None:
        with whole(path) as file:
            file.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_whole_follows_no_link_that_waits_beside_it(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("not mine")
    (tmp_path / "a.json.partial").symlink_to(other)

    write_whole(tmp_path / "a.json", "mine")

    assert other.read_text() == "not mine"
