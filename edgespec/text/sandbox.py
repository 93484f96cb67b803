"""Renders a jinja template that came with a model file, as Hugging Face's transformers does.

Owns: the sandbox, the names a chat template may use, and where in the template a fault is.
Source: transformers, utils/chat_template_utils.py (the names, not the code).
"""

import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, NoReturn

import jinja2
from jinja2 import meta, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser

from edgespec.text.bounded import BoundedEnvironment, counted


class TemplateFault(Exception):
    """A template cannot be rendered; the message is one line."""

    def __init__(self, message: str, line: int | None, *, is_refusal: bool) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.is_refusal = is_refusal
        """The template itself said no, by `raise_exception`."""


def rendered(source: str, variables: Mapping[str, object]) -> str:
    """`source` rendered. Raises: `TemplateFault`, and nothing else."""
    try:
        with counted():
            return _compiled(source).render(variables)
    except Exception as fault:  # foreign code may raise anything
        raise _told(fault) from fault


def parsed(source: str) -> None:
    """Compile `source`. Raises: `TemplateFault` for what cannot be rendered at all."""
    try:
        _compiled(source)
    except Exception as fault:  # as foreign as what it compiles
        raise _told(fault) from fault


def free_names(source: str) -> frozenset[str]:
    """The variables a template reads and does not only set itself; none of a broken one."""
    try:
        return frozenset(meta.find_undeclared_variables(_environment().parse(source)))
    except jinja2.TemplateError:
        return frozenset()


class _Refusal(jinja2.TemplateError):
    """What `raise_exception` raises."""


class _Generation(Extension):
    """`{% generation %}` marks what a trainer would learn from; here its body is just text."""

    tags = {"generation"}  # noqa: RUF012 (jinja2's own shape)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


@lru_cache(maxsize=8)
def _compiled(source: str) -> jinja2.Template:
    return _environment().from_string(source)


@cache
def _environment() -> BoundedEnvironment:
    environment = BoundedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.add_filter("tojson", _tojson)
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as is: jinja2's own filter would escape `<`, `>` and `&` for HTML."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise_exception(message: str) -> NoReturn:
    raise _Refusal(message)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)


def _line(fault: Exception) -> int | None:
    """The innermost template line of a fault."""
    if isinstance(fault, jinja2.TemplateSyntaxError):
        return fault.lineno
    line, frame = None, fault.__traceback__
    while frame:
        if frame.tb_frame.f_code.co_filename == "<template>":
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def _told(fault: Exception) -> TemplateFault:
    said = " ".join(str(fault).split()) or type(fault).__name__
    return TemplateFault(said, _line(fault), is_refusal=isinstance(fault, _Refusal))
