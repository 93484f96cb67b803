"""The plan before a load: of what is fetched, what was never loaded here, what is too much."""

from dataclasses import replace
from pathlib import Path

import pytest
from edgespec.tui.known import is_known
from edgespec.tui.plan import PlanScreen
from edgespec.tui.shelf import Models

from edgespec.api.types import LanguageModel
from edgespec.chat.controller import ChatController
from edgespec.chat.shelf import ModelChange
from edgespec.errors import DoesNotFit
from edgespec.models.catalogue import Catalogue
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.plan.types import Plan
from tests.scripted import DESCRIPTION, ScriptedLM
from tests.tui.shelves import FakeShelf, a_plan
from tests.tui.stage import Stage, played, staged

WANTED = ModelChange("good", "off")
GOOD = ModelSpec(
    id="good", title="Good", file="good.gguf", quant="Q4_K_M", size_bytes=2_000_000_000,
    sources=(HubSource("maker/good", "good.gguf"),), vocab="v1", licence="apache-2.0",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))


class Opened:
    """Opens a scripted model, and counts how often."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, tell: object) -> LanguageModel:
        self.n += 1
        return ScriptedLM(["Hello."], description=replace(DESCRIPTION, target="good", draft=None))


def roomy(target: str, draft: str, n_ctx: int | None) -> Plan:
    return replace(a_plan(target, draft, n_ctx), rungs=())


async def until_plan(stage: Stage) -> None:
    await stage.until(lambda: isinstance(stage.app.screen, PlanScreen))
    await stage.until_shown("memory is short")


def test_first_load_shows_the_plan_and_the_second_does_not() -> None:
    opened = Opened()

    async def scenario() -> None:
        for is_planned in (True, False):
            chat = ChatController(shelf=FakeShelf(WANTED))
            stock = Models(Catalogue({}, {}), make_plan=roomy)
            async with staged(chat=chat, models=stock, open_model=opened) as stage:
                await stage.until(lambda: stage.prompt.border_subtitle == "READY")

                assert ("10.00 GB needed, 12.00 GB free" in stage.text()) is is_planned

    played(scenario)

    assert opened.n == 2


def test_short_memory_is_agreed_to_before_the_first_load_and_a_message_waits() -> None:
    opened = Opened()

    async def scenario() -> None:
        chat = ChatController(shelf=FakeShelf(WANTED))
        stock = Models(Catalogue({}, {}), make_plan=a_plan)
        async with staged(chat=chat, models=stock, open_model=opened) as stage:
            await until_plan(stage)
            chat.send("hi")
            assert opened.n == 0
            await stage.pilot.press("enter")
            await stage.until_shown("Hello.")

    played(scenario)

    assert opened.n == 1


def test_refused_plan_loads_nothing_and_gives_the_message_back() -> None:
    opened = Opened()

    async def scenario() -> None:
        chat = ChatController(shelf=FakeShelf(WANTED))
        stock = Models(Catalogue({}, {}), make_plan=a_plan)
        async with staged(chat=chat, models=stock, open_model=opened) as stage:
            await until_plan(stage)
            chat.send("hi")
            await stage.pilot.press("escape")
            await stage.until_shown("nothing is loaded: F2 chooses a model")

            assert stage.prompt.text == "hi"
            assert not chat.turns

    played(scenario)

    assert opened.n == 0


def test_plan_that_was_changed_is_what_is_loaded() -> None:
    opened, shelf = Opened(), FakeShelf(WANTED)

    async def scenario() -> None:
        chat = ChatController(shelf=shelf)
        stock = Models(Catalogue({}, {}), make_plan=a_plan)
        async with staged(chat=chat, models=stock, open_model=opened) as stage:
            await until_plan(stage)
            await stage.pilot.press("c")
            await stage.until_shown("context 2,048")
            await stage.pilot.press("enter")
            await stage.until(lambda: bool(shelf.taken))

    played(scenario)

    assert shelf.taken == [ModelChange("good", "off", 2048)]
    assert opened.n == 0


def test_load_for_which_something_gave_way_is_planned_again() -> None:
    async def scenario() -> None:
        for gave_way in ((), ("context 32,768 -> 8,192",)):
            wanted = ModelChange(f"m{len(gave_way)}")
            chat = ChatController(shelf=FakeShelf(wanted))
            about = replace(DESCRIPTION, gave_way=gave_way)
            model = ScriptedLM(description=about)
            stock = Models(Catalogue({}, {}), make_plan=roomy)
            async with staged(chat=chat, models=stock, open_model=lambda t: model) as stage:  # noqa: B023
                await stage.until(lambda: stage.prompt.border_subtitle == "READY")

                assert is_known(wanted) is not bool(gave_way)

    played(scenario)


def test_plan_that_cannot_be_made_leaves_it_to_the_load_to_say_why() -> None:
    def refuse(target: str, draft: str, n_ctx: int | None) -> Plan:
        raise DoesNotFit("9.0 GB are needed, 4.0 are free")

    def open_model(tell: object) -> LanguageModel:
        raise DoesNotFit("9.0 GB are needed, 4.0 are free")

    async def scenario() -> None:
        chat = ChatController(shelf=FakeShelf(WANTED))
        stock = Models(Catalogue({}, {}), make_plan=refuse)
        async with staged(chat=chat, models=stock, open_model=open_model) as stage:
            await stage.until_shown("The model could not be loaded")

    played(scenario)


@pytest.mark.parametrize(("width", "height"), [(60, 18), (80, 24), (120, 34)])
def test_plan_before_a_download_says_what_from_where_and_whether_it_fits(
    width: int, height: int
) -> None:
    def pull(spec: ModelSpec, tell: object) -> object:
        raise AssertionError("nothing is fetched before it is agreed to")

    async def scenario() -> None:
        chat = ChatController(shelf=FakeShelf())
        stock = Models(
            Catalogue({"good": GOOD}, {}),
            fetch=pull,
            free_bytes=lambda: 12_000_000_000,
            make_plan=a_plan,
            must_choose=True,
        )
        async with staged(chat=chat, models=stock, size=(width, height)) as stage:
            await stage.until_shown("There is no model on this machine yet")
            await stage.pilot.press("enter")
            await stage.until(lambda: getattr(stage.app.focused, "id", "") == "drafts")
            await stage.pilot.press("enter")
            await until_plan(stage)

            assert "to fetch from maker/good" in stage.text()
            assert "2.00 GB to fetch" in stage.text()
            assert "10.00 GB needed, 12.00 GB free" in stage.text()

    played(scenario)
