"""Which models can draft for a target: candidates gathered, each judged with its reason.

Reads headers and the catalogue; loads nothing and fetches nothing. Nothing is remembered between
calls, so that a file that changed is judged as it is now.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from edgespec.api.judge import Judge
from edgespec.api.measured import Measured, measured_pairs
from edgespec.errors import EdgespecError, UsageError
from edgespec.gguf.header import GgufHeader, read_header
from edgespec.models.catalogue import Catalogue
from edgespec.models.expect import Expected
from edgespec.models.names import Resolved
from edgespec.models.other_programs import all_found
from edgespec.models.pairing import check_pair
from edgespec.models.spec import ModelSpec
from edgespec.store import list_installed

Verdict = Literal["fits", "slow", "unknown", "unfit"]
"""slow: it works and can hardly gain. unknown: it is not here, so its file is not compared."""
_ORDER: Final[tuple[Verdict, ...]] = ("fits", "slow", "unknown", "unfit")


@dataclass(frozen=True, slots=True)
class Model:
    """A model on one side of a pair, by its file, its catalogue entry, or both."""

    name: str
    spec: ModelSpec | None
    header: GgufHeader | None
    """None: not on this machine."""
    program: str = ""
    """Whose file it is, where it is another program's."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One draft and what is to be said of it."""

    name: str
    verdict: Verdict
    reason: str
    """Why not, or why it is slow or unknown; empty when it fits without more ado."""
    is_here: bool
    is_advised: bool
    """The catalogue names it for this target."""
    program: str = ""
    size_bytes: int | None = None
    token_id: int | None = None
    """First token that means something else, where that is the reason."""
    note: str = ""
    expected: Expected | None = None
    here: Expected | None = None
    """The same from the costs that were measured on this machine."""
    measured: Measured | None = None
    """Those costs."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """A target and its candidates, best first."""

    target: str
    is_here: bool
    notes: tuple[str, ...]
    """What holds for every draft of this target."""
    candidates: tuple[Candidate, ...]


def find_pairs(resolved: Resolved, catalogue: Catalogue) -> Pairs:
    """Judge every draft that the catalogue names, and every model on this machine.

    Raises: `ModelFileError` when the target's own file is not usable; `UsageError` for a head.
    """
    target = _target(resolved)
    judge = Judge(target.header, target.spec, measured_pairs())
    found = [_judged(judge, target, one) for one in _candidates(target, catalogue)]
    found.sort(key=lambda one: (_ORDER.index(one.verdict), not one.is_advised, not one.is_here))
    return Pairs(target.name, target.header is not None, tuple(judge.notes()), tuple(found))


def _target(resolved: Resolved) -> Model:
    spec = resolved.model
    if isinstance(spec, Path):
        return Model(resolved.name, None, _checked(spec))
    if spec.kind == "head":
        raise UsageError(
            f"{spec.id} is a draft head, which drafts for another model",
            hint="name the model that it belongs to",
        )
    here = list_installed([spec])
    return Model(spec.id, spec, _checked(here[0].path) if here else None)


def _checked(path: Path) -> GgufHeader:
    header = read_header(path)
    header.tokens.check()
    return header


def _candidates(target: Model, catalogue: Catalogue) -> Iterator[Model | Candidate]:
    """Every model that may draft, each once; what cannot be read is judged at once."""
    advised = target.spec.drafts if target.spec else ()
    here = {found.spec.id: found.path for found in list_installed(catalogue)}
    names = [id for id in (*advised, *here) if id != target.name]
    for id in dict.fromkeys(names):
        spec = catalogue.models[id]
        yield _read(Model(id, spec, None), here.get(id), id in advised)
    if not advised:
        yield from _of_its_family(target, catalogue, here)
    known = {path.resolve() for path in here.values()}
    known |= {path.resolve() for path in target.header.paths} if target.header else set()
    for found in all_found():
        if found.path.resolve() not in known:
            yield _read(Model(found.name, None, None, found.program), found.path, False)


def _read(model: Model, path: Path | None, is_advised: bool) -> Model | Candidate:
    if path is None or (model.spec is not None and model.spec.kind == "head"):
        return model
    try:
        return Model(model.name, model.spec, _checked(path), model.program)
    except EdgespecError as error:
        return Candidate(model.name, "unfit", error.message, True, is_advised, model.program)


def _of_its_family(target: Model, catalogue: Catalogue, here: dict[str, Path]) -> Iterator[Model]:
    """For a file that the catalogue does not know: drafts of a model with the same tokens."""
    if target.header is None:
        return
    digest = target.header.tokens.digest()
    for id, path in here.items():
        spec = catalogue.models[id]
        try:
            is_same = spec.kind == "model" and read_header(path).tokens.digest() == digest
        except EdgespecError:
            continue  # it is judged, and its fault told, as a candidate
        if digest and is_same:
            relatives = [one for one in catalogue if one.vocab == spec.vocab]
            drafts = {draft for one in relatives for draft in one.drafts} - here.keys()
            for name in sorted(drafts):
                if catalogue.models[name].kind == "model":
                    yield Model(name, catalogue.models[name], None)
            return


def _judged(judge: Judge, target: Model, one: Model | Candidate) -> Candidate:
    if isinstance(one, Candidate):
        return one
    is_advised = target.spec is not None and one.name in target.spec.drafts
    size = one.spec.planning_bytes if one.spec else None
    if one.header is not None:
        size = one.header.shape.size_bytes
    opinion = judge.of(one.name, one.spec, one.header)
    report = check_pair(target.header, one.header) if target.header and one.header else None
    verdict, reason = opinion.verdict, opinion.reason
    if report is not None and not report.ok:
        verdict, reason = "unfit", report.reason
    return Candidate(
        one.name,
        verdict,
        reason,
        one.header is not None,
        is_advised,
        one.program,
        size,
        report.token_id if report else None,
        "; ".join(note for note in (report.note if report else "", opinion.note) if note),
        opinion.expected if verdict != "unfit" else None,
        opinion.here,
        opinion.measured,
    )
