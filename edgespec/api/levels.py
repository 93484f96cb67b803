"""What drafts for a loaded draft model: retrieval and the models under it, as a cascade's tiers."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgespec.api.attempt import Loaded
from edgespec.control.acceptance import Usual
from edgespec.control.beneath import Beneath
from edgespec.control.costs import LONGEST, Costs
from edgespec.core import Drafter, Session
from edgespec.drafters import DrafterInputs
from edgespec.drafters.arms import Free, Paid
from edgespec.drafters.cascade import LowerModel
from edgespec.drafters.echo import Echo
from edgespec.drafters.guessed import Tier
from edgespec.drafters.none import NoDrafter
from edgespec.drafters.translation import SharedVocab, Translation


@dataclass(frozen=True, slots=True)
class Level:
    """A draft model as the target of those under it."""

    session: Session
    translation: Translation | None
    """Between its vocabulary and the target's; None where they are the same."""
    costs: Costs
    """Of its passes; as a draft's, of the next level's."""


def levels_of(loaded: Loaded, costs: Sequence[Costs]) -> tuple[Level, ...]:
    """The draft model's and those under it, each with its costs."""
    found = [(loaded.files, loaded.draft, loaded.draft_session)]
    found += [(lower.files, lower.model, lower.session) for lower in loaded.lower]
    target, n_target = loaded.target.vocab, loaded.session.n_vocab
    levels = []
    for (files, model, session), cost in zip(found, costs, strict=True):
        assert model is not None, "a level without a model"
        assert session is not None, "a level without a model"
        shared = files.intersection
        translation = None
        if shared is not None:
            translation = SharedVocab(target, model.vocab, shared.shared, n_target)
        levels.append(Level(session, translation, cost))
    return tuple(levels)


class Tiers:
    """Makes the tier of each request under one level; what was learned outlives the request where
    costs are measured."""

    def __init__(self, levels: Sequence[Level], inputs: DrafterInputs, depth: int = 0) -> None:
        """`inputs`: those of the target's drafters. `depth`: of the level, 0 being the draft's."""
        self._level = levels[0]
        self._echo = Echo(inputs.is_eog, n_on_trial=LONGEST if depth else 0)
        self._inputs = inputs
        self._lower: DrafterInputs | None = None
        if rest := levels[1:]:
            self._lower = DrafterInputs(
                inputs.n_vocab,
                inputs.is_eog,
                rest[0].session,
                rest[0].translation,
                counts_resident=inputs.counts_resident,
                under=Tiers(rest, inputs, depth + 1),
            )
        self._usual = self._fresh()

    def __call__(self) -> Tier:
        """One request's."""
        paid: list[Paid] = []
        free: list[Free] = [self._echo]
        drafters: dict[str, Drafter] = {
            "none": NoDrafter(self._inputs),
            self._echo.name: self._echo,
        }
        if self._lower is not None:
            model = LowerModel(self._lower)
            drafters[model.name] = model
            paid.append(model)
        costs = self._level.costs
        usual = self._usual if costs.is_live else self._fresh()
        return Tier(drafters, Beneath(free, paid, costs, usual))

    def _fresh(self) -> dict[str, Usual]:
        usual = {self._echo.name: Usual(self._echo.buckets)}
        if self._lower is not None:
            usual[LowerModel.name] = Usual(LowerModel.buckets)
        return usual
