"""`draft_vocab="intersect"`: a draft model of another vocabulary, from file to answer."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from edgespec.api.model import LoadedModel, load
from edgespec.api.types import Options
from edgespec.cli.main import cli
from edgespec.core import Sampling
from edgespec.errors import IncompatibleDraft, UsageError
from tests import tinygguf
from tests.tinygguf import FOREIGN_VOCAB

PROMPT = "the inn and the hen: the inn, the hen, the inn, été 日本"
READABLE = tuple((tinygguf.FIRST_BYTE + byte, -math.inf) for byte in range(256))
GRAMMAR = 'root ::= ("th" | "and" | [a-f])+'
READ = Sampling(logit_bias=READABLE)
Files = tuple[Path, Path]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("other-vocab")
    target = tinygguf.write_llama(folder / "target.gguf", scale=2.0)
    draft = tinygguf.write_llama(
        folder / "foreign.gguf", scale=2.0, noise=0.05, vocab=FOREIGN_VOCAB, n_vocab_extra=7
    )
    return target, draft


@pytest.fixture(scope="module")
def model(pair: Files) -> Iterator[LoadedModel]:
    target, draft = pair
    with load(target, draft=draft, draft_vocab="intersect", n_threads=1, measure=False) as loaded:
        yield loaded


def options(drafter: str, *, temperature: float = 0.0, **said: object) -> Options:
    shaping = Sampling(temperature, top_p=0.95, logit_bias=READABLE, seed=1)
    return Options(shaping, 60, drafter=drafter, **said)  # type: ignore[arg-type]


def test_texts_of_the_drafts_vocabulary_are_planned(model: LoadedModel) -> None:
    parts = [line.what for line in model._loaded.plan.lines]

    assert "draft vocabulary" in parts


@pytest.mark.parametrize("drafter", ["model", "cascade", "suffix+model", "auto"])
@pytest.mark.parametrize("prompt", [PROMPT, "x", "日本日本日本", "an inn " * 40])
def test_greedy_text_is_plain_decodings(model: LoadedModel, drafter: str, prompt: str) -> None:
    plain = model.complete(prompt, options("none")).tokens

    assert model.complete(prompt, options(drafter)).tokens == plain


def test_bytes_of_unfinished_characters_change_nothing(model: LoadedModel) -> None:
    """Without the ban on bytes, tiny models write them wildly."""
    plain = model.complete(PROMPT, Options(max_tokens=80, drafter="none")).tokens

    drafted = model.complete(PROMPT, Options(max_tokens=80, drafter="model", draft_len=4))

    assert drafted.tokens == plain
    assert drafted.stats.drafted > 0


def test_drafts_of_what_both_can_say_are_accepted(model: LoadedModel) -> None:
    capitals = {tinygguf.VOCAB.id_of(chr(c)) for c in range(ord("A"), ord("Z") + 1)}
    others = set(range(len(tinygguf.VOCAB))) - capitals  # a text of capitals can be cut in one way
    shaping = Sampling(logit_bias=tuple((token, -math.inf) for token in others))

    stats = model.complete(PROMPT, Options(shaping, 60, drafter="model", draft_len=4)).stats

    assert stats.accepted > 0.5 * stats.drafted > 10


@pytest.mark.parametrize("k", [1, 4, 9])
def test_reproducible_text_is_the_same_with_and_without(model: LoadedModel, k: int) -> None:
    shaping = Sampling(1.0, logit_bias=READABLE, seed=5, reproducible=True)
    plain = model.complete(PROMPT, Options(shaping, 60, drafter="none")).tokens

    drafted = model.complete(PROMPT, Options(shaping, 60, drafter="model", draft_len=k)).tokens

    assert drafted == plain


def test_same_seed_says_the_same_again(model: LoadedModel) -> None:
    warm = options("model", temperature=1.0)

    texts = {model.complete(PROMPT, warm).tokens for _ in range(3)}

    assert len(texts) == 1


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_answer_obeys_its_grammar(model: LoadedModel, temperature: float) -> None:
    asked = options("model", temperature=temperature, grammar=GRAMMAR)

    reply = model.complete(PROMPT, asked)

    assert reply.text
    assert set(reply.text) <= set("thandabcdef")


def test_greedy_text_under_a_grammar_is_plain_decodings(model: LoadedModel) -> None:
    plain = model.complete(PROMPT, options("none", grammar=GRAMMAR)).tokens

    assert model.complete(PROMPT, options("model", grammar=GRAMMAR)).tokens == plain


def test_end_of_generation_is_drafted_by_its_role(tmp_path: Path) -> None:
    """Each side ends with a token of its own text."""
    ends = tinygguf.VOCAB.id_of("▁"), FOREIGN_VOCAB.id_of("▁")
    target = tinygguf.write_llama(tmp_path / "t.gguf", scale=2.0, eos=ends[0])
    draft = tinygguf.write_llama(
        tmp_path / "d.gguf", scale=2.0, noise=0.02, vocab=FOREIGN_VOCAB, eos=ends[1]
    )
    with load(target, draft=draft, draft_vocab="intersect", n_threads=1, measure=False) as loaded:
        replies = [
            loaded.complete(text, Options(READ, 80, drafter="model"))
            for text in ("the inn", "hen", "another", "a", "in the", "it")
        ]
        plain = [
            loaded.complete(text, Options(READ, 80, drafter="none")).tokens
            for text in ("the inn", "hen", "another", "a", "in the", "it")
        ]

    assert [reply.tokens for reply in replies] == plain
    assert "stop" in {reply.stats.finish_reason for reply in replies}


def test_another_vocabulary_is_refused_where_nobody_asked_for_it(pair: Files) -> None:
    with pytest.raises(IncompatibleDraft) as error:
        load(pair[0], draft=pair[1])

    assert "--draft-vocab intersect" in error.value.hint


def test_value_without_a_meaning_is_refused(pair: Files) -> None:
    with pytest.raises(UsageError, match="draft_vocab cannot be 'union'"):
        load(pair[0], draft=pair[1], draft_vocab="union")  # type: ignore[arg-type]


def test_doctor_proves_the_pair_and_tells_the_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = (
        tinygguf.write_llama(tmp_path / "t.gguf", n_ctx=2048),
        tinygguf.write_llama(tmp_path / "d.gguf", n_ctx=2048, noise=0.05, vocab=FOREIGN_VOCAB),
    )
    monkeypatch.setattr("edgespec.proof.pair._POSITIONS", 12)
    monkeypatch.setattr("edgespec.proof.pair.GREEDY_TOKENS", 12)
    names = [str(path) for path in pair]

    ended = CliRunner().invoke(cli, ["doctor", "--pair", *names, "--draft-vocab", "intersect"])

    assert "Verdict: lossless" in ended.output
    assert "% of calibration texts" in ended.output
    assert ended.exit_code == 0


def test_chat_takes_the_flag(pair: Files) -> None:
    arguments = ["chat", "-t", str(pair[0]), "--draft", str(pair[1]), "-p", "the inn", "-n", "6"]

    refused = CliRunner().invoke(cli, arguments)
    taken = CliRunner().invoke(cli, [*arguments, "--draft-vocab", "intersect"])

    assert refused.exit_code != 0
    assert taken.exit_code == 0
