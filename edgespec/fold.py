"""Steps folded into statistics, as they happen."""

from dataclasses import replace
from time import perf_counter

from edgespec.control.plain_speed import PlainSpeed
from edgespec.events import FinishReason, Stats, Step


class StatsFold:
    """Owned by one request; `stats` may be read from any thread (it is replaced, never changed)."""

    def __init__(self, base: Stats, plain: PlainSpeed) -> None:
        self.stats = base
        self._plain = plain
        self._began_s = perf_counter()

    def begin(self) -> None:
        """The engine takes the request up; waiting before is not its time."""
        self._began_s = perf_counter()

    def prefilled(self, cached: int) -> None:
        """The prompt is resident, `cached` tokens of it were before."""
        self.stats = replace(
            self.stats, cached_tokens=cached, prefill_s=perf_counter() - self._began_s
        )

    def add(self, step: Step) -> None:
        """Fold one step in."""
        old = self.stats
        self._plain.observe(step)
        drafted = step.drafted
        # All fields are named: `replace` takes longer than the rest of a fold.
        self.stats = Stats(
            prompt_tokens=old.prompt_tokens,
            cached_tokens=old.cached_tokens,
            generated_tokens=old.generated_tokens + len(step.tokens),
            passes=old.passes + 1,
            rounds=old.rounds + (drafted > 0),
            drafted=old.drafted + drafted,
            accepted=old.accepted + step.accepted,
            discarded=old.discarded + step.discarded,
            accepted_at=_counted(old.accepted_at, step.accepted),
            ttft_s=perf_counter() - self._began_s if old.ttft_s is None else old.ttft_s,
            prefill_s=old.prefill_s,
            decode_s=old.decode_s + step.step_s,
            draft_s=old.draft_s + step.draft_s,
            target_s=old.target_s + step.target_s,
            verify_s=old.verify_s + step.verify_s,
            drafter=step.drafter if drafted and old.drafter == "none" else old.drafter,
            drafter_note=old.drafter_note,
            plain_tokens_per_s=self._plain.tokens_per_s,
            finish_reason=old.finish_reason,
        )

    def finish(self, reason: FinishReason, *, note: str = "") -> None:
        """The request ended; `note` says what became of the drafter, if anything did."""
        note = note or self.stats.drafter_note
        self.stats = replace(self.stats, finish_reason=reason, drafter_note=note)


def _counted(accepted_at: tuple[int, ...], n_accepted: int) -> tuple[int, ...]:
    """With one more round, in which so many draft tokens were accepted."""
    if not n_accepted:
        return accepted_at
    counts = [*accepted_at, *[0] * (n_accepted - len(accepted_at))]
    return (*(n + 1 for n in counts[:n_accepted]), *counts[n_accepted:])
