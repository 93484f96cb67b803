"""Notices over the conversation: the newest in place of the one before, never a pile of them.

An error takes only an error's place: a word about a key must not hide it.
"""

from textual.app import App
from textual.notifications import Notification
from textual.widgets._toast import Toast


def make_room(app: App[int], new: Notification) -> None:
    """Take away what `new` replaces, on every screen: those below would show it again."""
    for shown in [*app._notifications]:
        if _is_error(shown) == _is_error(new):
            app._unnotify(shown, refresh=False)
    for screen in app.screen_stack:
        for toast in screen.query(Toast):
            if _is_error(toast._notification) == _is_error(new):
                toast._expire()  # with what holds it, which Textual would leave


def _is_error(notification: Notification) -> bool:
    return notification.severity == "error"
