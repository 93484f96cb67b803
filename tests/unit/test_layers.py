"""The architecture as data: who may import whom, and rules that hold for every file."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# From the ground up. A module imports lower layers and its own group; a name stands for the
# module, its submodules, and siblings that begin with it and an underscore.
LAYERS = (
    ("costs", "errors", "events", "explanation", "files", "hardware.types", "paths", "sizes"),
    ("plan.kinds", "shaping"),
    ("core", "plan.types"),
    ("api.types", "verify", "equality", "text", "gguf"),
    ("sampling", "models", "index"),
    ("context", "engine", "drafters", "store", "history"),
    ("logprobs",),
    ("decode", "control", "hardware", "plan"),
    ("fold",),
    ("api", "chat"),
    ("bench",),
    ("replay",),
    ("profile",),
    (
        "curve",
        "doctor",
    ),
    ("proof",),
    ("tui",),
    ("cli",),
    ("__main__",),
)
MAX_LINES = 400
MAX_FUNCTION_LINES = 60
"""Without the docstring."""


@cache
def modules() -> dict[str, Path]:
    """Every module by its name in `edgespec`; the package itself is the empty name."""
    found = {}
    for top, prefix in ((ROOT / "edgespec", ()), (ROOT / "tui", ("tui",))):
        for path in sorted(top.rglob("*.py")):
            parts = (*prefix, *path.relative_to(top).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def group(module: str) -> str:
    """The name in `LAYERS` that covers a module, the longest if several do."""
    names = (name for layer in LAYERS for name in layer)
    covering = [n for n in names if module == n or module.startswith((f"{n}.", f"{n}_"))]
    assert covering, f"{module} is in no layer: give it a place in LAYERS"
    return max(covering, key=len)


def height(name: str) -> int:
    return next(i for i, layer in enumerate(LAYERS) if name in layer)


def imported(module: str) -> Iterator[str]:
    """Absolute names of what a module imports, at its top or anywhere inside."""
    package = ("edgespec." + module).split(".")
    if modules()[module].name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            source = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                inside = f"{source}.{alias.name}"
                yield inside if inside.removeprefix("edgespec.") in modules() else source


def own_imports(module: str) -> set[str]:
    names = {name.removeprefix("edgespec.") for name in imported(module)}
    return {name for name in names if name in modules() and name}


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first, last = function.body[0], function.body[-1]
    is_docstring = ast.get_docstring(function) is not None and first is not last
    start = function.body[1] if is_docstring else first
    assert last.end_lineno is not None
    return last.end_lineno - start.lineno + 1


@pytest.mark.parametrize("module", sorted(filter(None, modules())))
def test_module_imports_only_lower_layers(module: str) -> None:
    mine = group(module)

    upward = {
        name
        for name in own_imports(module)
        if group(name) != mine and height(group(name)) >= height(mine)
    }

    assert upward == set()


def test_only_the_binding_imports_llama_cpp() -> None:
    importers = {
        module
        for module in modules()
        if any(name.partition(".")[0] == "llama_cpp" for name in imported(module))
    }

    assert importers <= {"engine.binding"}


def test_only_render_prints() -> None:
    printing = {
        module
        for module in modules()
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "click.echo")
    }

    assert printing <= {"cli.render"}


def test_positions_live_in_the_session_only() -> None:
    owners = {
        module
        for module in modules()
        for node in ast.walk(tree(module))
        if getattr(node, "id", getattr(node, "arg", getattr(node, "attr", ""))) == "n_past"
    }

    assert {owner for owner in owners if not owner.startswith("engine.session")} == set()


@pytest.mark.parametrize("module", sorted(modules()))
def test_module_is_short_and_so_are_its_functions(module: str) -> None:
    n_lines = len(modules()[module].read_text(encoding="utf-8").splitlines())

    long = {
        node.name: body_lines(node)
        for node in ast.walk(tree(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and body_lines(node) > MAX_FUNCTION_LINES
    }

    assert n_lines <= MAX_LINES
    assert long == {}
