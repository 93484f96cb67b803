"""Whole screens, character by character; `GOLDEN=write` renews the files."""

from dataclasses import replace

import pytest

from tests.scripted import Script, ScriptedLM
from tests.tui.stage import assert_golden, played, staged
from tests.tui.test_strip import STATS, chat_with, drafted_turn, rounds

ANSWER = """\
A **small draft model** proposes tokens and the target checks them in one pass.
日本語も崩れません。

```python
while not done:
    draft = small.propose(gamma)
```

1. propose
2. verify
"""


def shown_turn(
    name: str, size: tuple[int, int], *, is_ascii: bool = False, can_color: bool = True
) -> None:
    async def scenario() -> None:
        model = ScriptedLM([Script(ANSWER, reasoning="Two sentences, then the loop.")])
        async with staged(model, size=size, is_ascii=is_ascii, can_color=can_color) as stage:
            await stage.say("Explain speculative decoding")
            await stage.until_ended()

            assert_golden(name, stage.text())

    played(scenario)


def test_turn_at_80_columns() -> None:
    shown_turn("turn-80x24", (80, 24))


def test_turn_at_120_columns_has_the_side_panel() -> None:
    shown_turn("turn-120x34", (120, 34))


def test_turn_at_60_columns_drops_draft_name_and_key_row() -> None:
    shown_turn("turn-60x18", (60, 18))


def test_turn_in_ascii_without_colours() -> None:
    shown_turn("turn-60x18-ascii", (60, 18), is_ascii=True, can_color=False)


def test_help_page() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), size=(80, 50)) as stage:
            await stage.pilot.press("f1")
            await stage.until_shown("Esc closes")

            keys = stage.text().partition("Commands")[0]  # tests.tui.test_keys has the others
            assert_golden("help-80x50", keys.rpartition("\n")[0])

    played(scenario)


STEPS = {
    "warming": [(4, 2, 0.11)] * 6 + [(0, 1, 0.05)] * 5,
    "paused": [(4, 2, 0.11)] * 8 + [(0, 1, 0.05)] * 16,
}


@pytest.mark.parametrize("state", STEPS)
@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 34)])
def test_state_of_drafting(state: str, size: tuple[int, int]) -> None:
    stats = replace(STATS, plain_tokens_per_s=None) if state == "warming" else STATS
    turn = drafted_turn(("the", " target", " checks", " it"), 3, " them", stats)
    chat = chat_with(replace(turn, text=ANSWER))

    async def scenario() -> None:
        async with staged(chat=chat, size=size) as stage:
            screen = stage.app.screen_stack[0]
            for event in rounds(*STEPS[state]):
                screen.feed.pulse.hear(event)
            screen.feed.pulse.clock = lambda: 1e12
            screen.refresh_chrome()
            await stage.until_shown("measuring" if state == "warming" else "AUTO-PAUSED")

            assert_golden(f"{state}-{size[0]}x{size[1]}", stage.text())

    played(scenario)
