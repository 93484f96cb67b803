"""Which models a chat uses, and getting those that are not here: after a question, or with -y."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgespec.cli.fetch import Shown, fetch
from edgespec.cli.flags import AUTO, Flags
from edgespec.cli.last import keep_target, last_target
from edgespec.cli.prompt import is_watched
from edgespec.cli.render import Screen
from edgespec.drafters import find
from edgespec.errors import EdgespecError, ModelNotFound, UsageError
from edgespec.models.catalogue import Catalogue, load_catalogue
from edgespec.models.chain import drafts_named
from edgespec.models.hub_client import is_offline
from edgespec.models.hub_listing import ask_hub, ask_nobody
from edgespec.models.names import Resolved, check_answers, resolve
from edgespec.models.spec import ModelSpec
from edgespec.sizes import gigabytes
from edgespec.store import installed, list_installed

STARTER = "smollm2-135m"
"""Offered where there is no model: small, and on the Python package index."""


@dataclass(frozen=True, slots=True)
class Pick:
    """Models that are on this machine, and how to draft."""

    target: Resolved
    draft: Resolved | None
    is_draft_named: bool
    """Asked for by name: then it has to fit."""
    drafter: str
    lower: tuple[Resolved, ...] = ()
    """Models that draft for the draft model, each for the one before it."""

    def advice(self, think: bool | None) -> dict[str, float]:
        """The publisher's sampling for the target; nothing for a file of the person's own."""
        model = self.target.model
        if not isinstance(model, ModelSpec):
            return {}
        return model.advice(think=think is not False).given()


def pick(flags: Flags, screen: Screen, catalogue: Catalogue | None = None) -> Pick:
    """Resolve the names, fetch what is missing and allowed. Raises: what stood in the way.

    `catalogue`: where it was read already.
    """
    catalogue = catalogue or load_catalogue()
    target = _target(flags, screen, catalogue)
    drafts = _drafts(flags, screen, catalogue, target)
    is_named = bool(drafts) and flags.draft not in (None, "auto")
    draft = drafts[0] if drafts else None
    picked = Pick(target, draft, is_named, flags.drafter or AUTO, drafts[1:])
    models = [resolved.model for resolved in (target, *drafts)]
    provide(screen, [m for m in models if isinstance(m, ModelSpec)], flags)
    return picked


def has_nothing(flags: Flags, catalogue: Catalogue) -> bool:
    """Whether no model is on this machine, and nobody named one or agreed to fetch one."""
    if flags.target is not None or flags.yes:
        return False
    return _last_used(catalogue) is None and not list_installed(
        spec for spec in catalogue if spec.kind == "model"
    )


def provide(screen: Screen, specs: Sequence[ModelSpec], flags: Flags) -> None:
    """Fetch those of `specs` that are not here. Raises: `ModelNotFound` when nobody agreed."""
    missing = [spec for spec in specs if installed(spec, Shown(screen)) is None]
    if not missing:
        return
    must_ask = not flags.yes and not flags.offline and not is_offline()
    if must_ask and is_watched():
        _ask(screen, missing)
    elif must_ask:
        raise ModelNotFound(
            f"{_are_missing(missing)}, and nobody is there to ask",
            hint=f"add -y to fetch what is missing, or: {_pulls(missing)}",
        )
    for spec in missing:
        fetch(screen, spec, offline=flags.offline)


def _ask(screen: Screen, missing: list[ModelSpec]) -> None:
    screen.note(f"{_are_missing(missing)}.")
    total = sum(spec.planning_bytes or 0 for spec in missing)
    if not screen.ask(f"Fetch {gigabytes(total)}?"):
        raise ModelNotFound(
            f"{' and '.join(spec.id for spec in missing)} had to be fetched",
            hint=f"later: {_pulls(missing)}",
        )


def _are_missing(missing: list[ModelSpec]) -> str:
    from edgespec.store import described

    what = " and ".join(f"{spec.id} ({described(spec)}, from {spec.origin})" for spec in missing)
    return f"{what} {'is' if len(missing) == 1 else 'are'} not on this machine"


def _pulls(missing: list[ModelSpec]) -> str:
    return "   ".join(f"edgespec pull {spec.id}" for spec in missing)


def _target(flags: Flags, screen: Screen, catalogue: Catalogue) -> Resolved:
    if flags.target is not None:
        return _resolved(flags.target, flags, screen, catalogue)
    chosen = _last_used(catalogue) or _largest_that_fits(flags, catalogue)
    if chosen is not None:
        screen.note(f"using {chosen.name}; --target MODEL chooses another")
        return chosen
    return resolve(STARTER, catalogue)


def _resolved(name: str, flags: Flags, screen: Screen, catalogue: Catalogue) -> Resolved:
    resolved = resolve(name, catalogue, ask=ask_nobody if flags.offline else ask_hub)
    if resolved.notice:
        screen.note(f"note: {resolved.notice}")
    if isinstance(resolved.model, ModelSpec):
        check_answers(resolved.model)
    return resolved


def _drafts(
    flags: Flags, screen: Screen, catalogue: Catalogue, target: Resolved
) -> tuple[Resolved, ...]:
    """The target's draft model, if any, and what was named to draft for it."""
    said = flags.draft or "auto"
    if said == "off":
        if _needs_draft(flags.drafter):
            raise UsageError(
                f"--draft off and --drafter {flags.drafter} exclude each other",
                hint="leave one of them out",
            )
        return ()
    if said != "auto":
        if _leaves_draft_idle(flags.drafter):
            raise UsageError(
                f"--drafter {flags.drafter} drafts without a draft model, so --draft {said} "
                "has no use",
                hint="leave one of them out",
            )
        return tuple(_resolved(str(name), flags, screen, catalogue) for name in drafts_named(said))
    known = None
    if not _leaves_draft_idle(flags.drafter):
        known = _known_draft(flags, catalogue, target)
    return () if known is None else (known,)


