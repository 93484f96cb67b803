"""A pair on several devices: workers on loopback, of different sizes, as llama.cpp sees them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from edgespec.api.model import LoadedModel, load
from edgespec.engine.rpc.client import connect
from edgespec.engine.rpc.worker import Worker
from edgespec.errors import DoesNotFit, WorkerLost
from edgespec.events import Delta
from tests.api.answers import EVERY_DRAFTER, options
from tests.api.conftest import Gate
from tests.api.roomy import write_roomy
from tests.workers import MIB, Start, needs_rpc, starting

pytestmark = needs_rpc
LARGE, SMALL = 1500 * MIB, 400 * MIB
PLAIN = options(16, drafter="none")
Open = Callable[..., LoadedModel]


@pytest.fixture(scope="module")
def pair_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("roomy")
    target = write_roomy(folder / "target.gguf")
    return target, write_roomy(folder / "draft.gguf", noise=0.05, n_layer=2)


@pytest.fixture
def worker() -> Iterator[Start]:
    with starting() as start:
        yield start


@pytest.fixture
def opened(pair_files: tuple[Path, Path]) -> Iterator[Open]:
    """Loads the pair; closes it after the test."""
    models: list[LoadedModel] = []
    target, draft = pair_files

    def opener(*workers: Worker, **wishes: Any) -> LoadedModel:
        if workers:
            wishes["rpc"] = ",".join(str(one.endpoint) for one in workers)
        wishes = {"draft": draft, "n_threads": 1, "measure": False, "n_ctx": 1024, **wishes}
        models.append(load(target, **wishes))
        return models[-1]

    yield opener
    for model in models:
        model.close()


def devices_of(*workers: Worker) -> tuple[str, ...]:
    """Their names in the registry."""
    return tuple(name for one in workers for name in connect(one.endpoint))


def place_names(model: LoadedModel) -> set[str]:
    return {place.where for place in model.description.memory}


def test_pair_goes_to_the_roomiest_worker(opened: Open, worker: Start) -> None:
    small, large = worker(SMALL), worker(LARGE)

    model = opened(small, large)

    (used,) = place_names(model) - {"CPU"}
    assert str(large.endpoint) in model.description.backend
    assert str(small.endpoint) not in model.description.backend
    assert used.startswith("RPC")


@pytest.mark.parametrize("n_workers", [2, 3])
def test_greedy_text_is_the_same_on_one_device_and_on_several(
    opened: Open, worker: Start, n_workers: int
) -> None:
    lent = [LARGE, SMALL, SMALL + 50 * MIB][:n_workers]
    workers = [worker(size) for size in lent]
    here = opened().complete("Count", options(32, drafter="none")).text
    names = devices_of(*workers)

    model = opened(*workers, devices=names)
    texts = {d: model.complete("Count", options(32, drafter=d)).text for d in EVERY_DRAFTER}

    assert place_names(model) == {"CPU", *names}
    assert texts == dict.fromkeys(EVERY_DRAFTER, here)


def test_greedy_text_is_the_same_with_every_matrix_on_both(opened: Open, worker: Start) -> None:
    workers = [worker(LARGE), worker(LARGE)]
    here = opened(draft=None).complete("Count", PLAIN).text

    model = opened(*workers, devices=devices_of(*workers), split_mode="tensor", draft=None)

    assert model._loaded.plan.target.split_mode == "tensor"
    assert model.complete("Count", PLAIN).text == here


def test_split_follows_the_memory_and_the_drafter_lies_on_one(opened: Open, worker: Start) -> None:
    workers = [worker(LARGE), worker(SMALL)]
    names = devices_of(*workers)

    model = opened(*workers, devices=names)

    plan = model._loaded.plan
    by_name = dict(zip(plan.target.devices, plan.target.split, strict=True))
    assert by_name[names[0]] > by_name[names[1]] > 0
    assert plan.draft is not None
    assert len(plan.draft.devices) == 1
    assert model._loaded.target.devices == plan.target.devices
    assert model._loaded.draft is not None
    assert model._loaded.draft.devices == plan.draft.devices


def test_allocation_on_workers_is_what_was_planned(opened: Open, worker: Start) -> None:
    workers = [worker(LARGE), worker(SMALL)]
    names = devices_of(*workers)

    model = opened(*workers, devices=names)

    for place in model.description.memory:
        off = abs(place.planned_bytes - place.allocated_bytes)
        assert off < max(16 * MIB, 0.03 * place.allocated_bytes), place


def test_worker_that_dies_mid_answer_keeps_the_text_and_the_process(
    opened: Open, worker: Start, gate: Gate
) -> None:
    stays, goes = worker(LARGE), worker(SMALL)
    names = devices_of(stays, goes)
    model = opened(stays, goes, devices=names, draft=None)
    whole = model.complete("Count", PLAIN).text
    said: list[str] = []

    def hear() -> None:
        for event in stream:
            said.append(event.text if isinstance(event, Delta) else "")
            if not goes.is_closed and any(said):
                gate.wait()
                goes.close()
                gate.release()

    gate.hold(at=8)
    stream = model.chat("Count", PLAIN)
    with pytest.raises(WorkerLost, match=f"the worker {goes.endpoint} is lost"):
        hear()
    partial = "".join(said)
    model.close()
    again = opened(stays, draft=None).complete("Count", PLAIN).text

    assert partial
    assert whole.startswith(partial)
    assert len(partial) < len(whole)
    assert stream.stats.finish_reason == "error"
    assert again == whole


def test_answers_after_the_loss_are_refused_at_once(opened: Open, worker: Start) -> None:
    only = worker(LARGE)
    model = opened(only, draft=None)
    only.close()

    for _ in range(2):
        with pytest.raises(WorkerLost):
            model.complete("Count", options(4))


def test_device_for_a_draft_that_there_is_not_is_told(
    opened: Open, worker: Start, caplog: pytest.LogCaptureFixture
) -> None:
    lent = worker(SMALL)
    (name,) = devices_of(lent)

    opened(lent, draft="auto", draft_devices=(name,))

    assert f"there is no draft model to lie on {name}" in caplog.text


def test_wish_for_more_than_a_worker_lends_is_refused(opened: Open, worker: Start) -> None:
    little = worker(128 * MIB)
    wish = {"devices": devices_of(little), "n_ctx": 8192, "kv_type": "f32", "n_gpu_layers": 9}

    with pytest.raises(DoesNotFit, match=r"on RPC\d+ .* but 128 MiB are free"):
        opened(little, **wish)
