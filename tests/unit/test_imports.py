"""What importing edgespec and starting its command must not load."""

import importlib
import os
import subprocess
import sys
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

import edgespec

HEAVY = ("numpy", "textual", "llama_cpp", "huggingface_hub", "jinja2", "psutil", "rich")


def modules_after(code: str, *arguments: str) -> set[str]:
    """What a fresh interpreter has loaded when it ends after `code`."""
    tell = "lambda: print(*sys.modules, file=sys.stderr)"
    ended = subprocess.run(
        [sys.executable, "-c", f"import atexit, sys; atexit.register({tell})\n{code}", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return set(ended.stderr.splitlines()[-1].split())


def loaded_by(code: str, *arguments: str) -> set[str]:
    """The heavy packages among `modules_after`."""
    return modules_after(code, *arguments) & set(HEAVY)


def test_all_exports_exist() -> None:
    missing = [name for name in edgespec.__all__ if not hasattr(edgespec, name)]

    assert missing == []
    assert set(edgespec.__all__) <= set(dir(edgespec))


def test_every_error_a_person_can_meet_is_exported() -> None:
    from edgespec import errors

    kinds = {k for k, v in vars(errors).items() if isinstance(v, type) and k != "Interrupted"}

    assert kinds <= set(edgespec.__all__)


def test_unknown_export_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'laod'"):
        importlib.import_module("edgespec").laod  # noqa: B018


def test_importing_edgespec_loads_nothing_heavy() -> None:
    assert loaded_by("import edgespec; edgespec.EdgespecError; edgespec.Stats") == set()


def test_window_gets_its_loader_without_waiting_for_numpy() -> None:
    wanted = ("load", "aload", "Loading", "Options", "Sampling", "Message")

    assert loaded_by("import edgespec; " + "; ".join(f"edgespec.{n}" for n in wanted)) == set()


def test_loader_names_its_keywords_where_it_is_asked_for_them() -> None:
    told = edgespec.load.__doc__ or ""

    missing = [name for name in edgespec.Loading.__annotations__ if name not in told]

    assert missing == []


@pytest.mark.parametrize("shape", [edgespec.Options, edgespec.Sampling])
def test_options_are_named_where_their_class_is_asked_for_them(shape: type[Any]) -> None:
    missing = [field.name for field in fields(shape) if field.name not in (shape.__doc__ or "")]

    assert missing == []


def test_what_loading_and_answering_give_can_be_named() -> None:
    from edgespec.api.model import LoadedModel

    calls = (LoadedModel.chat, LoadedModel.achat, LoadedModel.complete, LoadedModel.explain)
    given = [get_type_hints(call)["return"] for call in calls]
    names = {kind.__name__ for one in given for kind in get_args(one) or (one,)}

    assert names - {"NoneType"} <= set(edgespec.__all__)
    assert edgespec.LoadedModel is LoadedModel


def test_api_loads_asyncio_for_its_users_only() -> None:
    assert "asyncio" not in modules_after("import edgespec.api.model, edgespec.api.entry")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["chat", "--help"], ["paths"]])
def test_command_loads_nothing_heavy(arguments: list[str]) -> None:
    assert loaded_by("from edgespec.cli.main import main; main()", *arguments) == set()


def test_prompt_loads_nothing_heavy_but_its_model() -> None:
    code = """
import sys
from edgespec.cli.doors import Doors
from edgespec.cli.main import main
from tests.scripted import ScriptedLM
open(sys.argv[2], "w").close()
main(doors=Doors(load=lambda *_, **__: ScriptedLM()))
"""
    model = os.environ["EDGESPEC_HOME"] + "-m.gguf"

    modules = modules_after(code, "-m", model, "-p", "Hi")

    assert modules & set(HEAVY) == set()
    assert "edgespec.cli.answer" in modules


def test_chat_screen_loads_nothing_heavy_but_textual() -> None:
    assert loaded_by("import edgespec.tui.app") == {"textual", "rich"}


def test_help_loads_few_modules() -> None:
    # 137 of them, 70 of which are the interpreter's own, take 100 ms of CPU time.
    modules = modules_after("from edgespec.cli.main import main; main()", "--help")

    assert "edgespec.cli.main" in modules
    assert len(modules) < 170


def test_help_looks_through_no_installed_distributions() -> None:
    """It takes 20 ms and more to find drafters of other distributions among them."""
    code = "import sys; sys.argv[1:] = ['--help']; from edgespec.cli.main import main; main()"

    assert "importlib.metadata" not in modules_after(code)
    assert "importlib.metadata" in modules_after("import edgespec.drafters as d; d.names()")
