"""Loading: what is wrong is told before the weights are read, several models live side by side."""

import gc
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

import edgespec
from edgespec.api.files import Files, find_files
from edgespec.api.load import Loaded, load_pair
from edgespec.api.model import LoadedModel, load
from edgespec.api.pace import PHASE
from edgespec.engine import model as engine_model
from edgespec.errors import (
    EdgespecError,
    IncompatibleDraft,
    ModelFileError,
    ModelNotFound,
    UsageError,
)
from tests import tinygguf
from tests.api.answers import options
from tests.api.roomy import write_roomy

Loader = Callable[..., LoadedModel]


@pytest.fixture
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a model's weights would be read."""

    def refuse(*arguments: object) -> None:
        raise AssertionError("weights were read")

    monkeypatch.setattr(engine_model.Model, "_load", refuse)


def test_package_names_the_loader(files: dict[str, Path]) -> None:
    with edgespec.load(files["llama"], n_threads=1) as model:
        reply = model.complete("Hello", edgespec.Options(max_tokens=3))

    assert reply.stats.generated_tokens == 3
    with pytest.raises(edgespec.Closed):
        model.complete("Hello")


def test_description_tells_what_is_loaded(pair: LoadedModel) -> None:
    about = pair.description

    assert (about.target, about.draft) == ("llama.gguf", "draft.gguf")
    assert (about.target_quant, about.draft_quant) == ("F32", "F32")
    assert (about.drafter, about.drafter_note) == ("suffix+model", "")
    assert about.n_ctx == 512
    assert about.backend == "CPU, 1 thread"
    assert not about.can_think


def test_draft_that_is_off_is_none(files: dict[str, Path]) -> None:
    with load(files["llama"], draft="off", n_threads=1, measure=False) as model:
        assert model.description.draft is None


def test_load_has_the_texts_of_a_pair_read_once(
    loaded: Loader, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "edgespec.llama")

    loaded("llama", "draft")

    kinds = [m.split("=")[1].strip() for m in caplog.messages if "vocab type" in m]
    assert kinds == ["SPM", "no vocab"]


@pytest.mark.usefixtures("no_weights")
def test_draft_of_other_words_is_refused_before_weights_are_read(loaded: Loader) -> None:
    with pytest.raises(IncompatibleDraft) as refusal:
        loaded("llama", "other-words")

    words = tinygguf.OTHER_VOCAB
    first = min(words.id_of("x"), words.id_of("y"))
    assert "llama.gguf" in refusal.value.message
    assert "other-words.gguf" in refusal.value.message
    assert str(first) in refusal.value.message


@pytest.mark.usefixtures("no_weights")
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"drafter": "magic"}, UsageError),
        ({"drafter": "model"}, UsageError),
        ({"n_threads": 0}, UsageError),
        ({"n_ctx": 100_000}, UsageError),
    ],
)
def test_meaningless_option_is_refused_before_weights_are_read(
    loaded: Loader, options: dict[str, object], error: type[EdgespecError]
) -> None:
    with pytest.raises(error) as refusal:
        loaded("llama", **options)

    assert refusal.value.message


@pytest.mark.usefixtures("no_weights")
def test_drafter_that_needs_a_model_is_refused_when_none_is_found(
    files: dict[str, Path],
) -> None:
    with pytest.raises(ModelNotFound) as refusal:
        load(files["llama"], draft="auto", drafter="suffix+model")

    assert "llama.gguf" in refusal.value.message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.gguf", b""),
        ("page.gguf", b"<!DOCTYPE html><html>not found</html>"),
        ("short.gguf", None),
    ],
)
@pytest.mark.usefixtures("no_weights")
def test_unusable_file_is_refused_in_words(
    files: dict[str, Path], tmp_path: Path, name: str, content: bytes | None
) -> None:
    path = tmp_path / name
    path.write_bytes(files["llama"].read_bytes()[:100_000] if content is None else content)

    with pytest.raises(ModelFileError) as refusal:
        load(path)

    assert name in refusal.value.message


def test_missing_file_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(EdgespecError) as refusal:
        load(tmp_path / "none.gguf")

    assert "none.gguf" in refusal.value.message


