"""Planned bytes against what the process really takes: caches and buffers, not llama.cpp's word."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from edgespec.engine.children import environment
from tests.api.roomy import write_roomy

ROOT = Path(__file__).parents[2]
MEASURE = """
import gc, json, sys
from pathlib import Path
import psutil
from edgespec.api.files import find_files
from edgespec.api.load import load_pair
from edgespec.api.model import LoadedModel
from edgespec.api.pace import typical
from edgespec.plan.types import Asked
from tests.api.answers import options

def taken(draft, kv_type, n_ctx):
    before = psutil.Process().memory_info().rss
    asked = Asked(kv_type=kv_type, draft="required" if draft else "off")
    loaded = load_pair(find_files(target, draft, "auto"), n_ctx=n_ctx, n_threads=1,
                       progress=lambda phase, share: None, asked=asked)
    with LoadedModel(loaded, "auto", typical(loaded)) as model:
        model.complete("Hello " * 30, options(4, drafter="model" if draft else "none"))
        grown = psutil.Process().memory_info().rss - before
    planned = sum(line.size_bytes for line in loaded.plan.lines if line.what != "margin")
    gc.collect()
    return planned, grown

target, draft = map(Path, sys.argv[1:])
taken(None, None, 256)  # libraries and the first arenas
print(json.dumps([taken(draft if d else None, kv, n) for d, kv, n in
                  ((0, None, 512), (0, None, 4096), (0, None, 8192), (0, "q8_0", 8192),
                   (1, None, 8192), (1, "q8_0", 8192))]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere pages come and go in other ways")
def test_plan_is_what_the_process_grows_by(tmp_path: Path) -> None:
    target = write_roomy(tmp_path / "target.gguf")
    draft = write_roomy(tmp_path / "draft.gguf", noise=0.05, n_layer=4)
    command = [sys.executable, "-c", MEASURE, str(target), str(draft)]

    result = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment(), check=True
    )

    found = json.loads(result.stdout)
    for planned, grown in found:
        assert planned == pytest.approx(grown, rel=0.15, abs=4e6), found
    short, middle, whole, packed, pair, packed_pair = (planned for planned, _ in found)
    assert short < middle < packed < whole
    assert whole < pair
    assert packed < packed_pair < pair
