"""The live lines and the panel: what they say at each width, in each state of drafting."""

from dataclasses import replace

import pytest
from edgespec.tui.glyphs import ASCII, UNICODE
from edgespec.tui.lines import last_round
from edgespec.tui.live import Live
from edgespec.tui.panel import SpecPanel
from edgespec.tui.strip import SpecStrip

from edgespec.chat.commands_answers import stats_text
from edgespec.chat.controller import ChatController, Turn
from edgespec.errors import DecodeFailed
from edgespec.events import Round, Stats, Step
from tests.scripted import DESCRIPTION, Script, ScriptedLM
from tests.tui.stage import played, staged

STATS = Stats(
    generated_tokens=186, passes=54, rounds=54, drafted=216, accepted=132,
    accepted_at=(46, 38, 28, 20), decode_s=4.45, draft_s=0.756, target_s=3.67, verify_s=0.027,
    plain_tokens_per_s=20.3,
)  # fmt: skip


def drafted_turn(pieces: tuple[str, ...], accepted: int, own: str, stats: Stats = STATS) -> Turn:
    step = Step(
        drafter="model", draft=tuple(range(len(pieces))), tokens=tuple(range(accepted + 1)),
        accepted=accepted, discarded=0, rows=1 + len(pieces), draft_s=0.0, target_s=0.0,
        verify_s=0.0, step_s=0.0, context=8,
    )  # fmt: skip
    return Turn(
        "hi", "complete", "x", stats=stats, last_round=Round(step, stats, pieces), own_text=own
    )


WRONG = drafted_turn(("the", " target", " checks", " it"), 3, " them")


def chat_with(turn: Turn | None = None, model: ScriptedLM | None = None) -> ChatController:
    chat = ChatController()
    chat.attach(model or ScriptedLM())
    if turn is not None:
        chat.conversation.tree.add(turn)
    return chat


def strip(width: int, turn: Turn = WRONG, pulse: Live | None = None) -> list[str]:
    drawn: str = SpecStrip(chat_with(turn), UNICODE, pulse or Live()).draw(width, 2).plain
    return drawn.split("\n")


def test_strip_at_80_columns_has_the_draft_length_and_the_acceptance_by_place() -> None:
    above, below = strip(80)

    assert above.startswith(" draft ON model k 4  … ✓checks ✗it→them ")
    assert above.endswith(" accept 61%  by place 85 70 52 37")
    assert below.startswith(" 41.8 tok/s  plain 20.3 = 2.06×  ")
    assert below.endswith(" 3.44 tok/round")


def test_strip_at_60_columns_has_the_acceptance_by_place_below() -> None:
    above, below = strip(60)

    assert above.startswith(" draft ON model k 4  … ✓target ✓checks ✗it→them ")
    assert above.endswith(" accept 61%")
    assert below.startswith(" 41.8 tok/s  plain 20.3 = 2.06×  ")
    assert below.endswith(" by place 85 70 52 37")


def test_wide_strip_has_the_counts_the_whole_round_and_the_times_of_a_step() -> None:
    above, below = strip(120)

    assert "✓the ✓target ✓checks ✗it→them" in above
    assert above.endswith("accept 61% (132/216)  by place 85 70 52 37")
    assert "draft 14.0 + target 68.0 + verify 0.5 ms" in below


def test_strip_has_the_last_minute_as_a_curve() -> None:
    now_s = [0.0]
    pulse = Live(lambda: now_s[0])
    assert WRONG.last_round is not None
    for now_s[0] in range(0, 60, 2):
        pulse.hear(WRONG.last_round)

    assert "▇" in strip(80, pulse=pulse)[1] or "█" in strip(80, pulse=pulse)[1]


def test_draft_that_was_never_right_has_a_place_with_nothing() -> None:
    wrong = drafted_turn((" a",), 0, " c", replace(STATS, accepted=0, accepted_at=()))

    assert strip(80, wrong)[0].endswith("accept 0%  by place 0")
    assert "by place   0%" in stats_text(wrong.stats)


@pytest.mark.parametrize("width", range(40, 140))
def test_strip_never_cuts_a_figure(width: int) -> None:
    above, below = strip(width)

    assert max(len(above), len(below)) <= width
    assert not above.endswith("…")
    assert "✗it" in above
    assert "2.06×" in below


def test_last_round_leaves_out_the_first_accepted_where_room_is_short() -> None:
    assert last_round(WRONG, UNICODE, 30).plain == "✓the ✓target ✓checks ✗it→them"
    assert last_round(WRONG, UNICODE, 28).plain == "… ✓target ✓checks ✗it→them"
    assert last_round(WRONG, UNICODE, 5).plain == "… ✗it→them"


