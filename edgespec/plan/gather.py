"""From names to a request: headers of what is here, the catalogue's facts for what is not.

Loads nothing and fetches nothing.
"""

from dataclasses import dataclass
from pathlib import Path

from edgespec.errors import IncompatibleDraft, ModelNotFound
from edgespec.gguf.header import GgufHeader, read_header
from edgespec.hardware.types import HardwareReport
from edgespec.index.folders import names
from edgespec.models.catalogue import Catalogue, load_catalogue
from edgespec.models.chain import drafts_named
from edgespec.models.names import check_answers, resolve
from edgespec.models.pairing import check_pair
from edgespec.models.spec import ModelSpec
from edgespec.plan.estimate import estimated
from edgespec.plan.sizes import sizes_of
from edgespec.plan.types import Asked, ModelSizes, PlanRequest
from edgespec.store import installed


@dataclass(frozen=True, slots=True)
class _Model:
    """A model by its file, or by the catalogue alone."""

    sizes: ModelSizes
    header: GgufHeader | None
    spec: ModelSpec | None


@dataclass(frozen=True, slots=True)
class Gathered:
    """A request, and what a person should hear about the names in it."""

    request: PlanRequest
    notices: tuple[str, ...]


def gather(
    target: str, draft: str, asked: Asked, hardware: HardwareReport, *, is_here: bool
) -> Gathered:
    """What to plan. `draft`: a name, "auto" for the catalogue's advice, or "off".

    `is_here`: the plan is for this machine, where a load takes the drafts that are on it, if any,
    and an index of the user's own texts if there is one.
    Raises: `ModelNotFound`, `ModelFileError`, `UsageError`, `IncompatibleDraft`.
    """
    catalogue = load_catalogue()
    notices: list[str] = []
    lower: tuple[ModelSizes, ...] = ()
    model = _model(target, catalogue, notices)
    if draft == "off":
        drafts: tuple[_Model, ...] = ()
    elif draft == "auto":
        drafts = _advised(model, catalogue, is_here=is_here)
    else:
        named = tuple(
            _model(str(name), catalogue, notices, model.header) for name in drafts_named(draft)
        )
        for one in named:
            _check(model, one)
        drafts, lower = named[:1], tuple(one.sizes for one in named[1:])
    sizes = tuple(one.sizes for one in drafts)
    has_index = is_here and bool(names())
    request = PlanRequest(hardware, model.sizes, sizes, asked, has_index, lower)
    return Gathered(request, tuple(notices))


def _model(
    name: str, catalogue: Catalogue, notices: list[str], target: GgufHeader | None = None
) -> _Model:
    """`target`: of the model to draft for, whose vocabulary this one should have."""
    resolved = resolve(name, catalogue)
    if resolved.notice:
        notices.append(resolved.notice)
    if isinstance(resolved.model, Path):
        return _from_file(resolved.model, resolved.name, None, target)
    return _from_catalogue(resolved.model, target)


def _from_file(path: Path, name: str, spec: ModelSpec | None, target: GgufHeader | None) -> _Model:
    header = read_header(path, target)
    return _Model(sizes_of(header, name), header, spec)


def _from_catalogue(spec: ModelSpec, target: GgufHeader | None) -> _Model:
    check_answers(spec)
    known = _known(spec, target)
    if known is None:
        raise ModelNotFound(
            f"{spec.id} is not here, and the catalogue does not know its shape",
            hint=f"edgespec pull {spec.id}",
        )
    return known


def _known(spec: ModelSpec, target: GgufHeader | None) -> _Model | None:
    """By its file, else by the catalogue's facts, if these are enough."""
    path = installed(spec)
    if path is not None:
        return _from_file(path, spec.id, spec, target)
    sizes = estimated(spec)
    return None if sizes is None else _Model(sizes, None, spec)


def _advised(model: _Model, catalogue: Catalogue, *, is_here: bool) -> tuple[_Model, ...]:
    """The catalogue's drafts: those that are here, else, or for another machine, all of them."""
    if model.spec is None:
        return ()
    known = (_known(spec, model.header) for spec in catalogue.drafts_of(model.spec))
    fitting = tuple(one for one in known if one is not None and _is_pair(model, one))
    here = tuple(one for one in fitting if one.header is not None)
    return here if is_here and model.header is not None else fitting


def _is_pair(target: _Model, draft: _Model) -> bool:
    if target.header is None or draft.header is None:
        return True  # the catalogue advises it
    return check_pair(target.header, draft.header).ok


def _check(target: _Model, draft: _Model) -> None:
    """Refuse a draft that speaks another vocabulary. Raises: `IncompatibleDraft`."""
    reason = ""
    if target.header is not None and draft.header is not None:
        reason = check_pair(target.header, draft.header).reason
    elif _vocab(target) != _vocab(draft) and "" not in (_vocab(target), _vocab(draft)):
        reason = f"its vocabulary is {_vocab(draft)}, not {_vocab(target)}"
    if reason:
        raise IncompatibleDraft(
            f"{draft.sizes.id} cannot draft for {target.sizes.id}: {reason}",
            hint="leave --draft away: the catalogue's is taken",
        )


def _vocab(model: _Model) -> str:
    """The tokenizer family by the catalogue; empty where it does not say."""
    return "" if model.spec is None else model.spec.vocab
