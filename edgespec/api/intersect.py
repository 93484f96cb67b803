"""A draft model of another vocabulary: whether what both share is enough, told in numbers."""

from dataclasses import dataclass

from edgespec.engine.tokenizer import Tokenizer
from edgespec.errors import IncompatibleDraft
from edgespec.gguf.header import GgufHeader
from edgespec.gguf.part import shown
from edgespec.models.calibration import texts
from edgespec.models.intersection import KINDS, LEAST_COVERAGE, Shared, shared_pieces

HINT = "a draft model of the target's family drafts better; --drafter suffix needs none"


@dataclass(frozen=True, slots=True)
class Intersection:
    """What a pair of two vocabularies shares, and the sentence about it."""

    shared: Shared
    told: str


def intersected(
    target: GgufHeader, draft: GgufHeader, target_id: str, draft_id: str
) -> Intersection:
    """The tokens that both have. Reads the target's vocabulary, not its weights.

    Raises: `IncompatibleDraft` below `LEAST_COVERAGE`, or for tokenizers that cannot be compared.
    """
    for header, name in ((target, target_id), (draft, draft_id)):
        if header.tokens.kind not in KINDS:
            raise IncompatibleDraft(
                f"{draft_id} cannot draft for {target_id}: tokens of the kind "
                f"{shown(header.tokens.kind)} in {name} cannot be compared with others",
                hint=HINT,
            )
    shared = shared_pieces(target.tokens, draft.tokens)
    by_kind = {}
    with Tokenizer(target.path) as tokenizer:
        for kind, text in texts().items():
            by_kind[kind] = shared.coverage(tokenizer.vocab.tokenize(text, parse_special=False))
    mean = sum(by_kind.values()) / len(by_kind)
    worst = min(by_kind, key=lambda kind: by_kind[kind])
    counted = (
        f"{draft_id} and {target_id} share {shared.size:,} of {len(target.tokens):,} tokens, which "
        f"cover {mean:.0%} of calibration texts ({by_kind[worst]:.0%} for {worst})"
    )
    if mean < LEAST_COVERAGE:
        raise IncompatibleDraft(
            f"{counted}: too few to draft through, {LEAST_COVERAGE:.0%} are needed", hint=HINT
        )
    return Intersection(shared, f"{counted}; drafts go through these")
