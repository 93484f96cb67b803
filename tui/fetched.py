"""A download that goes on behind the chat: telling how far it is, and taking what it brought."""

from typing import TYPE_CHECKING

from edgespec.chat.turns import LoadProgress
from edgespec.text.clean import clean

from .agree import nothing_yet

if TYPE_CHECKING:
    from .actions import ChatActions


def watch(screen: "ChatActions") -> None:
    """Look at the download under way; called while the chat is what is shown."""
    fetch, chat = screen.models.fetch, screen.chat
    assert fetch is not None
    if chat.model is None and chat.state == "BOOT":
        if fetch.is_done:
            nothing_yet(screen)
        else:  # in place of a load, for which there is nothing yet
            what = f"fetching {fetch.spec.id}"
            chat.progress = LoadProgress(what, screen.models.fraction)
    screen.refresh_chrome()
    if not fetch.is_done:
        return
    screen.models.fetch = None
    if fetch.error is not None:
        screen.notify(clean(fetch.error.message), severity="error", timeout=8, markup=False)
    elif not fetch.is_cancelled:
        _take(screen, fetch.spec.id)


def _take(screen: "ChatActions", name: str) -> None:
    """Where no model was there yet, go on with what was chosen; else say that it is here."""
    models, chat = screen.models, screen.chat
    agreed = models.agreed
    if agreed is None or chat.model is not None or chat.state == "LOADING":
        screen.notify(f"{name} is here: F2 takes it", timeout=8, markup=False)
    elif (lacking := models.lacking(agreed)) is not None:
        models.start(lacking)
    else:
        screen.load_agreed(agreed)