def _needs_draft(drafter: str | None) -> bool:
    """Whether the drafter asked for drafts with a model; "auto" does where there is one."""
    return drafter not in (None, AUTO) and find(drafter).needs_draft_model


def _leaves_draft_idle(drafter: str | None) -> bool:
    return drafter not in (None, AUTO) and not find(drafter).needs_draft_model


def _known_draft(flags: Flags, catalogue: Catalogue, target: Resolved) -> Resolved | None:
    """The best of the target's known drafts that is here; not here only if it was asked for."""
    is_known = isinstance(target.model, ModelSpec)
    known = catalogue.drafts_of(target.model) if isinstance(target.model, ModelSpec) else ()
    if here := list_installed(known):
        return Resolved(here[0].spec)
    if not _needs_draft(flags.drafter):
        return None
    if not known:
        why = "the catalogue knows none for" if is_known else "none is known for a file,"
        raise UsageError(
            f"--drafter {flags.drafter} needs a draft model, and {why} {target.name}",
            hint="name one: --draft MODEL",
        )
    return Resolved(known[0])


def _largest_that_fits(flags: Flags, catalogue: Catalogue) -> Resolved | None:
    from edgespec.hardware.probe import room_bytes

    here = list_installed(spec for spec in catalogue if spec.kind == "model")
    # Weights are not all: a tenth more for the context and what computing needs.
    room = room_bytes(flags.placing().get("memory_bytes")) / 1.1
    fitting = [found for found in here if found.size_bytes < room]
    best = max(fitting or here, key=lambda found: found.size_bytes, default=None)
    return Resolved(best.spec) if best else None


def _last_used(catalogue: Catalogue) -> Resolved | None:
    try:
        last = resolve(last_target(), catalogue, ask=ask_nobody)
    except EdgespecError:
        return None  # none yet, or no longer there
    is_here = not isinstance(last.model, ModelSpec) or list_installed([last.model])
    return Resolved(last.model) if is_here else None


def remember(target: Resolved) -> None:
    """Let the next chat begin with this model, which could be loaded."""
    model = target.model
    keep_target(model.id if isinstance(model, ModelSpec) else str(model.absolute()))
