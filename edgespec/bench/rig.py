"""A loaded target for measuring: its public API, and its sessions between answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from edgespec.api.arms import AUTO, branches_for, translation_of
from edgespec.api.files import find_files
from edgespec.api.levels import Level, levels_of
from edgespec.api.load import Loaded, load_pair
from edgespec.api.model import LoadedModel
from edgespec.api.pace import PHASE, costs_under, measured
from edgespec.api.types import DraftVocab, Message, Options, PlaceMemory, Placing
from edgespec.api.wishes import wishes
from edgespec.bench.revive import plain
from edgespec.bench.suite import BenchPrompt
from edgespec.bench.temporary_index import TemporaryIndex
from edgespec.core import Controller, Drafter, Tokens
from edgespec.costs import PassCosts
from edgespec.drafters.translation import SameVocab, Translation
from edgespec.engine.binding import lib
from edgespec.engine.session import LlamaSession
from edgespec.hardware.cpu import features_of
from edgespec.index.retrieve import Retriever


class Rig:
    """Implements `ours.Host`. Its sessions may be used while no answer runs."""

    def __init__(
        self,
        loaded: Loaded,
        progress: Callable[[str, float], None],
        documents: Sequence[str] = (),
    ) -> None:
        """Take ownership of `loaded`; `documents` are texts that drafts may come from."""
        self.costs = costs = measured(loaded, partial(progress, PHASE))
        """What drafts are chosen by, before answers correct it."""
        self.pass_costs: PassCosts = costs.target
        """Of the target."""
        self.draft_pass_s = costs.draft_s
        """A draft model's pass over one row; None without one."""
        self._index: TemporaryIndex | None = None
        if documents:
            tokenize = partial(loaded.target.vocab.tokenize, parse_special=False)
            self._index = TemporaryIndex(documents, loaded.files.target, tokenize)
            loaded = replace(loaded, retriever=self._index.retriever)
        self._loaded = loaded
        # What a person's own answers taught stays theirs, and no arm learns from another's.
        self.model = LoadedModel(loaded, AUTO, costs.live(), is_learning=False)
        self._prompts: dict[str, Tokens] = {}

    @staticmethod
    def load(
        target: str | Path,
        draft: str | Path | None,
        n_threads: int | None,
        progress: Callable[[str, float], None],
        placing: Placing | None = None,
        draft_vocab: DraftVocab = "same",
        documents: Sequence[str] = (),
    ) -> "Rig":
        """Load as `edgespec.load` does. Raises: as that."""
        said = placing or Placing()
        asked, workers = wishes(said, draft=draft)
        files = find_files(target, draft, AUTO, draft_vocab)
        loaded = load_pair(
            files,
            n_ctx=None,
            n_threads=n_threads,
            progress=progress,
            asked=asked,
            workers=workers,
            memory_bytes=said.get("memory_bytes"),
            max_branches=branches_for(AUTO, files.target),
        )
        try:
            return Rig(loaded, progress, documents)
        except BaseException:
            loaded.close()
            raise

    @property
    def retriever(self) -> Retriever | None:
        """Over the texts that drafts may come from; None without any."""
        return self._loaded.retriever

    @property
    def target(self) -> LlamaSession:
        """The target's session."""
        return self._loaded.session

    @property
    def draft(self) -> LlamaSession | None:
        """The draft model's session."""
        return self._loaded.draft_session

    @property
    def translation(self) -> Translation:
        """Between the draft model's vocabulary and the target's."""
        n_target = self.target.n_vocab
        n_draft = n_target if self.draft is None else self.draft.n_vocab
        return translation_of(self._loaded) or SameVocab(n_draft, n_target)

    @property
    def shared_tokens(self) -> str:
        """What the two vocabularies share, in numbers; empty where they are the same."""
        found = self._loaded.files.intersection
        return "" if found is None else found.told

    @property
    def native_s(self) -> float:
        """Seconds spent in llama.cpp's passes so far."""
        return self.target.native_s + sum(session.native_s for session in self._drafts)

    @property
    def output_bytes(self) -> int:
        """Bytes of llama.cpp's buffers for logits, which it does not log as they grow."""
        return self.target.output_bytes + sum(session.output_bytes for session in self._drafts)

    @property
    def _drafts(self) -> tuple[LlamaSession, ...]:
        lower = tuple(one.session for one in self._loaded.lower)
        return lower if self.draft is None else (self.draft, *lower)

    def levels(self, *, is_live: bool) -> tuple[Level, ...]:
        """The draft model and those that draft for it; `is_live`: their costs follow what is seen
        from here on."""
        costs = costs_under(self._loaded, lambda share: None, is_live=True)
        kept = [replace(one, is_live=is_live) for one in costs]
        return levels_of(self._loaded, kept)

    def forget_prompt(self) -> None:
        """Leave one token in the target's cache."""
        self.target.forward(np.zeros(1, np.int32), n_logits=0)

    def forget_draft(self) -> None:
        """Leave one token in the cache of the draft model, and of those that draft for it."""
        for session in self._drafts:
            session.forward(np.zeros(1, np.int32), n_logits=0)

    def tokens_of(self, prompt: BenchPrompt) -> Tokens:
        """The rendered prompt's tokens."""
        if prompt.name not in self._prompts:
            tokens = self.rendered(prompt.messages)
            self._prompts[prompt.name] = np.array(tokens, np.int32)
        return self._prompts[prompt.name]

    def rendered(self, messages: Sequence[Message]) -> Sequence[int]:
        """A conversation's tokens, up to where the answer begins."""
        return self.model._prepare.prompt_tokens(messages, Options()).tokens

    @property
    def drafters(self) -> Mapping[str, Drafter]:
        """Every drafter of the loaded model; while no answer runs."""
        return self.model._engine.drafting.drafters

    def controller(self, drafter: str, draft_len: int | None) -> Controller:
        """What would choose the drafts of one answer."""
        _, controller, _ = self.model._engine.drafting.controller(drafter, draft_len, None)
        return controller

    @property
    def n_threads(self) -> int:
        """Threads of llama.cpp."""
        return self._loaded.n_threads

    @property
    def target_path(self) -> Path:
        """The target's file."""
        return self._loaded.files.target.path

    @property
    def draft_path(self) -> Path | None:
        """The draft model's file."""
        draft = self._loaded.files.draft
        return None if draft is None else draft.path

    @property
    def features(self) -> tuple[str, ...]:
        """Instruction sets and options that our llama.cpp was built with."""
        return features_of(lib().llama_print_system_info().decode("utf-8", "replace"))

    @property
    def plan(self) -> dict[str, Any]:
        """Where the models went and what that takes."""
        found: dict[str, Any] = plain(self._loaded.plan)
        return found

    @property
    def places(self) -> tuple[PlaceMemory, ...]:
        """What was planned and what was allocated, place by place."""
        return self._loaded.memory

    def text(self, token: int | None) -> str:
        """The token's text, also a control token's; empty for none."""
        if token is None:
            return ""
        return self._loaded.target.vocab.piece(token, special=True).decode("utf-8", "replace")

    def is_eog(self, token: int) -> bool:
        """Whether a token ends an answer."""
        return self._loaded.target.vocab.is_eog(token)

    def close(self) -> None:
        """Free everything; idempotent."""
        self.model.close()
        if self._index is not None:
            self._index.close()
