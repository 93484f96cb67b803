import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.text.reasoning import Kind, ReasoningSplitter, opens_reasoning


def _split(pieces: list[str], *, is_open: bool = False) -> tuple[str, str]:
    """All reasoning and all answer."""
    splitter = ReasoningSplitter(is_open=is_open)
    runs: list[tuple[Kind, str]] = [run for piece in pieces for run in splitter.feed(piece)]
    runs += splitter.flush()
    kinds: tuple[Kind, Kind] = ("reasoning", "text")
    first, second = ("".join(text for kind, text in runs if kind == want) for want in kinds)
    return first, second


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("<think>\nhm\n</think>\n\nYes.", "hm", "Yes."),
        ("\n<think>hm</think>Yes.", "hm", "Yes."),
        ("<think>\n\n</think>\n\nYes.", "", "Yes."),
        ("<think>a\n\n b </think>\n\n    code\n", "a\n\n b", "    code\n"),
        ("[THINK]hm[/THINK]Yes.", "hm", "Yes."),
        ("<|channel>thought\nhm<channel|>Yes.", "hm", "Yes."),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
            "hm",
            "Yes.",
        ),
        ("<|channel|>final<|message|>Yes.", "", "Yes."),
        (
            "<think>hm, </thin> and [/THINK] are not it</think>ok",
            "hm, </thin> and [/THINK] are not it",
            "ok",
        ),
    ],
)
def test_splitter_separates_reasoning_however_it_is_cut(
    text: str, reasoning: str, answer: str
) -> None:
    assert _split([text]) == (reasoning, answer)
    assert _split(list(text)) == (reasoning, answer)


def test_splitter_starts_in_reasoning_when_the_template_opened_it() -> None:
    assert _split(["Let me see", ".\n</th", "ink>\n", "\nYes."], is_open=True) == (
        "Let me see.",
        "Yes.",
    )


def test_splitter_drops_a_second_opening_when_the_template_opened_it() -> None:
    assert _split(["<think>", "\nhm</think>Yes."], is_open=True) == ("hm", "Yes.")


@pytest.mark.parametrize("is_open", [False, True])
def test_splitter_keeps_reasoning_when_it_is_never_closed(is_open: bool) -> None:
    text = "so 1 < 2 and </thi" if is_open else "<think>so 1 < 2 and </thi"

    assert _split(list(text), is_open=is_open) == ("so 1 < 2 and </thi", "")


def test_splitter_leaves_an_answer_about_the_tags_alone() -> None:
    text = " Models write <think> and </think>.\n\n<think>x</think>"

    assert _split(list(text)) == ("", text)


@pytest.mark.parametrize("text", ["", " ", "<thi", " \n<", "<b>bold</b>", " blue"])
def test_splitter_changes_nothing_without_reasoning(text: str) -> None:
    assert _split(list(text)) == ("", text)


def test_splitter_shows_reasoning_before_it_is_closed() -> None:
    splitter = ReasoningSplitter()

    assert splitter.feed("<think>one two") == [("reasoning", "one two")]
    assert splitter.feed(" \n") == []
    assert splitter.feed("three") == [("reasoning", " \nthree")]


@settings(deadline=None)
@given(st.data(), st.text("a <>/think\n", max_size=30), st.booleans())
def test_splitter_result_does_not_depend_on_the_cuts(
    data: st.DataObject, text: str, is_open: bool
) -> None:
    text = data.draw(st.sampled_from(["", "<think>", "\n<think>"])) + text
    text += data.draw(st.sampled_from(["", "</think>\n\nend", "</think> x </think>"]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert _split(pieces, is_open=is_open) == _split([text], is_open=is_open)


@settings(deadline=None)
@given(st.text("a <>/think\n", max_size=30), st.text("ab \n", max_size=9), st.booleans())
def test_splitter_loses_nothing_but_markers_and_the_space_around_them(
    thought: str, answer: str, is_open: bool
) -> None:
    thought = thought.replace("</think>", "")
    text = ("" if is_open else "<think>") + thought + "</think>" + answer

    reasoning, shown = _split(list(text), is_open=is_open)

    expected = thought.strip()
    if is_open:
        expected = expected.removeprefix("<think>").strip()
    assert reasoning.split() == expected.split()
    assert shown.split() == answer.split()


@pytest.mark.parametrize(
    ("prompt", "is_open"),
    [
        ("<｜Assistant｜><think>\n", True),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", False),
        ("[/INST][THINK]", True),
        ("<|im_start|>assistant\n", False),
        ("<|start|>assistant<|channel|>final<|message|>", False),
    ],
)
def test_prompt_opens_reasoning_only_when_it_ends_inside_a_block(
    prompt: str, is_open: bool
) -> None:
    assert opens_reasoning(prompt) == is_open
