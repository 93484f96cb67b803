"""Tiny models in every combination that caches, vocabularies and drafters can have."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from edgespec.api.model import LoadedModel, load
from edgespec.api.pace import typical
from edgespec.api.types import DraftVocab, Message
from edgespec.control.costs import Costs, Measured
from edgespec.costs import PassCosts
from edgespec.drafters import DrafterInputs
from edgespec.drafters.guard import Guarded
from edgespec.drafters.model import ModelDrafter
from edgespec.drafters.record import Record
from edgespec.engine.session import LlamaSession
from edgespec.index.documents import Document
from edgespec.index.store import Index
from tests import tinygguf
from tests.fuzz.asking import words
from tests.fuzz.chaos import Chaos
from tests.fuzz.plain import Plain

_OFTEN = tinygguf.VOCAB.id_of("n")


@dataclass(frozen=True)
class Setup:
    """What is loaded."""

    target: str
    draft: str | None = None
    n_ctx: int = 256
    drafter: str = "auto"
    draft_vocab: DraftVocab = "same"
    is_flat: bool = False
    """Rows are nearly free: trees and windows pay."""


SETUPS = (
    Setup("llama"),
    Setup("llama", is_flat=True),
    Setup("llama", "draft", is_flat=True),
    Setup("ending", "ending-draft", is_flat=True),
    Setup("lfm2", "lfm2-draft", is_flat=True),
    Setup("llama", n_ctx=16),
    Setup("llama", n_ctx=40),
    Setup("llama", "draft"),
    Setup("llama", "draft", n_ctx=24),
    Setup("llama", "short-draft"),
    Setup("llama", "stupid-draft"),
    Setup("llama", "draft", drafter="lookahead"),
    Setup("llama", "foreign", draft_vocab="intersect"),
    Setup("gemma3", "lfm2,llama"),
    Setup("ending", "ending-draft"),
    Setup("ending", drafter="tree"),
    Setup("padded", "draft"),
    Setup("wide", "padded"),
    Setup("gemma3", "draft"),
    Setup("gemma3", "draft", n_ctx=32),
    Setup("gemma3", "gemma3", drafter="tree"),
    Setup("gemma3", drafter="lookahead"),
    Setup("mamba", "draft"),
    Setup("mamba", n_ctx=40),
    Setup("gemma3", "mamba"),
    Setup("lfm2", "mamba"),
    Setup("lfm2", "draft"),
    Setup("lfm2", "lfm2-draft"),
    Setup("lfm2-window", "draft", n_ctx=64),
    Setup("gemma3", "lfm2-window"),
    Setup("long", "long-draft", n_ctx=3000),
    Setup("long-gemma3", "long-lfm2", n_ctx=3000),
    Setup("long-lfm2", "long-draft", n_ctx=3000),
)


def prepared(folder: Path) -> dict[str, Path]:
    """Every file that a setup names, and texts in an index."""
    notes = random.Random(0)
    Index("notes").add([Document(f"{i}", words(notes, 40)) for i in range(9)])
    return write_models(folder)


def write_models(folder: Path) -> dict[str, Path]:
    """Every file that a setup names."""
    w = tinygguf
    made: dict[str, Callable[[Path], Path]] = {
        "llama": lambda p: w.write_llama(p, scale=3.0),
        "draft": lambda p: w.write_llama(p, scale=3.0, noise=0.05),
        "lower": lambda p: w.write_llama(p, scale=3.0, noise=0.1),
        "short-draft": lambda p: w.write_llama(p, scale=3.0, noise=0.05, n_ctx=64),
        "stupid-draft": lambda p: w.write_llama(p, scale=3.0, seed=5),
        "padded": lambda p: w.write_llama(p, scale=3.0, noise=0.02, n_vocab_extra=7),
        "wide": lambda p: w.write_llama(p, scale=3.0, n_vocab_extra=600),
        "foreign": lambda p: w.write_llama(p, scale=3.0, noise=0.05, vocab=w.FOREIGN_VOCAB),
        "ending": lambda p: w.write_llama(p, scale=3.0, eos=_OFTEN),
        "ending-draft": lambda p: w.write_llama(p, scale=3.0, noise=0.05, eos=_OFTEN),
        "gemma3": lambda p: w.write_gemma3(p, scale=3.0),
        "mamba": lambda p: w.write_mamba(p, scale=3.0),
        "lfm2": lambda p: w.write_hybrid(p, scale=3.0),
        "lfm2-draft": lambda p: w.write_hybrid(p, scale=3.0, noise=0.05),
        "lfm2-window": lambda p: w.write_hybrid(p, scale=3.0, n_window=16),
    }
    made |= {
        "long": lambda p: w.write_llama(p, scale=3.0, n_ctx=4096),
        "long-draft": lambda p: w.write_llama(p, scale=3.0, noise=0.05, n_ctx=4096),
        "long-gemma3": lambda p: w.write_gemma3(p, scale=3.0, n_ctx=4096, n_window=64),
        "long-lfm2": lambda p: w.write_hybrid(p, scale=3.0, n_ctx=4096),
    }
    return {name: write(folder / f"{name}.gguf") for name, write in made.items()}


def _flat(loaded: Any) -> Costs:
    curve = PassCosts((1, 8, 64), (1.0, 1.02, 1.1))
    has_draft = loaded.draft_session is not None
    measured = Measured(curve, 0.02, 0.0001) if has_draft else Measured(curve)
    return measured.live(is_live=False)


class Loaded:
    """A loaded model, its reference, and the chat that goes on with it."""

    def __init__(self, setup: Setup, files: dict[str, Path]) -> None:
        draft = setup.draft and ",".join(str(files[name]) for name in setup.draft.split(","))
        self.setup = setup
        with patch("edgespec.api.model.typical", _flat if setup.is_flat else typical):
            self.model: LoadedModel = load(
                files[setup.target],
                draft=draft,
                n_ctx=setup.n_ctx,
                n_threads=1,
                measure=False,
                drafter=setup.drafter,
                draft_vocab=setup.draft_vocab,
            )
        engine = self.model._engine
        self.target: LlamaSession = engine.target
        self.vocab = engine.vocab
        self.plain = Plain(self.model._loaded.target, engine.target.n_ctx, engine.target.n_batch)
        inputs = DrafterInputs(
            engine.target.n_vocab, self.vocab.is_eog, max_branches=engine.target.max_branches
        )
        self.chaos = Chaos(inputs.n_vocab, inputs.is_eog, inputs.max_branches)
        drafters: Any = engine.drafting.drafters
        self.guarded = Guarded("chaos", self.chaos, inputs)
        drafters["chaos"] = self.guarded
        self.drafters = (*drafters, "auto", *("chaos",) * len(drafters))
        self.chat: list[Message] = []

    def encourage(self) -> None:
        """Let draft models that have given up, after all that is done to them, draft again."""
        for drafter in self.model._engine.drafters.values():
            one = getattr(drafter, "_model", drafter)
            if isinstance(one, ModelDrafter):
                one.note, one._failures, one._record = "", 0, Record()

    def close(self) -> None:
        self.plain.close()
        self.model.close()
