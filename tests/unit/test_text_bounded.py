"""Templates that would run for hours or take all memory, and those that only look like it."""

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from edgespec.text.sandbox import TemplateFault, rendered

_TURNS = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}] * 3
_DOUBLED = "{% set ns = namespace(x='aaaa') %}{% for i in range(60) %}"


def _fault(source: str) -> str:
    with pytest.raises(TemplateFault) as caught:
        rendered(source, {"messages": _TURNS})
    return caught.value.message


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
        "{{ f(60) }}",
        "{% for x in [1] recursive %}{% if loop.depth < 60 %}{{ loop([1, 1]) }}{% endif %}"
        "{% endfor %}",
        "{% for i in range(99999) %}{{ range(99999) | map('string') | list | length }}{% endfor %}",
    ],
    ids=["nested loops", "macros", "recursive loop", "filters"],
)
def test_template_ends_after_half_a_million_steps(source: str) -> None:
    assert _fault(source) == "it takes more than 500,000 steps"


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 10**10 }}",
        "{{ ([0] * 10**10) | length }}",
        "{{ 7 ** (10**9) }}",
        "{{ 'a'.center(10**10) }}",
        "{{ 'a' | center(10**10) }}",
        "{{ '%10000000000d' % 1 }}",
        "{{ '%*d' % (10**10, 1) }}",
        "{{ '%10000000000d' | format(1) }}",
        "{{ '{:>10000000000}'.format(1) }}",
        "{{ '{:>{w}}'.format(1, w=10**10) }}",
        "{{ 'a\n' | indent(10**10) }}",
        "{{ 'a\t'.expandtabs(10**10) }}",
        "{{ ('a' * 99999).replace('a', 'b' * 99999) }}",
        "{{ ('a' * 99999) | replace('a', 'b' * 99999) }}",
        "{{ range(99999) | join('a' * 99999) }}",
        "{{ ('a' * 99999).join(range(99999) | map('string')) }}",
        "{{ [[1] * 999] | tojson(indent=10**9) }}",
        "{% set x %}{% for i in range(99999) %}{{ 'a' * 9999 }}{% endfor %}{% endset %}",
        _DOUBLED + "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        _DOUBLED + "{% set ns.x = ns.x + ns.x %}{% endfor %}",
        _DOUBLED + "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
        _DOUBLED + "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x | string }}",
        _DOUBLED + "{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x | tojson }}",
    ],
)
def test_template_makes_no_text_that_no_prompt_has(source: str) -> None:
    assert _fault(source) == "it makes a text of more than 67,108,864 characters"


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages %}{{ loop.index }}/{{ loop.length }}{{ loop.last }}"
        "{{ loop.previtem.role if not loop.first }}{{ loop.changed(m) }}{% else %}none{% endfor %}",
        "{% for m in nothing %}x{% else %}none{% endfor %}",
        "{% for m in messages if m.role == 'user' %}{{ loop.revindex }}{{ m.content }}{% endfor %}",
        "{% for a, b in {'x': 1, 'y': 2}.items() %}{{ a ~ b ~ [a, b] ~ none }}{% endfor %}",
        "{% for x in [1, [2, [3]]] recursive %}{% if x is iterable %}{{ loop(x) }}{% else %}{{ x }}"
        "{% endif %}{% endfor %}",
        "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | join }}",
        "{{ messages | groupby('role') | map('first') | join(',') }}",
        "{{ '%s is %05.1f' | format('x', 2) }}{{ '%d-%s' % (1, 'a') }}{{ '{0:>9}'.format('b') }}",
        "{{ 'a b'.split() | last }}{{ ' x '.strip().center(9) }}{{ 'abc'[1:] }}{{ 'ab' * 3 }}",
        "{% macro m(a, b=2) %}{{ a }}{{ b }}{{ caller() }}{% endmacro %}"
        "{% call m(1) %}in{% endcall %}",
        "{{ 2 ** 10 }}{{ 7 % 4 }}{{ 1 + 2.5 }}{{ [1] + [2] }}{{ (1, 2) }}{{ {'a': [1]} }}",
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}"
        "{{ ns.n }}{{ messages[-1].content | trim | upper | replace('L', 'l') | indent(2) }}",
    ],
)
def test_limits_change_nothing_that_is_within_them(source: str) -> None:
    unbounded = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    wanted = unbounded.from_string(source).render(messages=_TURNS)

    assert rendered(source, {"messages": _TURNS}) == wanted
