"""A loaded target for measuring: its public API, and its sessions between answers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from edgespec.api.files import find_files
from edgespec.api.load import Loaded, load_pair
from edgespec.api.model import LoadedModel
from edgespec.api.pace import PHASE, measured
from edgespec.api.types import Options
from edgespec.bench.measure import PLAIN
from edgespec.core import Tokens
from edgespec.costs import PassCosts
from edgespec.engine.session import LlamaSession


class Rig:
    """Implements `measure.Subject`. Its sessions may be used while no answer runs."""

    def __init__(self, loaded: Loaded, progress: Callable[[str, float], None]) -> None:
        """Take ownership of `loaded`."""
        self._loaded = loaded
        costs = measured(loaded, partial(progress, PHASE))
        assert isinstance(costs.target, PassCosts), costs
        self.pass_costs = costs.target
        """What draft lengths are chosen by, before answers correct it."""
        self.draft_pass_s = costs.draft_s
        """A draft model's pass over one row; None without one."""
        self.model = LoadedModel(loaded, "auto", costs.live())

    @staticmethod
    def load(
        target: str | Path,
        draft: str | Path | None,
        n_threads: int | None,
        progress: Callable[[str, float], None],
    ) -> "Rig":
        """Load as `edgespec.load` does. Raises: as that."""
        files = find_files(target, draft, "auto")
        loaded = load_pair(files, n_ctx=None, n_threads=n_threads, progress=progress)
        try:
            return Rig(loaded, progress)
        except BaseException:
            loaded.close()
            raise

    @property
    def target(self) -> LlamaSession:
        """The target's session."""
        return self._loaded.session

    @property
    def draft(self) -> LlamaSession | None:
        """The draft model's session."""
        return self._loaded.draft_session

    @property
    def native_s(self) -> float:
        """Seconds spent in llama.cpp's passes so far."""
        return self.target.native_s + (self.draft.native_s if self.draft else 0.0)

    @property
    def output_bytes(self) -> int:
        """Bytes of llama.cpp's buffers for logits, which it does not log as they grow."""
        return self.target.output_bytes + (self.draft.output_bytes if self.draft else 0)

    def forget_prompt(self) -> None:
        """Leave one token in the target's cache."""
        self.target.forward(np.zeros(1, np.int32), n_logits=0)

    def forget_draft(self) -> None:
        """Leave one token in the draft model's cache."""
        if self.draft is not None:
            self.draft.forward(np.zeros(1, np.int32), n_logits=0)

    def prompt_tokens(self, prompt: str) -> Tokens:
        """The rendered prompt's tokens, which are resident afterwards."""
        stats = self.model.complete(prompt, Options(max_tokens=1, drafter=PLAIN)).stats
        return self.target.resident[: stats.prompt_tokens].copy()

    def text(self, token: int | None) -> str:
        """The token's text, also a control token's; empty for none."""
        if token is None:
            return ""
        return self._loaded.target.vocab.piece(token, special=True).decode("utf-8", "replace")

    def close(self) -> None:
        """Free everything; idempotent."""
        self.model.close()
