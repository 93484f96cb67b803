"""The plan before a load: shown for what was never loaded here, agreed to where memory is short.

Knows the chat screen's parts; what is planned and loaded is the models' and the conversation's.
"""

import asyncio
from typing import TYPE_CHECKING

from edgespec.chat.turns import LoadProgress
from edgespec.errors import EdgespecError

from . import known
from .plan import PlanScreen, plan_words

if TYPE_CHECKING:
    from edgespec.chat.shelf import ModelChange
    from edgespec.chat.workers import OpenModel
    from edgespec.plan.types import Plan

    from .actions import ChatActions

NOTHING = "nothing is loaded: F2 chooses a model"


def nothing_yet(screen: "ChatActions") -> None:
    """Say what stands there while no model was chosen."""
    screen.chat.progress = LoadProgress(NOTHING)


async def load_first(screen: "ChatActions", open_model: "OpenModel") -> None:
    """Load what the chat begins with; messages sent meanwhile wait."""
    chat, shelf = screen.chat, screen.chat.shelf
    wanted = shelf.wanted if shelf is not None else None
    if wanted is None or known.is_known(wanted):
        chat.load(open_model)
        screen.wake()
        return
    chat.progress = LoadProgress("planning")
    screen.is_planning = True
    screen.refresh_chrome()
    plan = await _planned(screen, wanted)
    screen.is_planning = False
    if plan is not None and plan.rungs:
        change = await _asked(screen, wanted)
        if change is None:
            chat.progress = LoadProgress(NOTHING)
            screen.give_back(chat.withdraw())
            await screen.show_turns()
        elif change == _choice(wanted):
            chat.load(open_model)
        else:
            await screen.switch(change)
    else:
        if plan is not None and not chat.turns:
            await screen.log_view.add_notice(plan_words(plan, screen.glyphs))
        chat.load(open_model)
    screen.wake()


async def agreed(screen: "ChatActions", change: "ModelChange") -> "ModelChange | None":
    """`change`, or what a person makes of it where memory is short; None: nothing is loaded."""
    if change == screen.models.agreed or known.is_known(change):
        return change
    plan = await _planned(screen, change)
    return await _asked(screen, change) if plan is not None and plan.rungs else change


async def _planned(screen: "ChatActions", change: "ModelChange") -> "Plan | None":
    """None where the load itself will tell what is wrong."""
    named = _choice(change)
    try:
        return await asyncio.to_thread(
            screen.models.plan, named.target or "", named.draft or "auto", named.n_ctx
        )
    except EdgespecError:
        return None


async def _asked(screen: "ChatActions", change: "ModelChange") -> "ModelChange | None":
    named = _choice(change)
    names = (named.target or "", named.draft or "auto")
    page = PlanScreen(screen.models, screen.glyphs, names, n_ctx=named.n_ctx)
    return await screen.app.push_screen_wait(page)


def _choice(change: "ModelChange") -> "ModelChange":
    """What a plan's screen ends with when nothing is changed there."""
    from edgespec.chat.shelf import ModelChange

    return ModelChange(change.target, change.draft or "auto", change.n_ctx)
