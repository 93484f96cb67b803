from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from edgespec.tui import colours, lines
from edgespec.tui.document import Document
from edgespec.tui.glyphs import ASCII, UNICODE
from edgespec.tui.live import Live
from edgespec.tui.panel import SpecPanel
from edgespec.tui.turn import TurnView
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from edgespec.chat.controller import ChatController, Turn
from edgespec.chat.turns import Reading
from edgespec.events import Round, Stats, Step
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from edgespec.text.clean import clean
from tests.scripted import DESCRIPTION, Script, ScriptedLM
from tests.tui.stage import Stage, played, staged

MARKUP = "[/] [red] [bold [link=x] [x](y) [/INST] ![i](http://e.org/i.png) <http://a.b>"
GENERICS = "Vec<u8>, List<String> and <div>x</div> &lt; &#x202E; <think>"
LATEX = r"\(x_1\) and \[y\] and C:\temp\new"


def drafted_turn(pieces: tuple[str, ...], accepted: int, own_text: str) -> Turn:
    step = Step(
        drafter="suffix", draft=tuple(range(len(pieces))), tokens=tuple(range(accepted + 1)),
        accepted=accepted, discarded=0, rows=1 + len(pieces), draft_s=0.0, target_s=0.0,
        verify_s=0.0, step_s=0.0, context=8,
    )  # fmt: skip
    return Turn("hi", last_round=Round(step, Stats(), pieces), own_text=own_text)


def words(text: str) -> str:
    """`text` without the spaces that wrapping moves about."""
    return "".join(text.split())


async def shown_answer(stage: Stage) -> str:
    await stage.say("go")
    await stage.until_ended()
    return words(stage.text())


@pytest.mark.parametrize("hostile", [MARKUP, GENERICS, LATEX])
def test_hostile_text_is_shown_as_it_was_written(hostile: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([hostile])) as stage:
            assert words(hostile) in await shown_answer(stage)

    played(scenario)


@pytest.mark.parametrize(
    "hostile",
    [
        "a\x1b]0;pwn\x07b\x1b[31mred",
        "\x1b]52;c;cHduZWQ=\x07",
        "one\u2028two\u2029three\x0bfour\x0cfive\rsix\r\nseven",
        "admin\u202etxt.exe",
        "👩‍👩‍👧‍👦 e\u0301 שלום",
        "tab\there",
    ],
)
def test_control_characters_never_reach_the_terminal(hostile: str) -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM([hostile])) as stage:
            text = await shown_answer(stage)

            assert words(clean(hostile)) in text
            assert not [c for c in text if ord(c) < 32 or 0x7F <= ord(c) < 0xA0]

    played(scenario)


def test_hostile_message_of_a_person_is_shown_as_it_was_written() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            await stage.say("[/foo] [bold <b>")
            await stage.until_shown("you ▸ [/foo] [bold <b>")

    played(scenario)


def test_line_breaks_are_the_sources_own() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["first line\nsecond line"])) as stage:
            await stage.say("poem")
            await stage.until_ended()

            assert " first line\n second line\n" in stage.text()

    played(scenario)


def test_long_line_without_spaces_is_whole() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(["x" * 10_000]), size=(200, 80)) as stage:
            await stage.say("go")
            await stage.until(lambda: stage.text().count("x") >= 10_000)

    played(scenario)


