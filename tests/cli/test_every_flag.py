"""Every command and every flag, from click's own tables: help, refusals, hints that work."""

import os
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from edgespec.cli.main import cli


def commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, (*path, name))


def found_at(path: tuple[str, ...]) -> click.Command:
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None
        command = found
    return command


PATHS = tuple(commands(cli, ()))
FLAGS = tuple(
    (path, parameter.opts[-1])
    for path in PATHS
    for parameter in found_at(path).params
    if isinstance(parameter, click.Option) and not parameter.is_flag
)
"""Those that take a value."""


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
@pytest.mark.parametrize("columns", ["20", "200"])
def test_help_tells_what_each_flag_does(path: tuple[str, ...], columns: str) -> None:
    result = CliRunner().invoke(cli, [*path, "--help"], env={"COLUMNS": columns})

    options = [p for p in found_at(path).params if isinstance(p, click.Option)]
    assert (result.exit_code, result.stderr) == (0, "")
    assert all(option.help for option in options)
    assert all(flag in result.stdout for option in options for flag in option.opts)


@pytest.mark.parametrize(("path", "flag"), FLAGS)
def test_flag_without_its_value_is_named_and_the_hint_tells_of_it(
    path: tuple[str, ...], flag: str
) -> None:
    result = CliRunner().invoke(cli, [*path, flag])

    sentence, hint = result.stderr.splitlines()
    program, *advised = hint.removeprefix("hint: try: ").split()
    shown = CliRunner().invoke(cli, advised)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"'{flag}' requires" in sentence
    assert (program, shown.exit_code) == ("edgespec", 0)
    assert flag in shown.stdout


def test_flag_without_a_command_is_looked_up_in_the_help_of_chat() -> None:
    result = CliRunner().invoke(cli, ["-p"])

    assert result.stderr.endswith("hint: try: edgespec chat --help\n")


@pytest.mark.parametrize(("path", "flag"), FLAGS)
def test_flag_with_bytes_that_are_no_text_breaks_nothing(path: tuple[str, ...], flag: str) -> None:
    # What a shell passes on from a file's name in another encoding.
    values = [os.fsdecode(b"caf\xe9")] * next(
        p.nargs for p in found_at(path).params if flag in p.opts
    )

    result = CliRunner().invoke(cli, [*path, flag, *values, "--no-such-flag"])

    assert result.exit_code == 2
    assert "'--no-such-flag'" in result.stderr