def test_last_round_shows_the_targets_own_token_behind_a_draft_that_was_all_right() -> None:
    right = drafted_turn((" a", " b"), 2, " c")

    assert last_round(right, UNICODE).plain == "✓a ✓b →c"
    assert last_round(right, ASCII).plain == "+a +b >c"


def paused() -> Live:
    pulse = Live()
    pulse.plain_steps = 100
    return pulse


def test_strip_and_panel_say_auto_paused_and_why() -> None:
    above, _ = strip(80, pulse=paused())
    panel = SpecPanel(chat_with(WRONG), UNICODE, paused()).draw(38, 30).plain

    assert above.startswith(" draft AUTO-PAUSED (no draft pays now)  ")
    assert "AUTO-PAUSED" in panel
    assert "F5 drafts at every step" in panel


def test_strip_and_panel_say_warming_until_plain_speed_is_measured() -> None:
    warming = drafted_turn((" a",), 0, " c", replace(STATS, plain_tokens_per_s=None))
    panel = SpecPanel(chat_with(warming), UNICODE, Live()).draw(38, 30).plain

    assert "41.8 tok/s  WARMING: measuring plain 0/8" in strip(80, warming)[1]
    assert "plain      WARMING: measuring 0/8" in panel


def test_panel_without_a_drafter_tells_the_command_that_lists_drafts() -> None:
    lonely = replace(DESCRIPTION, draft=None, drafter="none", drafter_note="vocabularies differ")
    chat = chat_with(model=ScriptedLM(description=lonely))

    panel = SpecPanel(chat, UNICODE, Live()).draw(38, 30).plain

    assert "draft NONE (vocabularies differ)" in panel
    assert "edgespec pair qwen3-14b" in panel


def test_panel_says_error_and_which() -> None:
    async def scenario() -> None:
        model = ScriptedLM([Script("one two", error=DecodeFailed("no slot for [/] rows"))])
        async with staged(model, size=(120, 34)) as stage:
            await stage.say("go")
            await stage.until_shown("answer it again")
            await stage.pilot.press("escape")
            await stage.until_shown("ERROR: no slot for [/] rows")

    played(scenario)


def rounds(*steps: tuple[int, int, float]) -> list[Round]:
    """Steps by drafted and committed tokens and seconds."""
    assert WRONG.last_round is not None
    like = WRONG.last_round
    return [
        replace(
            like,
            step=replace(
                like.step,
                draft=tuple(range(drafted)),
                tokens=tuple(range(committed)),
                step_s=step_s,
            ),
        )
        for drafted, committed, step_s in steps
    ]


def heard(*steps: tuple[int, int, float]) -> Live:
    pulse = Live()
    for event in rounds(*steps):
        pulse.hear(event)
    return pulse


SLOWER = [(4, 2, 0.11)] * 8 + [(0, 1, 0.05)] * 16


@pytest.mark.parametrize("width", [60, 80, 120])
def test_auto_paused_says_how_slow_the_last_drafts_were(width: int) -> None:
    above, _ = strip(width, pulse=heard(*SLOWER))

    assert above.startswith(" draft AUTO-PAUSED (last drafts 0.90× plain)  ")


def test_panel_says_how_slow_the_last_drafts_were_and_what_changes_it() -> None:
    panel = SpecPanel(chat_with(WRONG), UNICODE, heard(*SLOWER)).draw(38, 30).plain

    assert "draft AUTO-PAUSED (last drafts 0.90× plain)" in panel
    assert "the last drafts made 0.90× of plain; F5 drafts at every step" in panel


@pytest.mark.parametrize(
    "steps",
    [
        [(4, 5, 0.11)] * 8 + [(0, 1, 0.05)] * 16,  # drafts paid where they were; here are none
        [(4, 2, 0.11)] * 3 + [(0, 1, 0.05)] * 16,  # too few to say anything
    ],
)
def test_auto_paused_has_no_figure_that_does_not_explain_it(
    steps: list[tuple[int, int, float]],
) -> None:
    assert strip(80, pulse=heard(*steps))[0].startswith(" draft AUTO-PAUSED (no draft pays now)")


def test_warming_counts_the_plain_steps_since_the_model_was_loaded() -> None:
    pulse = heard(*[(4, 2, 0.11)] * 2, *[(0, 1, 0.05)] * 5)
    warming = drafted_turn((" a",), 0, " c", replace(STATS, plain_tokens_per_s=None))
    panel = SpecPanel(chat_with(warming), UNICODE, pulse).draw(38, 30).plain

    assert "41.8 tok/s  WARMING: measuring plain 5/8" in strip(80, warming, pulse)[1]
    assert "plain      WARMING: measuring 5/8" in panel

    pulse.begin()

    assert "measuring plain 0/8" in strip(80, warming, pulse)[1]
