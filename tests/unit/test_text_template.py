import pytest

from edgespec.errors import ModelFileError, UsageError
from edgespec.text.template import ChatTemplate, template_of
from edgespec.text.turns import Turn
from tests.unit import chat_templates

SYSTEM, HI, HELLO, MORE = (
    Turn("system", "Be brief."),
    Turn("user", "Hi"),
    Turn("assistant", "Hello", reasoning="hm"),
    Turn("user", "More"),
)


LATE = Turn("system", "Be polite.")


def _template(source: str) -> ChatTemplate:
    return ChatTemplate(source, "<s>", "</s>")


def test_template_renders_roles_and_opens_the_answer() -> None:
    text = _template(chat_templates.CHATML).render([SYSTEM, HI]).text

    assert text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("name", chat_templates.ALL)
def test_system_text_is_in_every_prompt(name: str) -> None:
    text = _template(chat_templates.ALL[name]).render([SYSTEM, HI, HELLO, MORE]).text

    assert text.count("Be brief.") == 1
    assert text.index("Be brief.") < text.index("Hi") < text.index("Hello") < text.index("More")


def test_system_text_is_folded_when_the_template_raises() -> None:
    text = _template(chat_templates.GEMMA).render([SYSTEM, HI]).text

    assert text == ("<s><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\n")


def test_system_text_is_folded_when_the_template_drops_it() -> None:
    assert _template(chat_templates.LLAMA2).render([SYSTEM, HI]).text == (
        "<s>[INST] Be brief.\n\nHi [/INST]"
    )


@pytest.mark.parametrize(
    "turns",
    [
        [SYSTEM, HI, HELLO, LATE, MORE],
        [HI, HELLO, LATE, MORE],
        [SYSTEM, LATE, HI],
        [SYSTEM, HI, HELLO, LATE],
    ],
)
@pytest.mark.parametrize("name", chat_templates.ALL | chat_templates.LEADING_SYSTEM)
def test_no_system_text_is_lost_wherever_it_stands(name: str, turns: list[Turn]) -> None:
    source = {**chat_templates.ALL, **chat_templates.LEADING_SYSTEM}[name]

    text = _template(source).render(turns).text

    assert [text.count(turn.content) for turn in turns] == [1] * len(turns)


def test_late_system_text_leads_the_next_message_where_it_would_be_lost() -> None:
    text = _template(chat_templates.GPT_OSS).render([SYSTEM, HI, HELLO, LATE, MORE]).text

    assert "# Instructions\n\nBe brief.<|end|>" in text
    assert "<|start|>user<|message|>Be polite.\n\nMore<|end|>" in text


def test_late_system_text_stays_where_the_template_takes_it() -> None:
    text = _template(chat_templates.CHATML).render([HI, HELLO, LATE, MORE]).text

    assert "<|im_start|>system\nBe polite.<|im_end|>" in text


@pytest.mark.parametrize("name", ["gemma", "mistral"])
def test_neighbours_are_merged_when_the_template_insists(name: str) -> None:
    text = _template(chat_templates.ALL[name]).render([HI, MORE]).text

    assert "Hi\n\nMore" in text


def test_neighbours_stay_apart_when_the_template_allows_it() -> None:
    text = _template(chat_templates.CHATML).render([HI, MORE]).text

    assert text.count("<|im_start|>user") == 2


def test_shaping_twice_is_shaping_once() -> None:
    template = _template(chat_templates.GEMMA)

    once = template.shaped([SYSTEM, HI, MORE, HELLO])

    assert template.shaped(once) == once


def test_thinking_is_passed_only_when_given() -> None:
    template = _template(chat_templates.QWEN3)

    assert template.can_think
    assert template.render([HI]).text.endswith("assistant\n")
    assert template.render([HI], think=True).text.endswith("assistant\n")
    assert template.render([HI], think=False).text.endswith("<think>\n\n</think>\n\n")


def test_thinking_is_switched_by_either_name() -> None:
    template = _template("{% if thinking is not defined %}?{% elif thinking %}on{% endif %}")

    assert template.can_think
    assert [template.render([HI], think).text for think in (None, True, False)] == ["?", "on", ""]


@pytest.mark.parametrize(
    "source",
    [chat_templates.CHATML, "{# enable_thinking #}{% set enable_thinking = 1 %}", "{% broken"],
)
def test_template_without_the_switch_cannot_think(source: str) -> None:
    assert not _template(source).can_think


def test_template_says_when_it_opens_reasoning() -> None:
    assert _template(chat_templates.DEEPSEEK_R1).render([HI]).opens_reasoning
    assert not _template(chat_templates.QWEN3).render([HI], think=False).opens_reasoning


@pytest.mark.parametrize("name", chat_templates.ALL)
def test_history_has_no_reasoning(name: str) -> None:
    text = _template(chat_templates.ALL[name]).render([HI, HELLO, MORE]).text

    assert "hm" not in text


def test_reasoning_is_offered_to_a_template_that_asks() -> None:
    source = "{% for m in messages %}{{ m.reasoning_content }}|{{ m.content }}|{% endfor %}"

    assert _template(source).render([HI, HELLO]).text == "|Hi|hm|Hello|"


def test_absent_tools_are_none_and_extra_names_are_passed() -> None:
    source = "{% if tools is none and documents is none %}{{ custom }}{% endif %}"

    assert _template(source).render([HI], custom="yes").text == "yes"


def test_refusal_is_one_sentence_with_the_line() -> None:
    source = "{% if messages | length > 1 %}\n{{ raise_exception('too long') }}{% endif %}"

    with pytest.raises(UsageError) as caught:
        _template(source).render([HI, HELLO, MORE])

    assert caught.value.message == (
        "the model's chat template refuses this conversation (line 2 of the template): too long"
    )


def test_broken_template_is_told_at_its_first_use() -> None:
    template = _template("one\n{% endif %}")

    with pytest.raises(ModelFileError, match=r"does not work \(line 2 of the template\): .*endif"):
        template.render([HI])


def test_own_template_has_no_notice() -> None:
    template = template_of("{{ bos_token }}", (), bos_text="<s>")

    assert (template.notice, template.render([HI]).text) == ("", "<s>")


def test_missing_template_is_chatml_when_the_vocabulary_has_its_tokens() -> None:
    template = template_of(None, ("<|im_start|>", "<|im_end|>"))

    assert template.render([SYSTEM, HI, HELLO, MORE]).text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user\nMore<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert template.notice == (
        "this model has no chat template; using the ChatML format"
        " (--template FILE gives it another)"
    )


def test_missing_template_is_plain_lines_when_the_vocabulary_knows_no_chat() -> None:
    template = template_of(" ", ("<s>",))

    assert template.render([SYSTEM, HI, HELLO, MORE]).text == (
        "System: Be brief.\nUser: Hi\nAssistant: Hello\nUser: More\nAssistant:"
    )
    assert "no chat template" in template.notice
    assert template.stops == ("\nUser:",)
