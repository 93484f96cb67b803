"""Distributions of strangers, installed by their metadata into a folder of the test's."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgespec.drafters import third_party

SOUND = """
from edgespec.core import Draft
from edgespec.drafters.arms import Bucket

class Last:
    name = "last"
    needs_draft_model = False
    buckets = (Bucket("again", 0.5),)

    def __init__(self, inputs):
        pass

    def outlook(self, context, heard):
        while True:
            yield 0

    def draft(self, context, k, sampler):
        return Draft((int(context[-1]),) * min(k, 1))
"""
MODEL = """
from edgespec.drafters.model import ModelDrafter

class Mine(ModelDrafter):
    name = "mine"
"""
"""A drafter with passes of its own."""
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a distribution with one module and its drafters."""
    monkeypatch.syspath_prepend(tmp_path)
    modules: list[str] = []

    def installed(source: str, *points: str, package: str = "stranger") -> None:
        module = package.replace("-", "_")
        modules.append(module)
        (tmp_path / f"{module}.py").write_text(source)
        metadata = tmp_path / f"{module}-1.2.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n"
        )
        lines = "".join(f"{point}\n" for point in points)
        (metadata / "entry_points.txt").write_text(f"[edgespec.drafters]\n{lines}")
        third_party.forget()

    third_party.forget()
    yield installed
    third_party.forget()
    for module in modules:
        sys.modules.pop(module, None)
