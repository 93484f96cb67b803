"""The plan of what is chosen, as the chat shows it."""

import threading
from dataclasses import replace

import pytest
from edgespec.tui.shelf import Models

from edgespec.api.types import PlaceMemory
from edgespec.chat.controller import ChatController
from edgespec.chat.shelf import ModelChange
from edgespec.errors import DoesNotFit
from edgespec.plan.types import Plan
from tests.scripted import DESCRIPTION, ScriptedLM
from tests.tui.shelves import CATALOGUE, FakeShelf, a_plan
from tests.tui.stage import assert_golden, played, staged

pytestmark = pytest.mark.usefixtures("own_home")


def test_plan_screen_shows_lines_places_and_what_gave_way() -> None:
    about = replace(DESCRIPTION, memory=(PlaceMemory("CPU", 10_000_000_000, 9_500_000_000),))

    async def scenario() -> None:
        stock = Models(CATALOGUE, make_plan=a_plan)
        async with staged(ScriptedLM(description=about), size=(80, 30), models=stock) as stage:
            await stage.app.screen.run_action("plan")
            await stage.until_shown("target weights")

            assert_golden("plan-80x30", stage.dialog())

    played(scenario)


def test_plan_that_does_not_fit_is_told_with_its_hint() -> None:
    def refuse(target: str, draft: str, n_ctx: int | None) -> Plan:
        raise DoesNotFit("9.0 GB are needed, 4.0 are free", hint="try --ctx 2048")

    async def scenario() -> None:
        stock = Models(CATALOGUE, make_plan=refuse)
        async with staged(ScriptedLM(), models=stock) as stage:
            await stage.app.screen.run_action("plan")
            await stage.until_shown("9.0 GB are needed, 4.0 are free")

            assert "try --ctx 2048" in stage.text()

    played(scenario)


def test_plan_is_loaded_with_another_context_and_without_a_draft() -> None:
    asked: list[tuple[str, str, int | None]] = []

    def plan(target: str, draft: str, n_ctx: int | None) -> Plan:
        asked.append((target, draft, n_ctx))
        return a_plan(target, draft, n_ctx)

    shelf = FakeShelf()

    async def scenario() -> None:
        chat = ChatController(shelf=shelf)
        stock = Models(CATALOGUE, make_plan=plan)
        async with staged(ScriptedLM(), chat=chat, models=stock) as stage:
            await stage.app.screen.run_action("plan")
            for key, n_made in (("c", 1), ("d", 2), ("enter", 3)):
                await stage.until(lambda: len(asked) == n_made)  # noqa: B023
                await stage.until_shown("target weights")
                await stage.pilot.press(key)
            await stage.until(lambda: bool(shelf.taken))

            assert asked[-1] == ("qwen3-14b", "off", 4096)
            assert shelf.taken == [ModelChange("qwen3-14b", "off", 4096)]

    played(scenario)


def test_plan_that_is_still_being_made_is_not_said_to_be_impossible() -> None:
    may_plan = threading.Event()

    def plan(target: str, draft: str, n_ctx: int | None) -> Plan:
        may_plan.wait()
        return a_plan(target, draft, n_ctx)

    async def scenario() -> None:
        chat = ChatController(shelf=FakeShelf())
        stock = Models(CATALOGUE, make_plan=plan)
        async with staged(ScriptedLM(), chat=chat, models=stock) as stage:
            await stage.app.screen.run_action("plan")
            await stage.until_shown("planning…")
            await stage.pilot.press("enter")
            await stage.until_shown("it is being planned")
            may_plan.set()
            await stage.until_shown("target weights")

    played(scenario)
