"""The wheel as a stranger gets it: built from the checkout, installed elsewhere, run elsewhere."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "models.toml", "edgespec", "tui")
CHAT = """
import asyncio
from edgespec.chat.controller import ChatController
from edgespec.tui.app import EdgespecApp
from scripted import ScriptedLM

async def chat():
    controller = ChatController()
    controller.attach(ScriptedLM(["Hello from the wheel."]))
    app = EdgespecApp(controller)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("h", "i", "enter")
        while not controller.turns or controller.turns[0].status != "complete":
            await pilot.pause(0.01)
    print(controller.turns[0].text)

asyncio.run(asyncio.wait_for(chat(), 30))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that no build folder is left in the checkout."""
    source = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source)
    pip("wheel", "--no-deps", "--no-build-isolation", "-w", str(source / "dist"), str(source))
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment that has the wheel, and borrows its dependencies."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder, symlinks=os.name != "nt")
    scripts = "Scripts" if os.name == "nt" else "bin"
    fresh = folder / scripts / "python"
    pip("--python", str(fresh), "install", "--no-deps", "--no-index", str(wheel))
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(output(fresh, "-c", ask).strip())
    # Behind the fresh environment's own, and without its .pth files: no editable edgespec.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return fresh


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def output(command: Path, *arguments: str) -> str:
    """What a command prints, run outside the checkout."""
    ended = subprocess.run(
        [command, *arguments],
        cwd=command.parent,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_wheel_holds_every_module_and_data_file(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())

    ours = [
        path.relative_to(ROOT)
        for top in ("edgespec", "tui")
        for path in (ROOT / top).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix not in (".svg", ".md")  # for who reads the repository
    ]
    wanted = {f"edgespec/{path}" if path.parts[0] == "tui" else str(path) for path in ours}
    wanted.add("edgespec/catalogue_data/models.toml")
    assert wanted - packed == set()
    assert not any(name.startswith(("tui/", "tests/")) for name in packed)


def test_wheel_is_what_the_environment_runs(python: Path) -> None:
    where = output(python, "-c", "import edgespec; print(edgespec.__file__)")

    assert Path(where.strip()).is_relative_to(python.parents[1])


def test_installed_command_tells_its_version(python: Path) -> None:
    import edgespec

    assert output(python.with_name("edgespec"), "--version") == f"edgespec {edgespec.__version__}\n"


def test_installed_command_finds_the_catalogue(python: Path) -> None:
    assert "smollm2-135m" in output(python.with_name("edgespec"), "models")


def test_installed_tui_opens_and_answers(python: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "scripted.py", tmp_path)
    script = tmp_path / "chat.py"
    script.write_text(CHAT)

    assert output(python, str(script)) == "Hello from the wheel.\n"
