"""The drafters' README says what is so: every drafter, commands that exist, a sample that works."""

import re
from pathlib import Path

import click
import pytest

from edgespec.cli.main import cli
from edgespec.core import Drafter, Session
from edgespec.drafters import DRAFTERS, DrafterInputs, create
from edgespec.drafters.contract import StatelessDrafterContract
from tests.strangers import Install

ROOT = Path(__file__).parents[2]
README = (ROOT / "edgespec" / "drafters" / "README.md").read_text(encoding="utf-8")
SAMPLE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]


def commands() -> list[str]:
    """What stands between backquotes, and begins with the program's name."""
    quoted = re.findall(r"`(edgespec[^`]+)`", README)
    return [" ".join(command.split()) for command in quoted]


def test_every_drafter_has_its_section_and_its_row() -> None:
    sections = re.findall(r"^## ([a-z+]+)$", README, re.MULTILINE)
    rows = re.findall(r"^\| `([a-z+]+)` \|", README, re.MULTILINE)

    assert set(sections) == set(rows) == set(DRAFTERS)


@pytest.mark.parametrize("said", commands())
def test_command_exists_with_its_options(said: str) -> None:
    command: click.Command = cli
    context = click.Context(cli)
    words = said.split()[1:]
    while words and isinstance(command, click.Group):
        below = command.get_command(context, words[0])
        if below is None:
            assert command is cli or not words[0].isalpha() or words[0].isupper(), said
            break
        command, words = below, words[1:]
    if command is cli:  # `edgespec` alone is the chat
        chat = cli.get_command(context, "chat")
        assert chat is not None
        command = chat

    options = {opt for parameter in command.params for opt in parameter.opts}

    assert {word for word in words if word.startswith("-")} <= options


class TestSample(StatelessDrafterContract):
    """The drafter that the README writes out, installed as a package."""

    name = "again"

    @pytest.fixture(autouse=True)
    def installed(self, install: Install) -> None:
        install(SAMPLE, "again = stranger:Again")

    def build(self, session: Session) -> Drafter:
        return create(self.name, self.inputs(session))

    def test_sample_drafts(self) -> None:
        import numpy as np

        drafter = create(self.name, DrafterInputs(8, lambda token: token == 7))

        draft = drafter.draft(np.array([1, 2], np.int32), 3, None)  # type: ignore[arg-type]

        assert draft.tokens == (2, 2, 2)
