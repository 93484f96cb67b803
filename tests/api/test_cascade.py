"""A cascade from its files to an answer: loaded, planned, drafting, explained, closed."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from edgespec.api.model import LoadedModel, load
from edgespec.api.types import Options
from edgespec.bench.suite import BenchPrompt
from edgespec.cli.main import cli
from edgespec.core import Sampling
from edgespec.drafters.cascade import CascadeDrafter
from edgespec.errors import IncompatibleDraft, UsageError
from edgespec.models.chain import drafts_named
from edgespec.proof import cascaded
from tests import tinygguf

PROMPT = "the inn and the hen: the inn, the hen, the inn"
READABLE = tuple((tinygguf.FIRST_BYTE + byte, -math.inf) for byte in range(256))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A target, a draft model and a smaller one for it; padding makes the size."""
    folder = tmp_path_factory.mktemp("cascade")
    write = tinygguf.write_llama
    return {
        "target": write(folder / "target.gguf", scale=2.0),
        "draft": write(folder / "draft.gguf", scale=2.0, noise=0.03, n_vocab_extra=64),
        "lower": write(folder / "lower.gguf", scale=2.0, noise=0.06),
        "foreign": write(folder / "foreign.gguf", scale=2.0, vocab=tinygguf.FOREIGN_VOCAB),
    }


@pytest.fixture(scope="module")
def model(files: dict[str, Path]) -> Iterator[LoadedModel]:
    chain = f"{files['draft']},{files['lower']},suffix"
    with load(files["target"], draft=chain, n_threads=1, measure=False) as loaded:
        yield loaded


def options(
    drafter: str, temperature: float = 0.0, *, reproducible: bool = False, k: int | None = None
) -> Options:
    shaping = Sampling(
        temperature, top_p=0.95, logit_bias=READABLE, seed=2, reproducible=reproducible
    )
    return Options(shaping, 60, drafter=drafter, draft_len=k)


def test_greedy_answer_is_plain_decodings(model: LoadedModel) -> None:
    texts = {name: model.complete(PROMPT, options(name)).tokens for name in ("none", "cascade")}

    assert texts["cascade"] == texts["none"]


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_reproducible_answer_is_plain_decodings(model: LoadedModel, temperature: float) -> None:
    plain, drafted = (
        model.complete(PROMPT, options(name, temperature, reproducible=True)).tokens
        for name in ("none", "cascade")
    )

    assert drafted == plain


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_same_seed_says_the_same_again_and_what_the_draft_model_alone_says(
    model: LoadedModel, temperature: float
) -> None:
    """Guesses draw nothing: not even the random streams tell that there were any."""
    answers = [
        model.complete(PROMPT, options(name, temperature, k=4)).tokens
        for name in ("cascade", "cascade", "model")
    ]

    assert answers[0] == answers[1] == answers[2]


def test_explanation_tells_the_passes_of_the_latest_answer(model: LoadedModel) -> None:
    for _ in range(2):
        model.complete(PROMPT, options("cascade", k=6))

    told = model.explain()

    assert told is not None
    assert told.cascade is not None
    drafter = model._engine.drafters["cascade"]
    assert isinstance(drafter, CascadeDrafter)
    assert 0 < told.cascade.passes < told.cascade.drafted < drafter.tally.tokens
    assert told.cascade.rows >= told.cascade.passes


def test_models_under_the_draft_are_planned_and_named(model: LoadedModel) -> None:
    lines = [line.what for line in model._loaded.plan.lines]

    assert "draft 2 weights" in lines
    assert model.description.draft == "draft.gguf,lower.gguf"
    assert [place.allocated_bytes for place in model.description.memory if place.allocated_bytes]


def test_model_that_is_no_smaller_is_refused(files: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="not draft for it any faster"):
        load(files["target"], draft=f"{files['lower']},{files['draft']}", n_threads=1)


def test_model_of_another_vocabulary_is_refused_or_drafts_through_what_is_shared(
    files: dict[str, Path],
) -> None:
    chain = f"{files['draft']},{files['foreign']}"

    with pytest.raises(IncompatibleDraft, match=r"foreign.*cannot draft for target"):
        load(files["target"], draft=chain, n_threads=1)
    with load(
        files["target"], draft=chain, draft_vocab="intersect", n_threads=1, measure=False
    ) as loaded:
        texts = {
            name: loaded.complete(PROMPT, options(name)).tokens for name in ("none", "cascade")
        }

    assert texts["cascade"] == texts["none"]


@pytest.mark.parametrize("said", ["A,", ",A", "A,,B", "suffix,A", "suffix,suffix", "A,auto", "A,A"])
def test_what_is_no_cascade_is_refused(said: str) -> None:
    with pytest.raises(UsageError):
        drafts_named(said)


def test_cascade_is_the_models_that_it_names(tmp_path: Path) -> None:
    odd = tmp_path / "a,b.gguf"
    odd.touch()

    assert drafts_named("A, B,suffix") == ("A", "B")
    assert drafts_named("A,suffix") == ("A",)
    assert drafts_named(str(odd)) == (str(odd),)
    assert drafts_named(odd) == (odd,)


def test_command_line_answers_the_same_with_a_cascade(files: dict[str, Path]) -> None:
    said = ["chat", "-t", str(files["target"]), "-p", PROMPT, "-n", "12", "--temp", "0"]
    chain = f"{files['draft']},{files['lower']}"

    plain = CliRunner().invoke(cli, [*said, "--draft", "off"])
    drafted = CliRunner().invoke(cli, [*said, "--draft", chain, "--drafter", "cascade"])

    assert (plain.exit_code, drafted.exit_code) == (0, 0), drafted.output
    assert drafted.stdout == plain.stdout


def test_doctor_counts_the_passes_that_are_spared(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [BenchPrompt("hen", "chat", "en", "short", 1, 12, (("user", PROMPT),))]
    monkeypatch.setattr(cascaded, "prompts", lambda suite: asked)
    pair = [str(files["target"]), f"{files['draft']},{files['lower']}"]

    found = CliRunner().invoke(cli, ["doctor", "--cascade", *pair])

    assert found.exit_code == 0, found.output
    assert "retrieval and lower.gguf; 4 tokens each; here" in found.stdout
    assert "passes/token" in found.stdout
