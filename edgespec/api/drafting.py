"""How a loaded model drafts: its drafters and costs, and what its answers teach about both."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from edgespec.api.experience import Experience, read, write
from edgespec.control.acceptance import Usual
from edgespec.control.auto import Auto
from edgespec.control.costs import LONGEST, Costs
from edgespec.control.fixed import Fixed
from edgespec.control.log import Log
from edgespec.control.pausable import Pausable
from edgespec.core import Controller, Drafter
from edgespec.drafters import COMBINES, SUPERSEDES, DrafterInputs, create
from edgespec.drafters.arms import Branching, Free, Paid
from edgespec.errors import UsageError
from edgespec.events import DraftMode

AUTO = "auto"
_PLAIN = "none"
_LIKELY = 0.75
"""Of a draft model's tokens, over the benchmark's prompts."""
_FORCED = ("suffix+model", "suffix")
"""Who drafts for a person who wants drafts and named no drafter: the first that is at hand."""
_FORCED_LEN = 4
"""Tokens of a forced draft where no length was set: what a draft model mostly gets right."""
_WEIGHT = 0.2
"""Of the last answer, in how long answers mostly are."""


class Drafting:
    """Makes the controller of each answer; used by the engine's thread and under the model's
    reading lock."""

    def __init__(
        self, drafters: Mapping[str, Drafter], costs: Costs, drafter: str, kept: Path | None
    ) -> None:
        """`drafter`: what is meant where a request names none. `kept`: the file for what is
        learned; None: every answer begins anew, so that the same request gives the same drafts."""
        self.drafters = drafters
        self.drafter = drafter
        self.costs = costs
        self._kept = kept
        earlier = read(kept) if kept is not None else Experience()
        self._earlier = earlier
        self._usual = self._fresh(earlier)
        self._usual_tokens = earlier.answer_tokens
        self._has_learned = False

    @property
    def longest(self) -> Mapping[str, int]:
        """Most draft tokens per step, by drafter."""
        return {name: 0 if name == _PLAIN else LONGEST for name in self.drafters}

    @property
    def note(self) -> str:
        """Why a draft model will hardly be asked; empty where it may be, or there is none."""
        costs = self.costs
        if costs.draft is None:
            return ""
        plain_s, best = costs.target.plain_s, 0.0
        tokens = survives = 1.0
        for k in range(1, LONGEST):
            survives *= _LIKELY
            tokens += survives
            took_s = costs.target.of(k + 1) + k * costs.draft.token_s
            best = max(best, tokens * plain_s / took_s)
        if best > 1:
            return ""
        return (
            f"the draft model is left out: a draft token costs {costs.draft.token_s * 1e3:.0f} ms"
            f" and a target step {plain_s * 1e3:.0f} ms here, which gives {best:.2f} times the"
            " plain speed at best"
        )

    def controller(
        self, drafter: str | None, draft_len: int | None, max_tokens: int | None
    ) -> tuple[str, Pausable, Log]:
        """The drafter's name, the controller of one answer, and what it will tell.

        Raises: `UsageError` for a drafter that is not known, or lacks its draft model.
        """
        name = self.drafter if drafter is None else drafter
        if name != AUTO and name not in self.drafters:
            create(name, DrafterInputs(0, lambda token: False))  # says what is wrong with it
            raise UsageError(
                f"the drafter {name!r} could not be built when this model was loaded",
                hint="load the model again, or take another --drafter",
            )
        log = Log(name, draft_len, self.costs, self.note if name == AUTO else "")
        is_plain = name == _PLAIN
        usual = (self.drafter if self.drafter != _PLAIN else AUTO) if is_plain else name
        mode: DraftMode = "off" if is_plain else "auto"
        make_usual = partial(self._usual_controller, usual, draft_len, max_tokens, log)
        plain = Fixed(_PLAIN, 0, self.costs, log)
        return name, Pausable(make_usual, plain, self._forced(name, draft_len, log), mode), log

    def _usual_controller(
        self, name: str, draft_len: int | None, max_tokens: int | None, log: Log
    ) -> Controller:
        """What drafts with `name` where it pays, or as long as was set."""
        free, paid, branching = self._arms(name)
        if draft_len == 0:
            return Fixed(_PLAIN, 0, self.costs, log)
        if name != AUTO and (draft_len is not None or branching or not (free or paid)):
            return Fixed(name, LONGEST if draft_len is None else draft_len, self.costs, log)
        return Auto(
            free,
            paid,
            self.costs,
            self._usual if self._kept is not None else self._fresh(Experience()),
            log,
            branching=branching,
            draft_len=draft_len,
            max_tokens=max_tokens,
            usual_tokens=self._usual_tokens,
        )

    def learn(self, n_tokens: int) -> None:
        """An answer of `n_tokens` ended."""
        if self._kept is not None and n_tokens:
            self._has_learned = True
            self._usual_tokens += _WEIGHT * (n_tokens - self._usual_tokens)

    def keep(self) -> None:
        """Write what was learned, numbers only; idempotent."""
        if self._kept is not None and self._has_learned:
            counts = {name: (u.buckets, u.counts) for name, u in self._usual.items()}
            write(self._kept, counts, self._usual_tokens)

    def _forced(self, name: str, draft_len: int | None, log: Log) -> Fixed:
        """A draft at every step, also where none would pay."""
        if name in (AUTO, _PLAIN):
            name = next((n for n in _FORCED if n in self.drafters), _PLAIN)
        return Fixed(name, draft_len or _FORCED_LEN, self.costs, log)

    def _arms(self, name: str) -> tuple[list[Free], list[Paid], list[Branching]]:
        """What the controller chooses among for a drafter's name."""
        if name == AUTO:
            inferior = {less for more, less in SUPERSEDES.items() if more in self.drafters}
            names = tuple(n for n in self.drafters if n not in {*COMBINES, *inferior})
        else:
            names = COMBINES.get(name, (name,))
        arms = [self.drafters[n] for n in names if n in self.drafters]
        return (
            [arm for arm in arms if isinstance(arm, Free)],
            [arm for arm in arms if isinstance(arm, Paid)],
            [arm for arm in arms if isinstance(arm, Branching)],
        )

    def _fresh(self, earlier: Experience) -> dict[str, Usual]:
        return {
            name: Usual(drafter.buckets, earlier.counts_of(name, drafter.buckets))
            for name, drafter in self.drafters.items()
            if isinstance(drafter, Free | Paid | Branching)
        }
