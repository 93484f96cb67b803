"""Numbers as sentences: statistics and durations. Pure; prints nothing."""

from edgespec.chat.turns import Reading, ratio
from edgespec.events import Stats


def duration(seconds: float) -> str:
    """For example "0.31 s", "12 s" or "2:24"."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def speed_line(stats: Stats) -> str:
    """How fast it was; the ratio only where drafts could change it."""
    parts = [f"{stats.generated_tokens} tokens"]
    if stats.decode_s:
        parts[0] += f" in {duration(stats.decode_s)}"
    if (speed := stats.decode_tokens_per_s) is not None:
        times = ratio(stats)
        against = f" ({times:.2f}x plain)" if times is not None else ""
        parts.append(f"{speed:.1f} tok/s{against}")
    if stats.ttft_s is not None:
        parts.append(f"first token after {duration(stats.ttft_s)}")
    cached = f", {stats.cached_tokens} of them cached" if stats.cached_tokens else ""
    parts.append(f"prompt {stats.prompt_tokens} tokens{cached}")
    return "; ".join(parts)


def draft_line(stats: Stats) -> str:
    """Which drafter was in force and what it gave."""
    line = f"drafter {stats.drafter}"
    if stats.drafter_note:
        line += f" ({stats.drafter_note})"
    if stats.acceptance_rate is None or stats.mean_acceptance_length is None:
        return f"{line}; no drafts"
    judged = stats.accepted + stats.rejected
    return (
        f"{line}; {stats.acceptance_rate:.0%} of drafts accepted ({stats.accepted} of {judged}), "
        f"{stats.mean_acceptance_length:.2f} tokens per round"
    )


def loading_line(phase: str, fraction: float | None) -> str:
    """For example "loading qwen3-14b, 34 %"."""
    return phase if fraction is None else f"{phase}, {fraction:.0%}"


def reading_line(reading: Reading) -> str:
    """For example "reading 1,840 of 7,912 tokens (23%), 410 tok/s, 15 s left; 512 cached"."""
    share = reading.done / reading.total if reading.total else 1.0
    line = f"reading {reading.done:,} of {reading.total:,} tokens ({share:.0%})"
    if reading.tokens_per_s is not None and reading.left_s:
        line += f", {reading.tokens_per_s:,.0f} tok/s, {duration(reading.left_s)} left"
    return line + (f"; {reading.cached:,} cached" if reading.cached else "")
