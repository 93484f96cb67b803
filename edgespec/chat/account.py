"""An explanation in words: what was drafted, how often it came true, and what that gained.

The one place that words it: for the why page, for `--explain` and for `/why` line by line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edgespec.explanation import Acceptance, Arm, Decision, Explanation, PassCost
from edgespec.text.clean import clean


@dataclass(frozen=True, slots=True)
class Section:
    """A title, and lines of at most 78 columns where names and notes are short."""

    title: str
    rows: tuple[str, ...]


def account(told: Explanation, *, most_steps: int, times: str = "x") -> list[Section]:
    """All of it, what is empty left out. `most_steps`: of the last ones, shown one by one."""
    sections = (
        ("What it bought", _bought(told, times)),
        ("Ways to decode", _arms(told.arms)),
        ("Why, step by step", (f"{n:>6} x {why}" for n, why in told.reasons_in_words)),
        ("The last steps", _decisions(told.decisions[-most_steps:])),
        ("What a pass costs", map(_cost, told.costs)),
    )
    made = (Section(title, tuple(map(clean, rows))) for title, rows in sections)
    return [section for section in made if section.rows]


def _bought(told: Explanation, times: str) -> Iterator[str]:
    length = "chosen at each step" if told.draft_len is None else f"{told.draft_len} tokens"
    yield f"drafter {told.drafter}, draft length {length}"
    # Where it chose freely, its own sum of what steps took, which is not the clock's.
    is_reckoned = told.bound is not None
    took = f"{'reckoned at ' if is_reckoned else ''}{told.took_s:.2f} s"
    yield f"{told.tokens} tokens in {told.steps} steps, {took}"
    # Without drafts the two speeds are the same thing at different moments: noise, no result.
    if told.plain_s and told.speedup and any(arm.drafted for arm in told.arms):
        yield f"plainly about {told.plain_s:.2f} s: {told.speedup:.2f}{times}"
    if is_reckoned:
        yield "reckoned: a plain step counts as plain decoding takes, whatever held it up"
    if (one := told.cascade) is not None:
        yield f"the draft model's {one.drafted} tokens took {one.passes} passes, {one.rows} rows"
    if (bound := told.bound) is not None:
        over_s = bound.ledger_s
        now = f"{over_s:.2f} s of that are used" if over_s > 0 else f"it is {-over_s:.2f} s ahead"
        yield f"bound: at most {bound.share:.0%} over plain and {bound.head_start_s:.2f} s; {now}"


def _arms(arms: Sequence[Arm]) -> Iterator[str]:
    for arm in arms:
        if not arm.steps and not arm.note:
            continue
        parts = [f"{_name(arm.drafter):<10} {arm.steps} steps, {arm.tokens} tokens"]
        if arm.drafted:
            parts.append(f"{arm.accepted} of {arm.drafted} drafted tokens accepted")
        yield "; ".join([*parts, *([arm.note] if arm.note else [])])
        yield from map(_acceptance, sorted(arm.acceptance, key=lambda one: -one.seen))


def _acceptance(one: Acceptance) -> str:
    return f"  {one.rate:>5.0%} come true of {one.bucket} ({one.seen:.0f} seen)"


def _decisions(decisions: Sequence[Decision]) -> Iterator[str]:
    if decisions:
        yield "    at  way         k took  hoped got      ms  why"
    for one in decisions:
        why = f"{one.reason}, {one.bucket}" if one.bucket else one.reason
        hoped = "" if one.reason == "fixed" else f"{one.expected_tokens:.1f}"
        yield (
            f"{one.context:>6}  {_name(one.drafter):<9}{one.k:>4}{one.accepted:>5}"
            f"{hoped:>7}{one.tokens:>4}{1e3 * one.took_s:>8.1f}  {why}"
        )


def _cost(cost: PassCost) -> str:
    now = f"{1e3 * cost.now_s:.1f} now"
    return f"{cost.rows:>4} rows {1e3 * cost.measured_s:>8.1f} ms at load, {now}"


def _name(drafter: str) -> str:
    return "plain" if drafter == "none" else drafter
