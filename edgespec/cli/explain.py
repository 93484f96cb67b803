"""An explanation in lines: what was drafted, how often it came true, and what that gained."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from edgespec.explanation import Acceptance, Arm, Decision, Explanation

if TYPE_CHECKING:
    from edgespec.api.types import LanguageModel

_STEPS = 12
"""Of the last steps, shown one by one."""


def explained(model: "LanguageModel") -> Iterator[str]:
    """What the model's latest answer drafted; nothing before the first."""
    told = model.explain()
    if told is not None:
        yield from lines(told)


def lines(told: Explanation) -> Iterator[str]:
    """For a person, narrower than 100 columns."""
    yield _headline(told)
    for n, reason in told.reasons_in_words:
        yield f"  {n:>5} x {reason}"
    for arm in told.arms:
        if arm.steps or arm.note:
            yield from _arm(arm)
    if told.bound is not None:
        yield (
            f"bound: at most {told.bound.share:.0%} and {told.bound.head_start_s * 1e3:.0f} ms over"
            f" plain decoding; now {told.bound.ledger_s * 1e3:+.0f} ms"
        )
    if told.decisions:
        yield f"the last {min(_STEPS, len(told.decisions))} steps:"
        yield from map(_decision, told.decisions[-_STEPS:])


def _headline(told: Explanation) -> str:
    length = "chosen at each step" if told.draft_len is None else f"{told.draft_len} tokens"
    line = f"drafter {told.drafter}, draft length {length}: {told.tokens} tokens in "
    line += f"{told.steps} steps, {told.took_s:.2f} s"
    if told.plain_s is None:
        return line
    times = "" if told.speedup is None else f" ({told.speedup:.2f}x)"
    return f"{line}; plainly about {told.plain_s:.2f} s{times}"


def _arm(arm: Arm) -> Iterator[str]:
    name = "plain" if arm.drafter == "none" else arm.drafter
    line = f"{name}: {arm.steps} steps, {arm.tokens} tokens, {arm.took_s:.2f} s"
    if arm.drafted:
        line += f"; {arm.accepted} of {arm.drafted} drafted tokens accepted"
    yield line + (f"; {arm.note}" if arm.note else "")
    for seen in sorted(arm.acceptance, key=_weight):
        yield f"  {seen.rate:4.0%} come true of {seen.bucket} ({seen.seen:.0f} seen)"


def _weight(seen: Acceptance) -> float:
    return -seen.seen


def _decision(one: Decision) -> str:
    what = "plain" if not one.drafted else f"{one.drafter} {one.accepted}/{one.drafted}"
    line = f"  at {one.context:>6}: {what:<14} {one.tokens:>2} tokens in {one.took_s * 1e3:6.1f} ms"
    if one.reason != "fixed":
        line += f"; expected {one.expected_tokens:4.1f} in {one.expected_s * 1e3:6.1f}"
    return f"{line}; {one.reason}{f', {one.bucket}' if one.bucket else ''}"
