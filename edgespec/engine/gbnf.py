"""Checks a grammar before llama.cpp sees it: what it would print, loop on or crash on is an error.

Knows rules and their names, no tokens and no models.
"""

from collections.abc import Iterable, Iterator

from edgespec.engine.gbnf_reader import Alternative, Grammar, Reader
from edgespec.errors import UsageError

ROOT = "root"
_MAX_CHAIN = 1000
"""Rules that begin with one another: llama.cpp follows them by recursion."""


def check_gbnf(text: str) -> Grammar:
    """The grammar of `text`, which llama.cpp can use as it is.

    Raises: `UsageError` naming the line, or the rule that is missing or left-recursive.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("the grammar is no valid text: it holds half a character") from error
    if "\0" in text:
        raise UsageError("the grammar holds a zero byte")
    grammar = Reader(text).read()
    if not grammar.rules:
        raise UsageError("the grammar is empty", hint=f"{ROOT} ::= … describes the whole answer")
    for name, line in grammar.lines.items():
        if name not in grammar.rules:
            raise UsageError(f'the grammar uses the rule "{name}" in line {line}, but has none')
    if ROOT not in grammar.rules:
        raise UsageError(f'the grammar has no rule "{ROOT}", which describes the whole answer')
    for name, line in grammar.repeated.items():
        if not all(grammar.rules[name]):
            raise UsageError(
                f'the grammar repeats the rule "{name}" without end in line {line}, but one of its '
                "alternatives is empty",
                hint=f"{name}+ with a rule that is never empty, or {name} alone",
            )
    _refuse_left_recursion(grammar)
    return grammar


def _refuse_left_recursion(grammar: Grammar) -> None:
    """A rule that begins with itself never comes to a character.

    llama.cpp sees only the plain cases and runs out of memory on one behind a rule that may be
    empty without saying so itself.
    """
    empty = _may_be_empty(grammar)
    first = {name: tuple(_first_names(rule, empty)) for name, rule in grammar.rules.items()}
    done: set[str] = set()
    for start in grammar.rules:
        chain = {start: iter(first[start])}
        while chain:
            name, rest = next(reversed(chain.items()))
            follower = next((other for other in rest if other not in done), None)
            if follower is None:
                done.add(name)
                del chain[name]
            elif follower in chain:
                raise UsageError(
                    f'the grammar\'s rule "{follower}" in line {grammar.lines[follower]} begins '
                    "with itself",
                    hint="let the repeated part come last: list ::= item list | item",
                )
            else:
                chain[follower] = iter(first[follower])
                if len(chain) > _MAX_CHAIN:
                    raise UsageError(f"more than {_MAX_CHAIN} rules of the grammar form one chain")


def _may_be_empty(grammar: Grammar) -> set[str]:
    """The rules that can match nothing."""
    empty: set[str] = set()
    while True:
        found = {name for name, rule in grammar.rules.items() if _is_empty(rule, empty)}
        if found == empty:
            return empty
        empty = found


def _is_empty(rule: Iterable[Alternative], empty: set[str]) -> bool:
    return any(
        all(
            item.may_be_left_out
            or item.name in empty
            or (bool(item.group) and _is_empty(item.group, empty))
            for item in alternative
        )
        for alternative in rule
    )


def _first_names(rule: Iterable[Alternative], empty: set[str]) -> Iterator[str]:
    """The rules that `rule` may begin with."""
    for alternative in rule:
        for item in alternative:
            if item.name:
                yield item.name
            yield from _first_names(item.group, empty)
            if not _is_empty([[item]], empty):
                break
