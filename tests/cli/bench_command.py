"""`edgespec bench` within the test process."""

from click.testing import CliRunner, Result

from edgespec.cli.main import cli


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["bench", *arguments])
