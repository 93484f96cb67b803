"""README.md says what is so: flags, commands, exit codes, dependencies, size."""

import ast
import re
import tomllib
from pathlib import Path

import click
import pytest

from edgespec import errors
from edgespec.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def every_option() -> set[str]:
    context = click.Context(cli)
    commands = [cli, *filter(None, (cli.get_command(context, name) for name in COMMANDS))]
    return {
        opt
        for command in commands
        for parameter in command.params
        for opt in (*parameter.opts, *parameter.secondary_opts)
    }


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= 230


def test_readme_names_only_options_that_exist() -> None:
    ours = re.sub(r"pip[^\n]*", "", README)

    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", ours))

    assert named - every_option() - {"--help"} == set()


def test_readme_names_only_commands_that_exist() -> None:
    lines = "\n".join(blocks("sh"))

    named = set(re.findall(r"\bedgespec ([a-z]+)", lines))

    assert named <= set(COMMANDS)


def test_readme_names_every_exit_code() -> None:
    codes = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.EdgespecError)
    }

    for code in codes | {130, 143}:
        assert f"| {code} |" in README


def test_readme_gives_every_dependency_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = [re.split(r"[=<>]", wanted)[0] for wanted in project["dependencies"]]

    reasons = re.findall(r"^\| ([a-z0-9-]+)[ 0-9.]* \| \w", README, re.MULTILINE)

    assert set(packages) <= set(reasons)


@pytest.mark.parametrize("sample", blocks("python"))
def test_readme_sample_uses_only_exported_names(sample: str) -> None:
    import edgespec

    used = {
        node.attr
        for node in ast.walk(ast.parse(sample))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "edgespec"
    }

    assert used
    assert used <= set(edgespec.__all__)
