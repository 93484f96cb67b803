from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from edgespec.api.types import Options
from edgespec.chat.shelf import ModelChange
from edgespec.cli.doors import Doors
from edgespec.cli.flags import Flags
from edgespec.cli.pick import Pick
from edgespec.cli.shelf import ModelShelf
from edgespec.core import Sampling
from edgespec.errors import EdgespecError, ModelNotFound
from edgespec.models.catalogue import load_catalogue
from edgespec.models.names import Resolved
from edgespec.models.spec import ModelSpec
from tests import tinygguf
from tests.scripted import ScriptedLM

SILENT: dict[object, object] = {bool: False, tuple[str, ...]: ()}


def flags(**said: Any) -> Flags:
    given = {f.name: SILENT.get(f.type) for f in fields(Flags)}
    return Flags(**{**given, **said})


def shelf_of(model: ModelSpec | Path, load: Callable[..., ScriptedLM], **said: Any) -> ModelShelf:
    picked = Pick(Resolved(model), None, False, "auto")
    return ModelShelf(Doors(load=load), flags(**said), picked)


def advised_spec() -> ModelSpec:
    return next(spec for spec in load_catalogue() if spec.advice(think=True).given())


def silent(progress: object) -> None:
    """Hears of a load and says nothing."""


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    return path


def test_change_starts_from_what_was_loaded_last(gguf: Path) -> None:
    loads: list[tuple[object, dict[str, Any]]] = []

    def load(target: object, **given: Any) -> ScriptedLM:
        loads.append((target, given))
        return ScriptedLM()

    shelf = shelf_of(gguf, load, ctx=512, threads=3)
    shelf.take(ModelChange(n_ctx=1024))(silent)
    shelf.take(ModelChange(draft="off"))(silent)

    assert [(target, given["n_ctx"], given["n_threads"]) for target, given in loads] == [
        (gguf, 1024, 3)
    ] * 2


def test_change_that_failed_is_none(gguf: Path) -> None:
    sizes: list[int] = []

    def load(target: object, **given: Any) -> ScriptedLM:
        sizes.append(given["n_ctx"])
        if given["n_ctx"] == 1024:
            raise EdgespecError("memory is short")
        return ScriptedLM()

    shelf = shelf_of(gguf, load, ctx=512)
    with pytest.raises(EdgespecError):
        shelf.take(ModelChange(n_ctx=1024))(silent)
    shelf.take(ModelChange(draft="off"))(silent)

    assert sizes == [1024, 512]


def test_model_that_is_not_here_is_not_fetched(gguf: Path) -> None:
    shelf = shelf_of(gguf, lambda *_, **__: ScriptedLM())

    with pytest.raises(ModelNotFound):
        shelf.take(ModelChange(target=advised_spec().id))


def test_advice_changes_with_the_model_unless_the_person_changed_it(gguf: Path) -> None:
    spec = advised_spec()
    shelf = shelf_of(spec, lambda *_, **__: ScriptedLM())
    as_advised = flags().options(spec.advice(think=True).given())
    changed = replace(as_advised, sampling=Sampling(temperature=0.123))

    kept = shelf.advised(as_advised)
    shelf.take(ModelChange(target=str(gguf)))(silent)
    after, own = shelf.advised(as_advised), shelf.advised(changed)

    assert kept == as_advised
    assert after.sampling == Options().sampling != as_advised.sampling
    assert own == changed


def test_advice_never_replaces_what_was_said_even_if_that_is_the_default() -> None:
    spec = advised_spec()
    advice = spec.advice(think=True).given()
    shelf = shelf_of(spec, lambda *_, **__: ScriptedLM(), temp=0.0)
    begun = flags(temp=0.0).options(advice)

    shelf.open_first()(silent)

    assert advice["temperature"] > 0
    assert shelf.advised(begun).sampling.temperature == 0


def test_larger_context_is_what_the_model_was_trained_for_at_most(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    tinygguf.write_llama(path, n_ctx=256)
    shelf = shelf_of(path, lambda *_, **__: ScriptedLM(), ctx=64)

    assert [shelf.larger_context(n) for n in (70, 200, 300)] == [128, 256, None]


def test_context_of_a_file_that_is_gone_cannot_grow(tmp_path: Path) -> None:
    shelf = shelf_of(tmp_path / "gone.gguf", lambda *_, **__: ScriptedLM(), ctx=64)

    assert shelf.larger_context(70) is None


def test_lighter_choices_start_from_what_failed(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgespec.cli.shelf._has_gpu", lambda: True)
    draft = gguf.with_name("d.gguf")
    draft.write_bytes(b"GGUF")
    asked: list[dict[str, Any]] = []

    def load(target: object, **given: Any) -> ScriptedLM:
        asked.append(given)
        raise EdgespecError("memory is short")

    picked = Pick(Resolved(gguf), Resolved(draft), True, "auto")
    shelf = ModelShelf(Doors(load=load), flags(ctx=4096, draft=str(draft)), picked)
    for opener in (shelf.open_first(), *map(shelf.take, shelf.lighter().values())):
        with pytest.raises(EdgespecError):
            opener(silent)

    assert [given["n_ctx"] for given in asked] == [4096, 2048, 4096, 4096]
    assert [given["draft"] is not None for given in asked] == [True, True, False, False]
    assert [given.get("n_gpu_layers") for given in asked] == [None, None, None, 0]


def test_lighter_choices_add_up(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgespec.cli.shelf._has_gpu", lambda: False)
    sizes: list[int] = []

    def load(target: object, **given: Any) -> ScriptedLM:
        sizes.append(given["n_ctx"])
        raise EdgespecError("memory is short")

    shelf = shelf_of(gguf, load, ctx=2048)
    opener = shelf.open_first()
    for _ in range(3):
        with pytest.raises(EdgespecError):
            opener(silent)
        if change := shelf.lighter().get("smaller"):
            opener = shelf.take(change)

    assert sizes == [2048, 1024, 512]
    assert shelf.lighter() == {}


def test_plan_keeps_to_what_the_flags_say_and_loads_nothing(tmp_path: Path) -> None:
    def load(target: object, **given: Any) -> ScriptedLM:
        raise AssertionError("a plan loads nothing")

    path = tmp_path / "m.gguf"
    tinygguf.write_llama(path)
    shelf = shelf_of(path, load, memory="4G", ctx=256, target=str(path))

    as_begun, larger = shelf.plan(ModelChange()), shelf.plan(ModelChange(n_ctx=512))

    assert (as_begun.target.n_ctx, larger.target.n_ctx) == (256, 512)
    assert as_begun.rooms[0].free_bytes == 4 * 2**30
    assert shelf.wanted == ModelChange(str(path), "off", 256)
