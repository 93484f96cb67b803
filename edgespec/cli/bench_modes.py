"""What `edgespec bench` does instead of measuring, and which flags have a meaning beside it."""

import click
from click.core import ParameterSource

from edgespec.cli.placing import PLACING_NAMES
from edgespec.errors import UsageError

_LOGGING = frozenset({"verbose", "debug"})
_RECORDED = frozenset(
    {
        "target", "draft", "draft_vocab", "arms", "suite", "lang", "prompt_files", "quick",
        "max_tokens", "temperatures", "threads", "with_text", *PLACING_NAMES,
    }
)  # fmt: skip
_BESIDE = {"replay": _LOGGING, "record": _LOGGING | _RECORDED}
"""By mode, what it reads."""


def check_modes(ctx: click.Context) -> None:
    """Raises: `UsageError` for flags that what is to be done would ignore."""
    said = {
        parameter.name: parameter.opts[-1]
        for parameter in ctx.command.params
        if parameter.name
        and ctx.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    }
    if ctx.invoked_subcommand is not None:
        ignored = [flag for name, flag in said.items() if name not in _LOGGING]
        if ignored:
            raise UsageError(
                f"{ctx.invoked_subcommand} measures nothing, so {', '.join(ignored)} would be "
                "ignored",
                hint=f"flags of its own come after it: edgespec bench {ctx.invoked_subcommand} "
                "--help",
            )
        return
    mode = next((mode for mode in _BESIDE if mode in said), None)
    if mode is None:
        if "with_text" in said:
            raise UsageError("--with-text is for recordings", hint="add --record FILE")
        return
    ignored = [flag for name, flag in said.items() if name not in (mode, *_BESIDE[mode])]
    if ignored:
        raise UsageError(
            f"--{mode} measures nothing, so {', '.join(ignored)} would be ignored",
            hint=f"leave {'it' if len(ignored) == 1 else 'them'} out, or --{mode}",
        )