@pytest.fixture
def highlights(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lines of each text that Pygments was given."""
    seen: list[int] = []
    real = colours.highlight

    def counted(code: str, **how: Any) -> Content:
        seen.append(code.count("\n") + 1)
        return real(code, **how)

    monkeypatch.setattr(colours, "highlight", counted)
    return seen


def test_growing_fence_is_highlighted_once_when_it_is_complete(highlights: list[int]) -> None:
    code = "".join(f"value_{i} = {i}\n" for i in range(150))
    model = ScriptedLM([Script(f"```python\n{code}```\n\ndone", pace_s=0.001)])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("code")
            await stage.until_ended()

            assert stage.views[0].document.source == model.complete("again").text

    played(scenario)

    assert highlights == [150]


def test_drawing_lays_the_screen_out_once_and_renders_new_lines_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    real = TurnView._strip

    def counted(self: TurnView, y: int, *how: Any) -> Strip:
        made.append(y)
        return real(self, y, *how)

    monkeypatch.setattr(TurnView, "_strip", counted)
    n_layouts = 0

    def laid_out(screen: object) -> None:
        nonlocal n_layouts
        n_layouts += 1

    async def scenario() -> None:
        model = ScriptedLM([Script("```python\n" + "x = 1\n" * 500, hold_at=700)])
        async with staged(model) as stage:
            await stage.say("code")
            await stage.until(model.is_holding.is_set)
            view = stage.views[0]
            await stage.until(lambda: len(view.document.source) == len(view.turn.text))
            await stage.pilot.pause(0.3)
            stage.app.screen.screen_layout_refresh_signal.subscribe(view, laid_out)
            made.clear()

            view.turn.text += "y = 2\n" * 3
            view.sync()
            await stage.pilot.pause(0.1)

            assert "y = 2" in stage.text()
            model.release()

    played(scenario)

    assert n_layouts == 1
    assert len(set(made)) <= 3 + 4


def test_many_pieces_are_drawn_in_few_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    n_feeds = 0
    real = Document.feed

    def counted(self: Document, raw: str) -> None:
        nonlocal n_feeds
        n_feeds += 1
        real(self, raw)

    monkeypatch.setattr(Document, "feed", counted)
    model = ScriptedLM(["word " * 4000])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("long")
            await stage.until_ended()

    played(scenario)

    assert model.streams[0].stats.passes > 1000
    assert n_feeds <= 60


def test_resizing_while_streaming_loses_nothing() -> None:
    text = "漢字 and emoji 👩‍👩‍👧‍👦 " * 40
    model = ScriptedLM([Script(text, pace_s=0.002)])

    async def scenario() -> None:
        async with staged(model, size=(120, 34)) as stage:
            await stage.say("go")
            for size in ((60, 18), (1, 1), (20, 5), (300, 80), (80, 24)):
                await stage.pilot.resize_terminal(*size)
                await stage.pilot.pause(0.02)
            await stage.until_ended()

            assert stage.chat.turns[0].text == text
            assert stage.views[0].document.source == text
            assert all(Content(row).cell_length <= 80 for row in stage.rows())

    played(scenario)


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (39, 24), (80, 9)])
def test_answer_goes_on_in_a_terminal_that_is_too_small(size: tuple[int, int]) -> None:
    model = ScriptedLM([Script("one two three four five six", hold_at=4)])

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("count")
            await stage.until_shown("one two three four")
            await stage.pilot.resize_terminal(*size)
            model.release()
            await stage.until_ended()
            small = stage.text()
            await stage.pilot.resize_terminal(80, 24)
            await stage.until_shown("one two three four five six")
            await stage.pilot.press("h", "i")

            assert "READY" not in small
            assert stage.prompt.text == "hi"

    played(scenario)


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

    assert lines.speed(plain, UNICODE).plain == "20.0 tok/s"
    assert lines.speed(drafted, UNICODE).plain == "20.0 tok/s  plain 22.0 = 0.91×"
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


def test_markup_in_names_and_notes_is_text() -> None:
    hostile = replace(
        DESCRIPTION, target="[red]x[/] [/foo]", drafter_note="[bold no [/] way\x1b[2J"
    )

    async def scenario() -> None:
        async with staged(ScriptedLM(description=hostile), size=(100, 24)) as stage:
            await stage.until_shown("[red]x[/] [/foo]")
            await stage.say("/draft")
            await stage.until_shown("[bold no [/] way[2J")

    played(scenario)


def test_markup_in_titles_of_saved_chats_is_text(tmp_path: Path) -> None:
    chat = ChatController(
        journal=Keeper(tmp_path / "history.db"), library=Library(tmp_path / "history.db")
    )
    chat.attach(ScriptedLM(["[/] [red] answer"]))

    async def scenario() -> None:
        async with staged(chat=chat, size=(100, 24)) as stage:
            await stage.say("[/INST] [bold")
            await stage.until_ended()
            await stage.pilot.press("f3")
            await stage.until_shown("1 turn")

            await stage.until_shown("[/] [red] answer")  # the preview

            assert "[/INST] [bold" in stage.text()

    played(scenario)
