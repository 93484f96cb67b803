"""A loaded model's drafters: all that can be built, of other distributions those that work."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from edgespec.api.attempt import Loaded
from edgespec.core import Drafter
from edgespec.drafters import DRAFTERS, DrafterInputs, create, find, names
from edgespec.drafters.translation import SharedVocab, Translation
from edgespec.errors import UsageError
from edgespec.gguf.header import GgufHeader
from edgespec.plan.sizes import sizes_of

AUTO = "auto"
_log = logging.getLogger(__name__)


def usable_names(
    has_draft: bool, *, has_index: bool = False, max_branches: int = 0
) -> tuple[str, ...]:
    """The registry's drafters that can be built; one of another distribution that cannot even be
    imported is left out, with a sentence in the log."""
    has = {
        "needs_draft_model": has_draft,
        "needs_index": has_index,
        "needs_branches": max_branches,
    }

    def is_usable(name: str) -> bool:
        try:
            drafter = find(name)
        except UsageError as error:
            _log.warning("%s", error.message)
            return False
        return all(getattr(drafter, need, 0) <= there for need, there in has.items())

    return tuple(filter(is_usable, names()))


def branches_for(drafter: str, target: GgufHeader) -> int:
    """Ways that the target's passes are to go beside the trunk: what this drafter needs, for
    "auto" what any needs. There not where some layers see a window only: with branches they would
    have to keep the whole context."""
    if drafter != AUTO:
        return getattr(find(drafter), "needs_branches", 0)
    if any(layer.window for layer in sizes_of(target, "").layers):
        return 0
    return max(getattr(find(name), "needs_branches", 0) for name in DRAFTERS)


def built_drafters(
    usable: Sequence[str], inputs: DrafterInputs, *, wanted: str
) -> dict[str, Drafter]:
    """These drafters by name. Other distributions' that cannot be built are left out, with a
    sentence in the log. Raises: `UsageError` if one is `wanted`."""
    made: dict[str, Drafter] = {}
    for name in usable:
        try:
            made[name] = create(name, replace(inputs, beside=made))
        except UsageError as error:
            if name in (wanted, *DRAFTERS):
                raise
            _log.warning("%s", error.message)
    return made


def translation_of(loaded: Loaded) -> Translation | None:
    """Between the draft model's vocabulary and the target's; None where they are the same."""
    found, draft = loaded.files.intersection, loaded.draft
    if found is None or draft is None:
        return None
    n_target = loaded.session.n_vocab
    return SharedVocab(loaded.target.vocab, draft.vocab, found.shared, n_target)
