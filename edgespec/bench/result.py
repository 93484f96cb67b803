"""Everything that one benchmark found out, and its form as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from edgespec.api.types import Description
from edgespec.bench.measure import PLAIN, Cell, Plan
from edgespec.bench.memory import Memory
from edgespec.bench.sampling import ChainCost
from edgespec.bench.score import Divergence, Score, totals
from edgespec.costs import PassCosts

SCHEMA = 1
"""Counts up whenever a field changes its meaning or goes."""


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark."""

    plan: Plan
    description: Description
    cells: tuple[Cell, ...]
    scores: tuple[Score, ...]
    divergences: tuple[Divergence, ...]
    """Greedy answers that are not plain decoding's."""
    pass_costs: PassCosts
    """Of the target: what draft lengths are chosen by."""
    draft_pass_s: float | None
    """None without a draft model."""
    sampling: tuple[ChainCost, ...]
    memory: Memory
    versions: Mapping[str, str]
    hardware: Mapping[str, Any]
    load_after: float | None
    commit: str | None
    seconds: float
    left_out: tuple[str, ...] = ()
    """Prompts that do not fit the model's context."""

    @property
    def is_lossless(self) -> bool:
        """Every greedy answer is plain decoding's, or leaves it at a near-tie."""
        return all(found.difference.is_near_tie for found in self.divergences)

    def to_dict(self) -> dict[str, Any]:
        """For JSON. Infinite gaps are null."""
        return {
            "schema": SCHEMA,
            "versions": dict(self.versions),
            "commit": self.commit,
            "hardware": {**self.hardware, "load_after": self.load_after},
            "seconds": self.seconds,
            "model": asdict(self.description),
            "plan": _plan(self.plan),
            "left_out": list(self.left_out),
            "prompts": [
                {"prompt": c.prompt, "tokens": c.prompt_tokens, "ttft_s": c.ttft_s}
                for c in {cell.prompt: cell for cell in self.cells}.values()
            ],
            "scores": [{**asdict(s), "overhead_share": s.overhead_share} for s in self.scores],
            "totals": [
                {
                    "drafter": t.drafter,
                    "temperature": t.temperature,
                    "ratio": t.ratio,
                    "worst": {"prompt": t.worst.prompt, "ratio": t.worst.ratio},
                    "best": {"prompt": t.best.prompt, "ratio": t.best.ratio},
                    "n_losses": t.n_losses,
                    "n_prompts": t.n_prompts,
                }
                for t in totals(self.scores)
            ],
            "runs": [_run(cell, i) for cell in self.cells for i in range(len(cell.turns))],
            "divergences": [_divergence(found) for found in self.divergences],
            "is_lossless": self.is_lossless,
            "pass_ms": self._pass_ms(),
            "sampling": [asdict(cost) for cost in self.sampling],
            "memory": {
                "peak_bytes": self.memory.peak_bytes,
                "buffers": dict(self.memory.buffers),
                "buffer_bytes": self.memory.buffer_bytes,
                "beyond_bytes": self.memory.beyond_bytes,
            },
        }

    def _pass_ms(self) -> dict[str, dict[str, float]]:
        """Milliseconds by the number of rows."""
        target = zip(self.pass_costs.rows, self.pass_costs.seconds, strict=True)
        return {
            "target": {str(n): 1e3 * s for n, s in target},
            "draft": {} if self.draft_pass_s is None else {"1": 1e3 * self.draft_pass_s},
        }


def _plan(plan: Plan) -> dict[str, Any]:
    return {**asdict(plan), "plain": PLAIN, "prompts": [prompt.name for prompt in plan.prompts]}


def _run(cell: Cell, turn: int) -> dict[str, Any]:
    """One turn: its arms in the order in which they ran."""
    return {
        "prompt": cell.prompt,
        "temperature": cell.temperature,
        "turn": turn,
        "arms": [
            {
                "drafter": run.drafter,
                "tokens": list(run.tokens),
                "wall_s": run.wall_s,
                "native_s": run.native_s,
                "stats": run.stats.to_dict(),
            }
            for run in cell.turns[turn]
        ],
    }


def _divergence(found: Divergence) -> dict[str, Any]:
    difference = asdict(found.difference)
    if found.difference.plain is None or found.difference.other is None:
        difference["gap"] = None
    return {
        "prompt": found.prompt,
        "drafter": found.drafter,
        **difference,
        "is_near_tie": found.difference.is_near_tie,
        "plain_text": found.plain_text,
        "other_text": found.other_text,
    }
