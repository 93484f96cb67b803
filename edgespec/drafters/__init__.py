"""The registry of drafters: a new one is a file in this package and a line in `DRAFTERS`.

Other distributions add theirs by the entry-point group `edgespec.drafters`.

Drafters know no engine: a draft model comes in as a `core.Session`. Importing this module costs
nothing, so that a command line can list the names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from edgespec.costs import UNMEASURED, RowCosts
from edgespec.drafters import third_party
from edgespec.errors import UsageError

if TYPE_CHECKING:  # core imports numpy, 60 ms that `edgespec --help` need not pay
    from edgespec.core import Drafter, Session
    from edgespec.drafters.guessed import Tier
    from edgespec.drafters.translation import Translation
    from edgespec.index.retrieve import Retriever

DRAFTERS = {
    "none": "edgespec.drafters.none:NoDrafter",
    "model": "edgespec.drafters.model:ModelDrafter",
    "cascade": "edgespec.drafters.cascade:CascadeDrafter",
    "suffix": "edgespec.drafters.suffix:SuffixDrafter",
    "lookahead": "edgespec.drafters.lookahead:LookaheadDrafter",
    "index": "edgespec.drafters.index:IndexDrafter",
    "tree": "edgespec.drafters.tree:TreeDrafter",
    "suffix+model": "edgespec.drafters.suffix_model:SuffixModelDrafter",
}
"""Name to "module:class"."""
COMBINES = {"suffix+model": ("suffix", "model")}
"""Drafters that are others together: a controller chooses among these at each step."""
SUPERSEDES = {"cascade": "model"}
"""Drafters that draft the same as another one by fewer passes: a controller that has the first
does not look at the second, whose model is the same."""


@dataclass(frozen=True, slots=True)
class DrafterInputs:
    """What drafters are built from; each takes what it needs."""

    n_vocab: int
    """The target's vocabulary: no draft holds an id beyond it."""
    is_eog: Callable[[int], bool]
    """Whether a token ends a generation; such a token ends a draft, as its last one."""
    session: "Session | None" = None
    """The draft model's."""
    translation: "Translation | None" = None
    """Where the draft model has another vocabulary than the target."""
    costs: RowCosts = UNMEASURED
    """Of the target's passes."""
    counts_resident: bool = False
    """What a draft model's cache holds counts as read. False: drafts follow from the request
    alone, so that the same seed gives the same text on a cold and a warm cache."""
    under: "Callable[[], Tier] | None" = None
    """Makes what drafts for the draft model, anew for each request."""
    retriever: "Retriever | None" = None
    """Over the user's own texts, in the target's vocabulary."""
    max_branches: int = 0
    """Of the target's session: ways that a pass can go beside the trunk."""
    beside: "Mapping[str, Drafter]" = field(default_factory=dict)
    """Drafters built before for the same target: one that combines them need not read twice."""


class DrafterClass(Protocol):
    """What the registry's entries are."""

    needs_draft_model: bool

    def __call__(self, inputs: DrafterInputs) -> "Drafter":
        """A drafter for one loaded target."""
        ...


@runtime_checkable
class Noted(Protocol):
    """A drafter that can stop drafting for a reason; the reason was also logged, once."""

    @property
    def note(self) -> str:
        """Why it drafts nothing any more; empty while it works."""
        ...


def names() -> tuple[str, ...]:
    """All drafters that can be asked for: ours, then other distributions'.

    Looks through what is installed, once, which takes some 20 ms.
    """
    return (*DRAFTERS, *third_party.names(DRAFTERS))


def find(name: str) -> DrafterClass:
    """The drafter class called `name`. Raises: `UsageError`, also where it cannot be imported."""
    if name not in DRAFTERS:
        if (stranger := third_party.find(name, DRAFTERS)) is not None:
            return stranger
        raise UsageError(f"there is no drafter {name!r}", hint=f"choose from: {', '.join(names())}")
    module, _, attribute = DRAFTERS[name].partition(":")
    found: DrafterClass = getattr(import_module(module), attribute)
    return found


def create(name: str, inputs: DrafterInputs) -> "Drafter":
    """The drafter called `name`; another distribution's behind a guard.

    Raises: `UsageError`, also when it lacks its draft model or cannot be built.
    """
    drafter_class = find(name)
    if drafter_class.needs_draft_model and inputs.session is None:
        raise UsageError(
            f"the drafter {name!r} needs a draft model",
            hint="name one with --draft, or take --drafter suffix, which needs none",
        )
    if getattr(drafter_class, "needs_branches", 0) > inputs.max_branches:
        raise UsageError(
            f"the drafter {name!r} needs passes that branch, which this model was not loaded for,"
            " or cannot make: it keeps a state instead of attention memory",
            hint=f"load it with --drafter {name}; a recurrent model cannot",
        )
    if getattr(drafter_class, "needs_index", False) and inputs.retriever is None:
        raise UsageError(
            f"the drafter {name!r} needs an index of your own texts",
            hint="edgespec index add PATH makes one",
        )
    if name in DRAFTERS:
        return drafter_class(inputs)
    from edgespec.drafters.guard import built

    return built(name, drafter_class, inputs)
