"""Loading by plan: each rung of the memory ladder is reached, told, and answers."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgespec.api.files import Files, find_files
from edgespec.api.load import Loaded, load_pair
from edgespec.api.model import LoadedModel, load
from edgespec.api.pace import typical
from edgespec.api.place import planned
from edgespec.control import LONGEST
from edgespec.engine import trial
from edgespec.engine.children import environment
from edgespec.engine.context import ContextOptions
from edgespec.engine.model import LoadOptions
from edgespec.errors import DoesNotFit, UsageError
from edgespec.plan.fit import MAX_LOGITS
from edgespec.plan.types import Asked
from tests.api.answers import options
from tests.api.roomy import write_roomy

MIB = 2**20
ROOT = Path(__file__).parents[2]
Carry = Callable[[int], tuple[Loaded, LoadedModel]]
AUTO = Asked(draft="auto")


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A target with a large cache, its draft, and a smaller draft beside it."""
    folder = tmp_path_factory.mktemp("roomy")
    target = write_roomy(folder / "target.gguf")
    first = write_roomy(folder / "first.gguf", noise=0.05, n_layer=4)
    second = write_roomy(folder / "second.gguf", noise=0.05, n_layer=1)
    smaller = find_files(target, second, "auto")
    return replace(find_files(target, first, "auto"), others=(smaller,))


@pytest.fixture
def carried(roomy: Files) -> Iterator[Carry]:
    """Loads within a budget of memory; closes what was loaded."""
    opened: list[LoadedModel] = []

    def carry(memory_bytes: int) -> tuple[Loaded, LoadedModel]:
        loaded = load_pair(
            roomy,
            n_ctx=None,
            n_threads=1,
            progress=lambda phase, share: None,
            asked=AUTO,
            memory_bytes=memory_bytes,
        )
        opened.append(LoadedModel(loaded, "auto", typical(loaded)))
        return loaded, opened[-1]

    yield carry
    for model in opened:
        model.close()


def most_memory_that_reaches(kind: str, files: Files) -> int:
    """The largest budget, in steps of 1 MiB, with which something of this kind gives way last."""
    for n in range(400, 0, -1):
        try:
            rungs = planned(files, AUTO, (), n * MIB).plan.rungs
        except DoesNotFit:
            break
        if rungs and rungs[-1].kind == kind:
            return n * MIB
    raise AssertionError(f"no budget makes {kind} give way")


@pytest.mark.parametrize("kind", ["draft_kv", "smaller_draft", "no_draft", "kv_type", "n_ctx"])
def test_each_rung_is_reached_told_and_answers(
    kind: str, roomy: Files, carried: Carry, caplog: pytest.LogCaptureFixture
) -> None:
    budget = most_memory_that_reaches(kind, roomy)
    caplog.clear()

    loaded, model = carried(budget)
    reply = model.complete("Hello", options(8))

    told = [rung.told for rung in loaded.plan.rungs if rung.kind == kind]
    assert told
    assert f"memory is short: {told[0]}" in caplog.messages
    assert told[0] in model.description.gave_way
    assert reply.stats.generated_tokens == 8


def test_rungs_are_carried_out(roomy: Files, carried: Carry) -> None:
    enough, least = 400 * MIB, most_memory_that_reaches("n_ctx", roomy)

    whole, _ = carried(enough)
    short, model = carried(least)

    assert whole.plan.rungs == ()
    assert whole.files.draft_id == "first.gguf"
    assert (short.files.draft_id, short.draft_session) == (None, None)
    assert short.session.n_ctx == short.plan.target.n_ctx < whole.session.n_ctx == 8192
    assert short.plan.target.kv_type == "q8_0"
    assert "no draft model" in model.description.drafter_note


def test_allocation_is_compared_with_the_plan(roomy: Files, carried: Carry) -> None:
    _, model = carried(400 * MIB)

    (here,) = model.description.memory

    assert here.where == "CPU"
    assert here.allocated_bytes > 100 * MIB
    assert abs(here.planned_bytes - here.allocated_bytes) < max(
        16 * MIB, 0.03 * here.allocated_bytes
    )


