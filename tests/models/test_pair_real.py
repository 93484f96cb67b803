"""`edgespec pair` on real files: the right draft is listed, the wrong one refused by its token."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from edgespec.cli.main import cli

pytestmark = [pytest.mark.models, pytest.mark.qwen]


def test_pair_lists_the_fitting_draft_and_names_the_others_token(
    models_home: Path,
    qwen_pair: tuple[Path, Path],
    smollm2: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EDGESPEC_HOME", str(models_home))

    result = CliRunner().invoke(cli, ["pair", "qwen2.5-coder-1.5b", "--json"])

    found = {one["name"]: one for one in json.loads(result.stdout)["candidates"]}
    assert (result.exit_code, found["qwen2.5-coder-0.5b"]["verdict"]) == (0, "fits")
    assert found["smollm2-135m"]["verdict"] == "unfit"
    assert found["smollm2-135m"]["reason"].startswith("token 0 differs: '!' in ")
