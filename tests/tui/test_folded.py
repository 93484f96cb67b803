"""Enormous messages: quick to show, sent and brought back whole."""

from dataclasses import replace

from edgespec.tui.folded import HEAD_CHARS, MAX_CHARS, TAIL_CHARS, folded
from edgespec.tui.glyphs import UNICODE

from tests.scripted import DESCRIPTION, ScriptedLM
from tests.tui.stage import played, staged

ROWS = [f"row {i} of a file that somebody has pasted" for i in range(25_000)]
MEGABYTE = "\n".join(ROWS)


def test_message_of_usual_length_is_shown_whole() -> None:
    text = "x" * MAX_CHARS

    assert folded(text, UNICODE).plain == text


def test_enormous_message_is_shown_by_whole_lines_of_both_ends() -> None:
    shown = folded(MEGABYTE, UNICODE).plain.split("\n")

    at = next(i for i, row in enumerate(shown) if "more characters were sent" in row)
    assert shown[: at - 1] == ROWS[: at - 1]
    assert shown[at + 2 :] == ROWS[-len(shown[at + 2 :]) :]
    hidden = len(MEGABYTE) - len("\n".join(shown[: at - 1])) - len("\n".join(shown[at + 2 :]))
    assert shown[at].startswith(f"[… {hidden:,} more")


def test_enormous_line_is_cut_at_both_ends() -> None:
    shown = folded("x" * 1_000_000, UNICODE).plain

    assert shown.startswith("x" * HEAD_CHARS + "\n\n[… 992,000 more characters were sent;")
    assert shown.endswith("]\n\n" + "x" * TAIL_CHARS)


def test_enormous_message_is_sent_and_edited_whole() -> None:
    model = ScriptedLM(["Fine."], description=replace(DESCRIPTION, n_ctx=10_000_000))

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say(MEGABYTE)
            await stage.until_ended()
            assert len(stage.views[0]._lines) < 300
            await stage.pilot.press("tab", "e")
            await stage.until(lambda: stage.prompt.text == MEGABYTE)

    played(scenario)

    assert model.requests[0].messages[-1]["content"] == MEGABYTE


def test_many_lines_are_never_wrapped_in_the_prompt() -> None:
    async def scenario() -> None:
        async with staged() as stage:
            wrapped: list[int] = []
            document = stage.prompt.wrapped_document
            real = document.wrap

            def counted(width: int, tab_width: int | None = None) -> None:
                wrapped.append(document.document.line_count if width else 0)
                real(width, tab_width)

            document.wrap = counted
            stage.prompt.put(MEGABYTE)
            await stage.pilot.pause(0.1)
            stage.prompt.put("")
            await stage.until(lambda: stage.prompt.soft_wrap)

            assert max(wrapped, default=0) <= 1

    played(scenario)
