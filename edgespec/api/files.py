"""From names to the files of a target and a draft: found, read, and checked as a pair.

Everything that a person can have wrong is told here, before any weights are read.
"""

import logging
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from edgespec.api.intersect import Intersection, intersected
from edgespec.api.types import DraftVocab
from edgespec.drafters import find
from edgespec.errors import EdgespecError, IncompatibleDraft, ModelNotFound, UsageError
from edgespec.gguf.header import GgufHeader, read_header
from edgespec.gguf.tables import FUZZED
from edgespec.models.chain import drafts_named
from edgespec.models.pairing import check_pair
from edgespec.sizes import gibibytes

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Files:
    """A target and perhaps a draft: headers read, pair checked."""

    target: GgufHeader
    target_id: str
    draft: GgufHeader | None = None
    draft_id: str | None = None
    note: str = ""
    """Why there is no draft although "auto" looked for one; empty otherwise."""
    others: tuple["Files", ...] = ()
    """The same target with other drafts that are here and fit, for when memory is short."""
    lower: tuple["Files", ...] = ()
    """The same target with the models that draft for the draft, each for the one before it."""
    intersection: Intersection | None = None
    """What target and draft share, where their vocabularies differ."""
    strange: tuple[str, ...] = ()
    """Names of files that nobody vouches for: neither a pinned hash, nor an architecture whose
    headers were fuzzed. What llama.cpp does with them is to be tried in another process."""


def find_files(
    target: str | Path, draft: str | Path | None, drafter: str, draft_vocab: DraftVocab = "same"
) -> Files:
    """Resolve names, read headers, check the pair.

    `draft_vocab` "intersect": a draft that is named may have another vocabulary, if enough is
    shared; that is told in the log.
    `draft` "auto": the catalogue's, if one is here and fits, and if `drafter` could use it.
    Raises: `ModelNotFound`, `ModelFileError`, `UsageError`; `IncompatibleDraft` for a draft that
    was named, while "auto" goes without and says why.
    """
    needs_draft = drafter != "auto" and find(drafter).needs_draft_model
    if needs_draft and draft is None:
        raise UsageError(
            f"the drafter {drafter!r} needs a draft model", hint="name one with --draft"
        )
    path, target_id, advised = _located(target)
    header = _checked_header(path)
    alone = Files(header, target_id, strange=_strange(header, target))
    if draft == "auto":
        is_wanted = needs_draft or drafter == "auto"
        return _with_advised(alone, advised, needs_draft) if is_wanted else alone
    return alone if draft is None else _cascade(alone, draft, draft_vocab)


def _cascade(alone: Files, draft: str | Path, draft_vocab: DraftVocab) -> Files:
    """A draft, and what drafts for it. Every model speaks to the target: so it has to fit it."""
    first, *lower = (_with(alone, name, draft_vocab) for name in drafts_named(draft))
    for larger, smaller in pairwise((first, *lower)):
        assert larger.draft is not None, larger
        assert smaller.draft is not None, smaller
        sizes = larger.draft.shape.size_bytes, smaller.draft.shape.size_bytes
        if sizes[1] >= sizes[0]:
            raise UsageError(
                f"{smaller.draft_id} has {gibibytes(sizes[1])} and {larger.draft_id} "
                f"{gibibytes(sizes[0])}: it would not draft for it any faster",
                hint="name the larger model first",
            )
    strange = tuple(dict.fromkeys(name for pair in (first, *lower) for name in pair.strange))
    return replace(first, lower=tuple(lower), strange=strange)


def _with(alone: Files, draft: str | Path, draft_vocab: DraftVocab = "same") -> Files:
    """The pair. Raises: `IncompatibleDraft`, and whatever is wrong with the draft's file."""
    path, draft_id, _ = _located(draft)
    header = _checked_header(path, alone.target)
    report = check_pair(alone.target, header)
    strange = (*alone.strange, *_strange(header, draft))
    pair = Files(alone.target, alone.target_id, header, draft_id, strange=strange)
    if report.ok:
        return pair
    if report.is_vocabulary and draft_vocab == "intersect":
        found = intersected(alone.target, header, alone.target_id, draft_id)
        _log.warning("%s", found.told)
        return replace(pair, intersection=found)
    hint = "leave --draft away, or --drafter suffix needs no draft model"
    if report.is_vocabulary:
        hint += "; --draft-vocab intersect drafts through the tokens that both have"
    raise IncompatibleDraft(
        f"{draft_id} cannot draft for {alone.target_id}: {report.reason}", hint=hint
    )


def _strange(header: GgufHeader, name: str | Path) -> tuple[str, ...]:
    from edgespec.models.catalogue import load_catalogue

    if header.architecture in FUZZED:
        return ()
    try:
        is_pinned = bool(load_catalogue().find(str(name))[0].sha256)
    except ModelNotFound:
        is_pinned = False
    return () if is_pinned else (header.path.name,)


def _with_advised(alone: Files, advised: tuple[str, ...], needs_draft: bool) -> Files:
    """The first advised draft that is here and fits; "auto" never fails for a bad one."""
    reasons, pairs = [], []
    for name in advised:
        try:
            pairs.append(_with(alone, name))
        except ModelNotFound:
            continue
        except EdgespecError as error:
            reasons.append(error.message)
    if pairs:
        return replace(pairs[0], others=tuple(pairs[1:]))
    note = "; ".join(reasons)
    if needs_draft:
        raise ModelNotFound(
            note or f"no draft model for {alone.target_id} is on this machine",
            hint=f"edgespec pull {advised[0]}" if advised else "name one with --draft",
        )
    return replace(alone, note=note)


def _located(name: str | Path) -> tuple[Path, str, tuple[str, ...]]:
    """File, display name, and the drafts that the catalogue advises."""
    from edgespec.models.catalogue import load_catalogue
    from edgespec.models.names import check_answers, resolve
    from edgespec.models.other_programs import shown_name
    from edgespec.store import installed

    if isinstance(name, Path):
        return name, shown_name(name), ()
    catalogue = load_catalogue()
    resolved = resolve(name, catalogue)
    if resolved.notice:
        _log.warning("%s", resolved.notice)
    spec = resolved.model
    if isinstance(spec, Path):
        return spec, resolved.name, ()
    check_answers(spec)
    path = installed(spec)
    if path is None:
        raise ModelNotFound(f"{spec.id} is not on this machine", hint=f"edgespec pull {spec.id}")
    return path, spec.id, tuple(draft.id for draft in catalogue.drafts_of(spec))


def _checked_header(path: Path, target: GgufHeader | None = None) -> GgufHeader:
    """`target`: of the model to draft for, whose vocabulary this one should have."""
    header = read_header(path, target)
    header.tokens.check()  # llama.cpp would end the process on what this refuses
    return header
