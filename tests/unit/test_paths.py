from pathlib import Path

import pytest

from edgespec import paths

HUB_VARIABLES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME")


def test_paths_lie_in_one_folder_when_edgespec_home_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))

    found = (paths.config_dir(), paths.data_dir(), paths.state_dir(), paths.cache_dir())

    assert found == (tmp_path, tmp_path, tmp_path, tmp_path / "cache")
    assert paths.models_dir() == tmp_path / "models"


def test_edgespec_home_does_not_depend_on_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDGESPEC_HOME", "here")

    assert paths.data_dir() == tmp_path / "here"


def test_paths_are_the_platforms_when_edgespec_home_is_not_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("EDGESPEC_HOME", raising=False)

    assert {paths.config_dir().name, paths.models_dir().parent.name} == {"edgespec"}
    assert "edgespec" in paths.cache_dir().parts


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (HUB_VARIABLES, "HF_HUB_CACHE"),
        (HUB_VARIABLES[1:], "HUGGINGFACE_HUB_CACHE"),
        (HUB_VARIABLES[2:], "HF_HOME/hub"),
        (HUB_VARIABLES[3:], "XDG_CACHE_HOME/huggingface/hub"),
        ((), "home/.cache/huggingface/hub"),
    ],
)
def test_hub_cache_follows_hugging_faces_variables_in_their_order(
    given: tuple[str, ...], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in HUB_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name in given:
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))

    assert paths.hub_cache() == tmp_path / expected


def test_hub_cache_may_name_other_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_DISK", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", "$MY_DISK/hub")

    assert paths.hub_cache() == tmp_path / "hub"
