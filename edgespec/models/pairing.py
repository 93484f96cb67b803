"""Whether a drafter can propose tokens for a target: decided from headers, before loading.

A drafter speaks in token ids, so equal ids must mean equal text. Padding at the end of either
list is harmless: ids past the target's list are never sent, and the target does not write padding.

Source: llama.cpp common/speculative.cpp, common_speculative_are_compatible; stricter on the first
five ids and on tokens only one side has, looser on the amount of padding.
"""

from dataclasses import dataclass, replace
from functools import cache

from edgespec.gguf.header import GgufHeader
from edgespec.gguf.part import shown
from edgespec.gguf.vocab import TokenList


@dataclass(frozen=True, slots=True)
class PairReport:
    """`ok`, or the sentence why not; `token_id` is the first id that means something else."""

    ok: bool
    reason: str = ""
    token_id: int | None = None
    note: str = ""
    """What is odd about a pair that works; empty when nothing is."""
    is_vocabulary: bool = False
    """Two vocabularies that differ are the only reason: what they share may do."""


def check_pair(target: GgufHeader, draft: GgufHeader) -> PairReport:
    """Compare two vocabularies; 0.1 s for 151,936 tokens that differ, 0.01 s when they do not.

    Raises: `ModelFileError` when a file changed since its header was read.
    """
    if draft.shape.n_params_body > target.shape.n_params_body:
        return PairReport(False, _too_large(target, draft))
    mine, theirs = target.tokens, draft.tokens
    names = target.path.name, draft.path.name
    for tokens, name in zip((mine, theirs), names, strict=True):
        if tokens.kind == "none":
            return PairReport(False, f"{name} has no vocabulary of its own")
    found = _compared(mine, theirs, names)
    return found if found.ok else replace(found, is_vocabulary=True)


def _compared(mine: TokenList, theirs: TokenList, names: tuple[str, str]) -> PairReport:
    return (
        _differing_kind(mine, theirs, names)
        or _differing_token(mine, theirs, names)
        or _differing_ends(mine, theirs, names)
        or PairReport(True, note=_note(mine, theirs))
    )


def _too_large(target: GgufHeader, draft: GgufHeader) -> str:
    return (
        f"the drafter {draft.path.name} is larger than the target {target.path.name}: "
        f"{draft.shape.n_params_body:,} parameters against {target.shape.n_params_body:,}, "
        "the vocabulary's aside"
    )


def _differing_kind(
    mine: TokenList, theirs: TokenList, names: tuple[str, str]
) -> PairReport | None:
    if mine.kind == theirs.kind:
        return None
    return PairReport(
        False,
        f"the tokenizers are of different kinds: {shown(mine.kind)} in {names[0]}, "
        f"{shown(theirs.kind)} in {names[1]}",
    )


def _differing_token(
    mine: TokenList, theirs: TokenList, names: tuple[str, str]
) -> PairReport | None:
    """The first id whose text differs, or that only one side uses."""
    regions = mine.region(), theirs.region()
    if regions[0] == regions[1]:
        return None
    texts = mine.texts(), theirs.texts()
    common = min(len(texts[0]), len(texts[1]))
    for token, (a, b) in enumerate(zip(*texts, strict=False)):
        if a != b:
            a_text, b_text = _readable(a, mine.kind), _readable(b, theirs.kind)
            return PairReport(
                False,
                f"token {token} differs: {a_text} in {names[0]}, {b_text} in {names[1]}",
                token,
            )
    longer = int(len(texts[1]) > common)
    token_id = (mine, theirs)[longer].first_used(texts[longer], common)
    if token_id is None:
        return None
    text = _readable(texts[longer][token_id], mine.kind)
    return PairReport(
        False,
        f"token {token_id} differs: {text} in {names[longer]}, nothing in {names[1 - longer]}, "
        f"which has {common:,} tokens",
        token_id,
    )


def _differing_ends(
    mine: TokenList, theirs: TokenList, names: tuple[str, str]
) -> PairReport | None:
    """BOS first or not, EOS last or not: the drafter would see a text it never learnt."""
    sides = (
        ("begins", mine.bos, theirs.bos),
        ("ends", mine.appended_eos, theirs.appended_eos),
    )
    for verb, a, b in sides:
        if a != b:
            reason = f"a text {verb} with {_token(a)} in {names[0]}, with {_token(b)} in {names[1]}"
            return PairReport(False, reason, b if a is None else a)
    return None


def _note(mine: TokenList, theirs: TokenList) -> str:
    notes = []
    if mine.pre != theirs.pre:
        notes.append(f"pre-tokenizers differ ({shown(mine.pre)}, {shown(theirs.pre)})")
    if mine.special("eos") != theirs.special("eos"):
        notes.append(
            f"EOS differs ({_token(mine.special('eos'))}, {_token(theirs.special('eos'))})"
        )
    if notes:
        notes.append("the target's counts")
    return "; ".join(notes)


def _token(token: int | None) -> str:
    return "no token" if token is None else f"token {token}"


def _readable(text: bytes, kind: str) -> str:
    """A token's text for people: byte-pair spelling undone, control characters escaped."""
    spelled = text.decode("utf-8", "replace")
    if kind != "gpt2":
        return shown(spelled.replace("▁", " "))
    bytes_by_letter = byte_letters()
    raw = b"".join(bytes_by_letter.get(letter, letter.encode()) for letter in spelled)
    return shown(raw)


@cache
def byte_letters() -> dict[str, bytes]:
    """GPT-2's letters for bytes: printable ones are themselves, the others move past 255."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): bytes([byte]) for byte in printable}
    return letters | {chr(256 + i): bytes([byte]) for i, byte in enumerate(others)}
