import pytest

from edgespec.cli.wording import draft_line, duration, speed_line
from edgespec.events import Stats


@pytest.mark.parametrize(("seconds", "text"), [(0.314, "0.31 s"), (12.3, "12 s"), (144, "2:24")])
def test_duration_gets_coarser_when_longer(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_speed_line_names_every_figure() -> None:
    stats = Stats(
        prompt_tokens=34,
        cached_tokens=12,
        generated_tokens=100,
        ttft_s=0.25,
        decode_s=4.0,
        plain_tokens_per_s=20.0,
        rounds=30,
    )

    line = speed_line(stats)

    assert line == (
        "100 tokens in 4.00 s; 25.0 tok/s (1.25x plain); first token after 0.25 s; "
        "prompt 34 tokens, 12 of them cached"
    )


def test_speed_line_has_no_ratio_when_nothing_was_drafted() -> None:
    stats = Stats(generated_tokens=100, decode_s=4.0, plain_tokens_per_s=24.5)

    assert speed_line(stats) == "100 tokens in 4.00 s; 25.0 tok/s; prompt 0 tokens"


def test_speed_line_has_no_speed_when_nothing_was_said() -> None:
    assert speed_line(Stats(prompt_tokens=5)) == "0 tokens; prompt 5 tokens"


def test_draft_line_divides_by_what_was_judged() -> None:
    stats = Stats(rounds=5, drafted=20, accepted=12, discarded=4, drafter="suffix")

    line = draft_line(stats)

    assert line == "drafter suffix; 75% of drafts accepted (12 of 16), 3.40 tokens per round"


def test_draft_line_says_why_the_drafter_is_off() -> None:
    stats = Stats(drafter="none", drafter_note="another vocabulary")

    assert draft_line(stats) == "drafter none (another vocabulary); no drafts"
