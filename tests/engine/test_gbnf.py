from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgespec.engine.binding import lib
from edgespec.engine.gbnf import check_gbnf
from edgespec.errors import UsageError
from tests.engine.grammar_walk import native_vocab

GOOD = (
    'root ::= "a"',
    'root ::= (sum "=" term "\\n")+\nsum ::= term ([-+*/] term)*\nterm ::= [0-9]+ | "(" sum ")"',
    'root ::=\n  a |\n  b # the end\n\na ::= [^\\]\\-a-z]{2,3} "\\""\nb ::= . [a-]? "\\x41\\u00e9"',
    'root ::= ("x" | (("y"? "z"){0,3}){1,2})*\r\n',
    "root ::= item item\nitem ::= | [ぁ-ゟ]+",
)


@pytest.fixture(scope="module")
def vocab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with native_vocab(tmp_path_factory.mktemp("vocabulary")) as vocab:
        yield vocab


@pytest.mark.parametrize("text", GOOD)
def test_good_grammar_passes(text: str) -> None:
    assert "root" in check_gbnf(text).rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("# nothing", "is empty"),
        ('a ::= "b"', 'no rule "root"'),
        ("root ::= b", 'the rule "b" in line 1, but has none'),
        ("root ::= (", 'line 1, column 10: "(" is never closed'),
        ('root ::= "a', 'line 1, column 10: " is never closed'),
        ("root ::= [a", "line 1, column 10: [ is never closed"),
        ('root ::= "a"\n\n  = "b"', "line 3, column 3: the name of a rule was expected"),
        ('root = "a"', 'line 1, column 6: "::=" must follow the name "root"'),
        ('root ::= "a" )', "line 1, column 14: ')' has no meaning here"),
        ('root ::= "a\\q"', 'line 1, column 12: "\\q" is no escape'),
        ('root ::= "\\x4"', 'column 11: "\\x4"" is no escape'),
        ("root ::= []", "a class of characters is empty"),
        ("root ::= [z-a]", "a range of characters runs backwards"),
        ("root ::= *", "there is nothing to repeat before it"),
        ('root ::= ""+', "there is nothing to repeat before it"),
        ('root ::= "a"{5,2}', "a repetition from 5 to 2"),
        ('root ::= "a"{}', "a repetition needs a number"),
        ('root ::= "a"{1', '"}" must end a repetition'),
        ('root ::= "a"{2001}', "more than 2000 repetitions"),
        ('root ::= ("a"{0,100}){100}', "repetitions of repetitions"),
        ('root ::= "' + "a" * 150 + '"{2000}', "more than 200,000 elements"),
        ("root ::= " + "(" * 200, "nested more than 100 deep"),
        ("root ::= <think> root", "tokens in <…> are not supported"),
        ("root ::= ws*\nws ::= | [ ]", 'repeats the rule "ws" without end in line 1'),
        ('root ::= ("a" | )*', "what may be empty is repeated without end"),
        ('root ::= "a"*+', "what may be empty is repeated without end"),
        ('root ::= "\0"', "zero byte"),
        ('root ::= "\ud800"', "half a character"),
    ],
)
def test_bad_grammar_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_gbnf(text)

    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        'root ::= root "a" | "b"',
        'root ::= a\na ::= b "x"\nb ::= a | "y"',
        'root ::= "a"? root',
        # llama.cpp does not see this one and runs out of memory.
        'root ::= a root "y" | "z"\na ::= b\nb ::= "c" | ""',
    ],
)
def test_rule_that_begins_with_itself_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="begins with itself"):
        check_gbnf(text)


def test_long_chain_of_rules_is_refused() -> None:
    chain = "\n".join(f"r{i} ::= r{i + 1}" for i in range(3000))

    with pytest.raises(UsageError, match="form one chain"):
        check_gbnf(f'root ::= r0\n{chain}\nr3000 ::= "a"')


def test_negated_class_beyond_ascii_is_noticed() -> None:
    assert check_gbnf("root ::= [^aé]").excludes_non_ascii
    assert not check_gbnf("root ::= [^a] [é]").excludes_non_ascii


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """A good grammar with some pieces deleted, copied or inserted."""
    text = draw(st.sampled_from(GOOD))
    for _ in range(draw(st.integers(1, 4))):
        at, source = draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))
        piece = draw(st.sampled_from('"[](){}|*+?.^-\\nxu09a:=\n#,')) + text[source : source + 6]
        text = text[:at] + draw(st.sampled_from(["", piece[:1], piece])) + text[at + 1 :]
    return text


@settings(max_examples=300, deadline=None)
@given(text=mutants())
def test_what_passes_is_a_grammar_for_llama_cpp(vocab: Any, text: str) -> None:
    try:
        check_gbnf(text)
    except UsageError:
        return

    sampler = lib().llama_sampler_init_grammar(vocab, text.encode(), b"root")

    assert sampler
    lib().llama_sampler_free(sampler)