@pytest.mark.parametrize(
    "wish", [{"n_ctx": 8192}, {"kv_type": "f16", "n_ctx": 8192}, {"draft": "first.gguf"}]
)
def test_explicit_wish_is_refused_with_numbers_and_what_fits(
    wish: dict[str, Any], roomy: Files
) -> None:
    if "draft" in wish:
        wish = {"draft": roomy.target.path.with_name(wish["draft"])}

    with pytest.raises(DoesNotFit, match=r"need .* of memory .* but \d+ MiB are free") as refusal:
        load(roomy.target.path, memory_bytes=14 * MIB, n_threads=1, **wish)

    assert refusal.value.exit_code == 4
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"kv_type": "q3_0"}, "kv_type cannot be 'q3_0'"),
        ({"split_mode": "row"}, "split_mode cannot be 'row'"),
        ({"n_gpu_layers": -1}, "-1 layers"),
        ({"devices": ("CUDA7",)}, "no device 'CUDA7'"),
        ({"devices": ()}, "a list of devices names none"),
        ({"devices": "CUDA0"}, "devices is one text"),
        ({"draft": None, "draft_devices": ("CUDA7",)}, "no device 'CUDA7'"),
        ({"memory_bytes": 0}, "0 bytes of memory"),
        ({"rpc": ""}, "no worker is named"),
        ({"rpc": "desk:x"}, "'desk:x' is not a worker's address"),
    ],
)
def test_wish_without_a_meaning_is_refused(
    wish: dict[str, Any], message: str, roomy: Files
) -> None:
    with pytest.raises(UsageError, match=message):
        load(roomy.target.path, **wish)


@pytest.mark.parametrize("kv_type", ["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"])
def test_model_answers_with_every_type_of_cache(kv_type: str, roomy: Files) -> None:
    with load(roomy.target.path, kv_type=kv_type, n_ctx=256, n_threads=1, measure=False) as model:  # type: ignore[arg-type]
        reply = model.complete("Hello", options(4))

    assert reply.stats.generated_tokens == 4


LOAD_WITH_LITTLE = """
import logging, resource, sys
from pathlib import Path
from edgespec.api.model import load
logging.basicConfig(level=logging.WARNING, format="%(message)s")
def of_data():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmData:")[1].split()[0])
def limit(phase, share):  # once the libraries are here
    if phase.startswith("loading") and not limited:
        limited.append(of_data() + int(sys.argv[2]))
        resource.setrlimit(resource.RLIMIT_DATA, (limited[0],) * 2)
limited = []
with load(sys.argv[1], n_threads=1, measure=False, progress=limit) as model:
    from edgespec.api.types import Options
    stats = model.complete("Hello", Options(max_tokens=4)).stats
    print(model.description.gave_way, model.description.n_ctx, stats.generated_tokens)
"""


def test_load_that_fails_goes_down_the_ladder_by_itself(roomy: Files) -> None:
    """The plan knows nothing of this limit: llama.cpp's own allocation fails, and ggml even ends
    the process where it has no room for a graph."""
    command = [sys.executable, "-c", LOAD_WITH_LITTLE, str(roomy.target.path), str(56 * MIB)]
    child = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment(), check=False
    )

    assert child.returncode == 0, child.stderr
    assert "could not make a context of 8,192 tokens" in child.stderr
    assert "next with the cache of target.gguf is q8_0 instead of f16" in child.stderr
    assert "the cache of target.gguf is q8_0 instead of f16" in child.stdout
    assert child.stdout.rstrip().endswith(" 4")


def part_of(files: Files, n_ctx: int) -> trial.Part:
    return trial.Part(
        files.target.path,
        LoadOptions(devices=()),
        ContextOptions(n_ctx=n_ctx, n_batch=32, max_logits=8, n_threads=1),
    )


def trials(home: Path) -> set[Path]:
    return set((home / "cache" / "trials").glob("*.json"))


def test_load_that_goes_well_in_a_child_is_remembered(roomy: Files, edgespec_home: Path) -> None:
    before = trials(edgespec_home)
    trial.attempt([part_of(roomy, 512)], ["CPU"])
    kept = trials(edgespec_home) - before

    trial.attempt([part_of(roomy, 512)], ["CPU"], timeout_s=0.0)  # no child could do it in time

    assert len(kept) == 1


def test_load_that_fails_in_a_child_does_not_fit(roomy: Files) -> None:
    with pytest.raises(DoesNotFit, match="could not make a context"):
        trial.attempt([part_of(roomy, 1 << 27)], ["CPU"])


def test_plan_counts_the_rows_of_the_longest_draft() -> None:
    assert MAX_LOGITS == LONGEST + 1