def test_path_may_have_any_characters(files: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "Modèle é 日本 🦙"
    folder.mkdir()
    path = Path(shutil.copy(files["llama"], folder / "m ö.gguf"))

    with load(path, draft=path, n_threads=1, drafter="model") as model:
        reply = model.complete("Hello", options(4))

    assert reply.stats.generated_tokens == 4


def test_draft_with_a_padded_vocabulary_drafts(files: dict[str, Path], tmp_path: Path) -> None:
    padded = tinygguf.write_llama(tmp_path / "padded.gguf", scale=3.0, n_vocab_extra=8)
    for target, draft in ((files["llama"], padded), (padded, files["llama"])):
        with load(target, draft=draft, drafter="model", n_threads=1) as model:
            plain = model.complete("the inn", options(30, drafter="none"))
            drafted = model.complete("the inn", options(30, draft_len=4))

        assert drafted.tokens == plain.tokens
        assert drafted.stats.drafted > 0


def test_models_live_side_by_side(loaded: Loader) -> None:
    alone = [loaded(name).complete("Hello", options(10)).text for name in ("llama", "gemma3")]
    two = [loaded(name) for name in ("llama", "gemma3")]

    streams = [model.chat("Hello", options(10)) for model in two]
    texts = ["".join(e.text for e in stream if e.kind == "text") for stream in streams]

    assert texts == alone
    assert texts[0] != texts[1]


def test_progress_tells_phases_and_may_give_up(files: dict[str, Path]) -> None:
    told: list[str] = []

    def progress(phase: str, fraction: float) -> None:
        assert 0 <= fraction <= 1
        told.append(phase)
        if phase == PHASE:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(files["llama"], draft=files["draft"], n_threads=1, progress=progress)

    assert list(dict.fromkeys(told)) == [
        "checking llama.cpp",
        "loading llama.gguf",
        "loading draft.gguf",
        PHASE,
    ]


def test_failure_after_the_weights_frees_them(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    freed: list[Loaded] = []
    monkeypatch.setattr("edgespec.api.model.load_pair", _noting(freed))

    def fail(phase: str, fraction: float) -> None:
        if phase == PHASE:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        load(files["llama"], draft=files["draft"], n_threads=1, progress=fail)

    assert [loaded.target._handle for loaded in freed] == [None]


def _noting(made: list[Loaded]) -> Callable[..., Loaded]:
    def noted(*arguments: object, **options: object) -> Loaded:
        made.append(load_pair(*arguments, **options))  # type: ignore[arg-type]
        return made[-1]

    return noted


def test_model_without_a_template_says_so(tmp_path: Path) -> None:
    path = tinygguf.write_llama(tmp_path / "m.gguf", chat_template=None)

    with load(path, n_threads=1) as model:
        notice = model.notice
        reply = model.complete("Hello", options(3))

    assert notice
    assert reply.stats.generated_tokens == 3


def test_load_is_quiet(
    files: dict[str, Path], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with load(files["llama"], draft=files["draft"], n_threads=1) as model:
        model.complete("Hello", options(5))

    out = capfd.readouterr()
    assert (out.out, out.err) == ("", "")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_memory_holds_no_row_of_logits_for_every_token_of_the_context(tmp_path: Path) -> None:
    path = tinygguf.write_llama(tmp_path / "wide.gguf", n_vocab_extra=30_000, n_ctx=4096)

    def used_bytes(n_ctx: int) -> int:
        with edgespec.load(path, n_threads=1, n_ctx=n_ctx, measure=False) as model:
            model.complete("Hello", options(16, drafter="suffix"))
            return int(psutil.Process().memory_info().rss)

    used_bytes(4096)
    rise_bytes = used_bytes(4096) - used_bytes(512)

    assert rise_bytes < 100e6  # the rows alone would be 435 MB


def test_ten_loads_leave_no_memory_behind(tmp_path: Path) -> None:
    target = write_roomy(tmp_path / "target.gguf")
    draft = write_roomy(tmp_path / "draft.gguf", noise=0.05)

    def cycle() -> int:
        with load(target, draft=draft, n_ctx=4096, n_threads=1, measure=False) as model:
            model.complete("Hello", options(5))
            gc.collect()
            rss_bytes: int = psutil.Process().memory_info().rss
            return rss_bytes

    before_bytes = cycle()
    held_bytes = before_bytes - psutil.Process().memory_info().rss
    for _ in range(9):
        last_bytes = cycle()

    assert held_bytes > 8e6, "a model that stayed would not be seen"
    assert last_bytes - before_bytes < 30e6


def test_auto_goes_on_without_a_damaged_draft_and_says_why(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(files["draft"].read_bytes()[:5000])

    found = with_advised(files["llama"], [damaged, files["other-words"]], monkeypatch)

    assert found.draft is None
    assert "damaged.gguf" in found.note
    assert "other-words.gguf cannot draft for llama.gguf" in found.note


def test_auto_reads_no_draft_for_a_drafter_that_needs_none(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = with_advised(files["llama"], [files["draft"]], monkeypatch, drafter="suffix")

    assert found.draft is None
    assert found.note == ""


@pytest.mark.parametrize("role", ["target", "draft"])
def test_a_draft_head_is_refused_by_name(files: dict[str, Path], role: str) -> None:
    head = "qwen3.8-27b-mtp"
    target = head if role == "target" else files["llama"]
    draft = head if role == "draft" else None

    with pytest.raises(UsageError, match="draft head inside another model"):
        find_files(target, draft, "auto")


def with_advised(
    target: Path, drafts: list[Path], monkeypatch: pytest.MonkeyPatch, drafter: str = "auto"
) -> Files:
    """What "auto" finds for a target to which a catalogue advises `drafts`."""
    from edgespec.api import files as module

    real = module._located

    def located(name: str | Path) -> tuple[Path, str, tuple[str, ...]]:
        path, id, _ = real(Path(name))
        return path, id, tuple(map(str, drafts))

    monkeypatch.setattr(module, "_located", located)
    return find_files(target, "auto", drafter)


def test_load_refuses_a_keyword_that_is_not_there(files: dict[str, Path]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'drafer'"):
        load(files["llama"], drafer="none")  # type: ignore[call-arg]
