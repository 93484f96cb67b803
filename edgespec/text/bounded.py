"""Jinja2's sandbox with limits: a template can neither run for hours nor take all memory.

Owns: where jinja2 is asked to stop; how much is too much is `limits`' question. What is not
bounded is the time of one operation on texts that are within the limits.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

from jinja2 import nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import _PassArg
from jinja2.visitor import NodeTransformer

from edgespec.text.limits import (
    Steps,
    check_filling,
    check_operation,
    check_result,
    extent,
    joined,
)

_EACH, _WHOLE = "edgespec_each", "edgespec_whole"
_FILLING = frozenset(
    ("center", "format", "indent", "join", "pprint", "replace", "string", "tojson", "wordwrap")
)
"""Filters that can make a long text of a short one, or of a list."""
_PER_CALL = 10
"""Steps; a round of a loop is one."""
_steps: ContextVar[Steps | None] = ContextVar("steps", default=None)


@contextmanager
def counted() -> Iterator[None]:
    """Within the block a template has the steps of one rendering."""
    token = _steps.set(Steps())
    try:
        yield
    finally:
        _steps.reset(token)


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox; its templates raise `TooMuch` where they go beyond the limits."""

    intercepted_binops = frozenset(("+", "*", "**", "%"))
    concat = staticmethod(joined)

    def __init__(self, **extra: Any) -> None:
        super().__init__(finalize=_whole, **extra)
        del self.globals["lipsum"]
        for name, function in [*self.filters.items()]:
            self.add_filter(name, function)
        self.filters[_EACH], self.filters[_WHOLE] = _each, _whole

    def add_filter(self, name: str, function: Callable[..., Any]) -> None:
        """A filter, with checks before and after."""
        self.filters[name] = _checked(name, function)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """An operation whose result may be much larger than its parts."""
        check_operation(operator, left, right)
        return check_result(super().call_binop(context, operator, left, right))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """A function, macro or method."""
        _take(_PER_CALL)
        method = getattr(__obj, "__wrapped__", __obj)  # the sandbox wraps `format`
        owner = getattr(method, "__self__", None)
        if isinstance(owner, str):
            check_filling(method.__name__, owner, (*args, *kwargs.values()))
        return check_result(super().call(__context, __obj, *args, **kwargs))

    def _generate(self, source: nodes.Template, *rest: Any, **extra: Any) -> str:
        bounded = _Bounding().visit(source)
        bounded.set_environment(self)
        return super()._generate(bounded, *rest, **extra)


class _Bounding(NodeTransformer):
    """Puts a check around every loop and every text made with `~`."""

    def visit_For(self, node: nodes.For) -> nodes.For:
        """`{% for x in iter %}`."""
        self.generic_visit(node)
        node.iter = _through(_EACH, node.iter)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:
        """`a ~ b`."""
        self.generic_visit(node)
        node.nodes = [_through(_WHOLE, part) for part in node.nodes]
        return _through(_WHOLE, node)


def _through(name: str, node: nodes.Node) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _each(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        _take(1)
        yield value


def _whole(value: Any) -> Any:
    """`value`, which is about to become a text."""
    extent(value)
    return value


def _take(n: int) -> None:
    if (steps := _steps.get()) is not None:
        steps.take(n)


def _checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    at = 0 if _PassArg.from_obj(function) is None else 1  # what jinja2 puts first

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        _take(_PER_CALL)
        if name in _FILLING:
            check_filling(name, args[at], (*args[at + 1 :], *kwargs.values()))
        return check_result(_measured(function(*args, **kwargs)))

    return checked


def _measured(value: Any) -> Any:
    """`value`; one that makes its items when they are asked for is counted then."""
    return _each(value) if isinstance(value, Iterator) else value
