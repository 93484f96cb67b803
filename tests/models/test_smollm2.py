"""SmolLM2 with flash attention: one row's logits equal a batch's bit for bit, so texts are equal.

Measured for batches up to 33 on CPUs (design decision 12); other models need the near-tie rule.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gguf
import pytest

from edgespec.api.model import LoadedModel, load
from edgespec.api.types import Options
from edgespec.core import Sampling
from edgespec.events import PromptProgress, Stats
from tests.round_trips import TEXTS

pytestmark = pytest.mark.models
ROOT = Path(__file__).parents[2]

CODE = "def area(width, height):\n    return width * height\n\ndef volume(width, height, depth):\n"
PROMPTS = {
    "prose": "Why is the sky blue? Answer in two sentences.",
    "copy": "Repeat exactly: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6",
    "code": f"Continue this code:\n{CODE}",
    "symbols": "Repeat: 。、日本語🦙。、日本語🦙。、日本語🦙",
    "json": 'Give me JSON like {"name": "Ann", "age": 3} for Bob, 4, and for Eve, 5.',
}
_plain: dict[tuple[str, int], tuple[int, ...]] = {}


def greedy(n: int, **more: object) -> Options:
    return Options(max_tokens=n, **more)  # type: ignore[arg-type]


def plain_tokens(model: LoadedModel, name: str, n: int = 32) -> tuple[int, ...]:
    if (name, n) not in _plain:
        _plain[name, n] = model.complete(PROMPTS[name], greedy(n, drafter="none")).tokens
    return _plain[name, n]


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6, 7, 31])
@pytest.mark.parametrize("name", PROMPTS)
def test_greedy_text_under_retrieval_is_plain_decodings(
    smol: LoadedModel, name: str, k: int
) -> None:
    expected = plain_tokens(smol, name)

    reply = smol.complete(PROMPTS[name], greedy(32, drafter="suffix", draft_len=k))

    assert reply.tokens == expected


@pytest.mark.parametrize("k", [3, 31])
def test_retrieval_drafts_what_repeats(smol: LoadedModel, k: int) -> None:
    stats = smol.complete(PROMPTS["copy"], greedy(32, drafter="suffix", draft_len=k)).stats

    assert stats.accepted > 10
    assert stats.passes < 22


@pytest.mark.parametrize("seed", [1, 2])
def test_seeded_text_under_retrieval_is_plain_decodings(smol: LoadedModel, seed: int) -> None:
    warm = Sampling(0.8, top_p=0.95, repeat_penalty=1.1, seed=seed)
    expected = smol.complete(PROMPTS["copy"], Options(warm, 32, drafter="none")).tokens

    tokens = smol.complete(PROMPTS["copy"], Options(warm, 32, drafter="suffix")).tokens

    assert tokens == expected


def test_answer_of_a_warm_cache_is_a_cold_ones(smollm2: Path, smol: LoadedModel) -> None:
    with load(smollm2, n_ctx=2048, measure=False) as fresh:
        cold = fresh.complete(PROMPTS["prose"], greedy(24))

    warm = [smol.complete(PROMPTS["prose"], greedy(24)) for _ in range(2)]

    assert [reply.tokens for reply in warm] == [cold.tokens] * 2
    assert warm[1].stats.cached_tokens == cold.stats.prompt_tokens - 1


def test_stream_of_symbols_never_splits_a_character(smol: LoadedModel) -> None:
    whole = smol.complete(PROMPTS["symbols"], greedy(40)).text

    deltas = [e.text for e in smol.chat(PROMPTS["symbols"], greedy(40)) if e.kind == "text"]

    assert "".join(deltas) == whole
    assert "日本語" in whole
    assert not any("\ufffd" in delta for delta in deltas[:-1])


@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back_from_its_tokens(smol: LoadedModel, text: str) -> None:
    vocab = smol._engine.vocab

    tokens = vocab.tokenize(text, parse_special=False)

    assert b"".join(map(vocab.piece, tokens)) == text.encode()


def test_continuation_keeps_its_leading_space(smol: LoadedModel) -> None:
    reply = smol.complete("The capital of France is", greedy(4, raw=True))

    pieces = b"".join(map(smol._engine.vocab.piece, reply.tokens))
    assert reply.text.startswith(" Paris")
    assert reply.text.encode() == pieces


@pytest.mark.parametrize("k", [1, 3, 7, 31])
def test_nothing_follows_an_end_of_generation_inside_a_draft(
    moved_end: tuple[LoadedModel, int], smol: LoadedModel, k: int
) -> None:
    model, end = moved_end
    text = plain_tokens(smol, "copy")
    expected = text[: text.index(end) + 1]

    reply = model.complete(PROMPTS["copy"], greedy(32, drafter="suffix", draft_len=k))

    assert reply.tokens == expected
    assert reply.stats.finish_reason == "stop"


@pytest.fixture(scope="module")
def moved_end(
    smollm2: Path, smol: LoadedModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LoadedModel, int]]:
    """SmolLM2 with another end of generation: a token from the middle of its own answer."""
    text = plain_tokens(smol, "copy")
    end = next(token for token in text[8:] if text.index(token) >= 8)
    path = Path(shutil.copy(smollm2, tmp_path_factory.mktemp("moved") / "moved.gguf"))
    reader = gguf.GGUFReader(path, "r+")
    field = reader.fields["tokenizer.ggml.eos_token_id"]
    field.parts[field.data[0]][0] = end
    reader.data.flush()
    with load(path, n_ctx=512, measure=False) as model:
        yield model, end


def test_answer_fills_the_context_and_no_more(smollm2: Path) -> None:
    bans = Sampling(logit_bias=((0, -100.0), (2, -100.0)))  # <|endoftext|>, <|im_end|>
    with load(smollm2, n_ctx=64, measure=False) as model:
        replies = [
            model.complete("1, 2, 3, 4, 1, 2, 3, 4", Options(bans, drafter=name))
            for name in ("none", "suffix")
        ]

    stats = replies[0].stats
    assert stats.prompt_tokens + stats.generated_tokens == 64
    assert stats.finish_reason == "context_full"
    assert replies[1].tokens == replies[0].tokens


def test_model_drafting_for_itself_is_always_right(smollm2: Path, smol: LoadedModel) -> None:
    with load(smollm2, draft=smollm2, drafter="model", n_ctx=512, measure=False) as pair:
        reply = pair.complete(PROMPTS["prose"], greedy(32, draft_len=4))

    stats: Stats = reply.stats
    assert reply.tokens == plain_tokens(smol, "prose")
    assert stats.drafted > 10
    assert stats.rejected == 0


def test_cancel_ends_a_long_prompt_within_a_chunk(smol: LoadedModel) -> None:
    stream = smol.chat("one two three " * 500, greedy(5))
    last = None
    for event in stream:
        if isinstance(event, PromptProgress):
            last = event
            if event.done > event.cached:
                stream.cancel()

    assert last is not None
    assert last.done < 1000 < last.total
    assert stream.stats.finish_reason == "cancelled"
    assert smol.complete(PROMPTS["copy"], greedy(32)).tokens == plain_tokens(smol, "copy")


ASK = """
import sys, edgespec
with edgespec.load(sys.argv[1], n_ctx=256, measure=False) as model:
    print(model.complete("Say hello.", edgespec.Options(max_tokens=8)).text)
"""


def test_only_the_answer_is_on_stdout_and_nothing_on_stderr(
    smollm2: Path, smol: LoadedModel
) -> None:
    expected = smol.complete("Say hello.", greedy(8)).text

    done = subprocess.run(
        [sys.executable, "-c", ASK, str(smollm2)], capture_output=True, cwd=ROOT, check=True
    )

    assert (done.stdout.decode(), done.stderr) == (expected + "\n", b"")


MEASURE = """
import sys, edgespec
from edgespec.bench.memory import Memory, logged_buffers, peak_bytes
with logged_buffers() as log:
    model = edgespec.load(sys.argv[1])
with model:
    model.complete(sys.argv[2], edgespec.Options(max_tokens=32))
print(Memory(peak_bytes(), dict(log.buffers)).beyond_bytes)
"""


def test_process_needs_at_most_150_mib_beside_llama_cpps_buffers(smollm2: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(smollm2), PROMPTS["copy"]],
        capture_output=True,
        cwd=ROOT,
        check=True,
        env={**os.environ, "EDGESPEC_CHECK": ""},  # whose copies of logits are not everyday's
    )

    beyond_mib = int(done.stdout) / 2**20
    assert beyond_mib <= 150
