"""Reads GBNF as llama.cpp reads it, only that a mistake is an error with its line.

llama.cpp prints syntax errors to stderr, and a repetition like {5,2} never ends there. Everything
that passes here means the same there. Source: llama.cpp src/llama-grammar.cpp.
"""

import string
from dataclasses import dataclass, field

from edgespec.errors import UsageError

_WORD = frozenset(string.ascii_letters + string.digits + "-")
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}
_MAX_REPETITIONS = 2000
"""MAX_REPETITION_THRESHOLD of llama-grammar.cpp."""
_MAX_ELEMENTS = 200_000
"""Every accepted token copies all of them, which takes about a millisecond for so many."""
_MAX_DEPTH = 100
"""Nested parentheses: llama.cpp reads them by recursion."""


@dataclass(slots=True)
class Item:
    """A rule's name, a group, or neither: a terminal."""

    name: str = ""
    group: "tuple[Alternative, ...]" = ()
    may_be_left_out: bool = False


Alternative = list[Item]


@dataclass(slots=True)
class Grammar:
    """What was read."""

    rules: dict[str, tuple[Alternative, ...]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    """Where a rule is defined, or else first used."""
    repeated: dict[str, int] = field(default_factory=dict)
    """The rules that are repeated without end, and in which line."""
    excludes_non_ascii: bool = False
    """Some negated class names a character beyond ASCII."""


@dataclass(slots=True)
class _Last:
    """The item that a repetition would repeat, in llama.cpp's measures."""

    n_elements: int = 0
    n_rules: int = 1


class Reader:
    """A recursive-descent reader over one text; `grammar` grows with every `rule`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._n_elements = 0
        self._n_symbols = 0
        self.grammar = Grammar()

    def read(self) -> Grammar:
        """All rules. Raises: `UsageError` naming line and column."""
        self._skip_space(newlines=True)
        while self._peek:
            self._rule()
        return self.grammar

    def _rule(self) -> None:
        line = self._line
        name = self._word("the name of a rule")
        self._skip_space(newlines=False)
        if not self._text.startswith("::=", self._at):
            raise self._wrong(f'"::=" must follow the name "{name}"')
        self._at += 3
        self._skip_space(newlines=True)
        self._n_symbols += name not in self.grammar.lines
        self.grammar.lines[name] = line
        self.grammar.rules[name] = self._alternatives(is_nested=False)
        if self._peek and self._peek not in "\r\n":
            raise self._wrong(f"{self._peek!r} has no meaning here")
        self._skip_space(newlines=True)

    def _alternatives(self, is_nested: bool) -> tuple[Alternative, ...]:
        found = [self._sequence(is_nested)]
        while self._peek == "|":
            self._at += 1
            self._skip_space(newlines=True)
            found.append(self._sequence(is_nested))
        return tuple(found)

    def _sequence(self, is_nested: bool) -> Alternative:
        items: Alternative = []
        last = _Last()
        while self._peek:
            if self._peek in "*+?{":
                self._repetition(items, last, is_nested)
                continue
            item, n_before = Item(), self._n_symbols
            if self._peek == '"':
                last = _Last(self._literal())
            elif self._peek == "[":
                last = _Last(self._char_class())
            elif self._peek == ".":
                self._at += 1
                last = _Last(1)
            elif self._peek == "(":
                item = Item(group=self._group())
                last = _Last(1, max(1, self._n_symbols - n_before))
            elif self._peek in _WORD:
                item = Item(name=self._reference())
                last = _Last(1)
            elif self._peek in "<!":
                raise self._wrong("tokens in <…> are not supported, only their text is")
            else:
                break
            if last.n_elements:
                items.append(item)
            self._grow(last.n_elements)
            self._skip_space(newlines=is_nested)
        return items

    def _group(self) -> tuple[Alternative, ...]:
        opened = self._at
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._wrong(f"parentheses are nested more than {_MAX_DEPTH} deep")
        self._at += 1
        self._n_symbols += 1
        self._skip_space(newlines=True)
        found = self._alternatives(is_nested=True)
        if self._peek != ")":
            raise self._wrong('"(" is never closed', opened)
        self._at += 1
        self._depth -= 1
        return found

    def _reference(self) -> str:
        line = self._line
        name = self._word("a rule's name")
        self._n_symbols += name not in self.grammar.lines
        self.grammar.lines.setdefault(name, line)
        return name

    def _literal(self) -> int:
        opened = self._at
        self._at += 1
        n_chars = 0
        while self._peek != '"':
            self._char(opened)
            n_chars += 1
        self._at += 1
        return n_chars

    def _char_class(self) -> int:
        opened = self._at
        self._at += 1
        is_negated = self._peek == "^"
        self._at += is_negated
        n_elements = 0
        while self._peek != "]":
            ends = [self._char(opened)]
            if self._peek == "-" and not self._text.startswith("-]", self._at):
                self._at += 1
                ends.append(self._char(opened))
            if ends[-1] < ends[0]:
                raise self._wrong("a range of characters runs backwards", opened)
            n_elements += len(ends)
            self.grammar.excludes_non_ascii |= is_negated and ends[-1] > 0x7F
        if not n_elements:
            raise self._wrong("a class of characters is empty", opened)
        self._at += 1
        return n_elements

    def _char(self, opened: int) -> int:
        """The code point of the next character in what was opened at `opened`."""
        char = self._peek
        if not char:
            raise self._wrong(f"{self._text[opened]} is never closed", opened)
        self._at += 1
        if char != "\\":
            return ord(char)
        kind = self._peek
        self._at += 1
        n_digits = _HEX_DIGITS.get(kind, 0)
        digits = self._text[self._at : self._at + n_digits]
        if n_digits and len(digits) == n_digits and set(digits) <= set(string.hexdigits):
            self._at += n_digits
            return int(digits, 16)
        if kind not in _ESCAPES:
            raise self._wrong(f'"\\{kind}{digits}" is no escape', self._at - 2)
        return ord(_ESCAPES[kind])

    def _repetition(self, items: Alternative, last: _Last, is_nested: bool) -> None:
        at = self._at
        least, most = self._bounds(is_nested)
        self._skip_space(newlines=is_nested)
        if not last.n_elements:
            raise self._wrong("there is nothing to repeat before it", at)
        if most is not None and most < least:
            raise self._wrong(f"a repetition from {least} to {most}", at)
        if least > _MAX_REPETITIONS:
            raise self._wrong(f"more than {_MAX_REPETITIONS} repetitions", at)
        if most is not None and most > _MAX_REPETITIONS:
            most = None  # llama.cpp takes it for no limit
        if most is None:
            self._repeat_for_ever(items[-1], at)
        last.n_rules *= most or least or 1
        if last.n_rules > _MAX_REPETITIONS:
            raise self._wrong(f"repetitions of repetitions: more than {_MAX_REPETITIONS}", at)
        n_optional = 1 if most is None else most - least
        self._n_symbols += n_optional
        self._grow(last.n_elements * (least + n_optional))
        last.n_elements = last.n_elements * least + (n_optional > 0)
        items[-1].may_be_left_out |= least == 0
        if not last.n_elements:
            items.pop()

    def _repeat_for_ever(self, item: Item, at: int) -> None:
        """llama.cpp refuses to repeat what has an empty alternative of its own."""
        if item.may_be_left_out or not all(item.group or [True]):
            raise self._wrong("what may be empty is repeated without end", at)
        if item.name:
            self.grammar.repeated[item.name] = self._line

    def _bounds(self, is_nested: bool) -> tuple[int, int | None]:
        char = self._peek
        self._at += 1
        if char != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        self._skip_space(newlines=is_nested)
        least = self._number(is_nested)
        most: int | None = least
        if self._peek == ",":
            self._at += 1
            self._skip_space(newlines=is_nested)
            most = None if self._peek == "}" else self._number(is_nested)
        if self._peek != "}":
            raise self._wrong('"}" must end a repetition')
        self._at += 1
        return least, most

    def _number(self, is_nested: bool) -> int:
        start = self._at
        while self._peek and self._peek in string.digits:
            self._at += 1
        if not 0 < self._at - start < 10:
            raise self._wrong("a repetition needs a number", start)
        number = int(self._text[start : self._at])
        self._skip_space(newlines=is_nested)
        return number

    def _word(self, what: str) -> str:
        start = self._at
        while self._peek in _WORD:
            self._at += 1
        if self._at == start:
            raise self._wrong(f"{what} was expected, not {self._peek!r}")
        return self._text[start : self._at]

    def _grow(self, n_elements: int) -> None:
        self._n_elements += n_elements
        if self._n_elements > _MAX_ELEMENTS:
            raise self._wrong(f"the grammar has more than {_MAX_ELEMENTS:,} elements by here")

    def _skip_space(self, newlines: bool) -> None:
        skipped = " \t\r\n" if newlines else " \t"
        while self._peek and self._peek in skipped + "#":
            if self._peek == "#":
                while self._peek and self._peek not in "\r\n":
                    self._at += 1
            else:
                self._at += 1

    @property
    def _peek(self) -> str:
        """The next character; empty at the end."""
        return self._text[self._at : self._at + 1]

    @property
    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1

    def _wrong(self, what: str, at: int | None = None) -> UsageError:
        at = self._at if at is None else at
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        return UsageError(f"the grammar is wrong at line {line}, column {column}: {what}")
