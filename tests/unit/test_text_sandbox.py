from datetime import datetime

import pytest

from edgespec.text.sandbox import TemplateFault, rendered


def _fault(source: str, **variables: object) -> TemplateFault:
    with pytest.raises(TemplateFault) as caught:
        rendered(source, variables)
    return caught.value


def test_sandbox_trims_the_lines_of_blocks() -> None:
    assert rendered("a\n  {% if true %}\nb\n  {% endif %}\nc", {}) == "a\nb\nc"


def test_tojson_is_plain_json_with_indent() -> None:
    value = {"a": "é<&>"}

    assert rendered("{{ v | tojson }}", {"v": value}) == '{"a": "é<&>"}'
    assert rendered("{{ v | tojson(indent=2) }}", {"v": value}) == '{\n  "a": "é<&>"\n}'


def test_strftime_now_is_known() -> None:
    years = {str(datetime.now().year)}

    shown = rendered("{{ strftime_now('%Y') }}", {})

    assert shown in years | {str(datetime.now().year)}


def test_loops_can_break_and_continue() -> None:
    source = "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}"
    source += "{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}"

    assert rendered(source, {}) == "02"


def test_generation_block_is_its_body() -> None:
    source = "{% for m in ms %}<{% generation %}{{ m }}{% endgeneration %}>{% endfor %}"

    assert rendered(source, {"ms": "ab"}) == "<a><b>"


def test_fault_names_the_line_that_raised() -> None:
    fault = _fault("one\ntwo\n{{ raise_exception('not\n so') }}")

    assert (fault.message, fault.line, fault.is_refusal) == ("not so", 3, True)


def test_fault_names_the_line_of_a_syntax_error() -> None:
    fault = _fault("one\n{% if %}")

    assert (fault.line, fault.is_refusal) == (2, False)


@pytest.mark.parametrize(
    "source", ["\n{{ unknown() }}", "\n{{ 1 / 0 }}", "\n{{ none + 1 }}", "\n{{ [].x.y }}"]
)
def test_fault_names_the_line_when_the_template_fails(source: str) -> None:
    fault = _fault(source)

    assert (fault.line, fault.is_refusal) == (2, False)


def test_sandbox_keeps_python_out_of_reach() -> None:
    assert "unsafe" in _fault("{{ ''.__class__.__mro__[1].__subclasses__() }}").message


def test_sandbox_keeps_the_messages_unchanged() -> None:
    messages = ["a"]

    _fault("{{ messages.append('b') }}", messages=messages)

    assert messages == ["a"]
