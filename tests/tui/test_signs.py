"""Signs, figures and colours: what a word or a number says without them."""

from dataclasses import replace

import pytest
from edgespec.tui import lines
from edgespec.tui.glyphs import ASCII, UNICODE
from edgespec.tui.live import Live
from edgespec.tui.panel import SpecPanel
from rich.style import Style
from textual.content import Content

from edgespec.chat.controller import ChatController, Turn
from edgespec.chat.turns import Reading
from edgespec.events import Round, Stats, Step
from tests.scripted import ScriptedLM
from tests.tui.stage import played, staged


def drafted_turn(pieces: tuple[str, ...], accepted: int, own_text: str) -> Turn:
    step = Step(
        drafter="suffix", draft=tuple(range(len(pieces))), tokens=tuple(range(accepted + 1)),
        accepted=accepted, discarded=0, rows=1 + len(pieces), draft_s=0.0, target_s=0.0,
        verify_s=0.0, step_s=0.0, context=8,
    )  # fmt: skip
    return Turn("hi", last_round=Round(step, Stats(), pieces), own_text=own_text)


def test_no_color_leaves_no_colour_and_every_signal_as_a_word() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["```python\nx = 1\n```"]), can_color=False) as stage:
            await stage.say("go")
            await stage.until_ended()
            screen = stage.app.screen
            styles = [
                segment.style
                for y in range(24)
                for segment in stage.app.screen._compositor.render_strips()[y].apply_filter(
                    stage.app._filters[-1], screen.background_colors[1]
                )
                if segment.style is not None
            ]

            assert styles
            assert all(style.color is None or style.color.is_default for style in styles)
            assert all(style.bgcolor is None or style.bgcolor.is_default for style in styles)
            for signal in ("draft ON", "accept", "READY", "✗"):
                assert signal in stage.text()

    played(scenario)


def test_empty_no_color_variable_keeps_the_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")

    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            assert not stage.app.no_color

    played(scenario)


def test_signs_are_one_cell_wide_and_ascii_where_asked() -> None:
    for glyphs in (UNICODE, ASCII):
        for name in ("prompt", "folded", "accepted", "rejected", "to", "full", "empty", "times"):
            assert Content(getattr(glyphs, name)).cell_length == 1
    assert all(str(getattr(ASCII, name)).isascii() for name in ASCII.__dataclass_fields__)


def test_spread_fills_the_width_by_cells_and_cuts_the_left_text() -> None:
    left = Content("日本語" * 10)

    line = lines.spread(30, left, "right", "…")

    assert line.cell_length <= 30
    assert line.plain.startswith(" 日本語")
    assert line.plain.endswith("…  right")


def test_prefill_tells_rate_and_rest_once_there_is_a_rate() -> None:
    early = lines.prefill(Reading(done=1840, total=7912, cached=0), UNICODE)
    late = lines.prefill(Reading(done=1840, total=7912, cached=40, tokens_per_s=409.0), UNICODE)

    assert early.plain == "reading prompt ▓▓░░░░░░ 1,840/7,912 tok 23%"
    assert late.plain == f"{early.plain} · 409 tok/s · 15 s left · 40 cached"


def test_prefill_shows_no_figures_before_there_are_any() -> None:
    assert lines.prefill(None, UNICODE).plain == "reading prompt…"


def test_last_round_shows_a_sign_for_a_token_without_text() -> None:
    turn = drafted_turn(pieces=("", ""), accepted=1, own_text="Hello")

    assert lines.last_round(turn, UNICODE).plain == "✓… ✗…→Hello"


def test_panel_says_why_drafts_rest_and_what_forces_them() -> None:
    chat, pulse = ChatController(), Live()
    chat.attach(ScriptedLM())
    pulse.plain_steps = 100

    panel = SpecPanel(chat, UNICODE, pulse).draw(38, 20)

    assert "no draft promised more than a plain step" in panel.plain


def test_panel_counts_one_round_in_the_singular() -> None:
    chat = ChatController()
    chat.conversation.tree.add(Turn("hi", stats=Stats(passes=1, rounds=1, drafted=2, accepted=1)))

    panel = SpecPanel(chat, UNICODE, Live()).draw(38, 20)

    assert "2.00 in 1 round\n" in panel.plain + "\n"


def test_speed_has_no_ratio_where_nothing_was_drafted() -> None:
    plain = Stats(generated_tokens=20, decode_s=1.0, plain_tokens_per_s=22.0)
    drafted = replace(plain, rounds=3, drafted=9, accepted=4)

    assert lines.speed(plain, UNICODE, 0).plain == "20.0 tok/s"
    assert lines.speed(drafted, UNICODE, 0).plain == "20.0 tok/s  plain 22.0 = 0.91×"
    assert "plain" not in lines.turn_end(Turn("hi", stats=plain), UNICODE).plain


def contrast(style: Style) -> float:
    """The contrast of a text with its background, 1 to 21 (WCAG 2.2)."""
    assert style.color is not None
    assert style.bgcolor is not None
    lights = []
    for colour in (style.color, style.bgcolor):
        parts = [part / 255 for part in colour.get_truecolor()]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        lights.append(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    return (max(lights) + 0.05) / (min(lights) + 0.05)


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
def test_coloured_words_stand_out_in_dark_and_light_themes(theme: str) -> None:
    found: dict[str, float] = {}

    async def scenario() -> None:
        async with staged(ScriptedLM(["An answer of a few words."])) as stage:
            stage.app.theme = theme
            await stage.say("go")
            await stage.until_ended()
            for strip in stage.app.screen._compositor.render_strips():
                for segment in strip:
                    word = segment.text.strip()
                    if segment.style is not None and word in ("you ▸", "ON", "✗it"):
                        found[word] = contrast(segment.style)

    played(scenario)

    assert sorted(found) == ["ON", "you ▸", "✗it"]
    # Textual's shades for text have 2.8 and more; its plain colours had 1.3 in the light theme.
    assert all(ratio >= 2.7 for ratio in found.values()), found
