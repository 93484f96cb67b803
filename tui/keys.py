"""Every key: the one table that the screens bind, the key row shows and the help lists.

Without Ctrl+I, Ctrl+M, Ctrl+H and Ctrl+[ (terminals send other keys for them), without what edits
text and without tmux's Ctrl+B. All of them work without the kitty protocol.
"""

from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding, BindingType

WIDE = 100
"""Columns from which there is room for the side panel."""
WIDTHS = [(0, "-tiny-w"), (40, "-narrow"), (72, "-mid"), (WIDE, "-wide")]
HEIGHTS = [(0, "-tiny-h"), (10, "-short"), (22, "-tall")]

Where = Literal["prompt", "chat", "turn", "models", "chats", "params", "plan", "log", "failed"]
"""A part of the chat screen, or another screen."""


@dataclass(frozen=True, slots=True)
class Key:
    """One line of the help, and what it binds."""

    keys: str
    """As Textual names them, with commas between them."""
    action: str
    shown: str
    """As people name them."""
    what: str
    where: Where = "chat"
    is_first: bool = False
    """Before the widget that has the focus: the text area would take it for itself."""
    row: str = ""
    """The word in the key row; empty: not there."""
    is_ours: bool = True
    """Whether a binding does it; else the widget that has the focus by itself."""


KEYS = (
    Key("enter", "send", "Enter", "send, or do the marked command; after \\ a new line", "prompt"),
    Key(
        "ctrl+j,newline,alt+enter,shift+enter",
        "break_line",
        "Ctrl+J, Alt+Enter",
        "new line",
        "prompt",
    ),
    Key(
        "up,down",
        "recall",
        "Up, Down",
        "earlier messages, at the edges; or mark a command",
        "prompt",
    ),
    Key("tab", "complete", "Tab", "take the marked command; else go to the last turn", "prompt"),
    Key("ctrl+g", "editor", "Ctrl+G", "write the message in $EDITOR", is_first=True),
    Key("escape", "escape", "Esc", "stop the answer, keep its text; else to the prompt"),
    Key("ctrl+c", "interrupt", "Ctrl+C", "copy, else stop, else clear, else quit", is_first=True),
    Key("f1", "help", "F1", "help", is_first=True, row="help"),
    Key("f2", "models", "F2", "models and drafts: choose, download", is_first=True, row="models"),
    Key(
        "f3,ctrl+r", "chats", "F3, Ctrl+R", "saved chats: search, go on", is_first=True, row="chats"
    ),
    Key("f4", "params", "F4", "system prompt, sampling, limits", is_first=True, row="params"),
    Key(
        "f5",
        "draft",
        "F5",
        "drafts where they pay, always, or never",
        is_first=True,
        row="draft",
    ),
    Key("f6", "tokens", "F6", "where each token came from", is_first=True, row="tokens"),
    Key("f7", "panel", "F7", f"side panel, from {WIDE} columns on", is_first=True),
    Key("f8", "log", "F8", "log of the engine", is_first=True),
    Key("f9", "why", "F9", "why the last answer was fast or slow", is_first=True, row="why"),
    Key("ctrl+t", "think", "Ctrl+T", "thinking on or off"),
    Key("ctrl+o", "fold", "Ctrl+O", "fold or unfold the reasoning"),
    Key("ctrl+n", "new", "Ctrl+N", "new chat"),
    Key("pageup", "scroll('page_up')", "PgUp, PgDn", "scroll", is_first=True),
    Key("pagedown", "scroll('page_down')", "", "", is_first=True),
    Key("ctrl+up", "scroll('up')", "Ctrl+Up, Ctrl+Down", "scroll by a line", is_first=True),
    Key("ctrl+down", "scroll('down')", "", "", is_first=True),
    Key("ctrl+end", "scroll('end')", "Ctrl+End", "to the newest text", is_first=True),
    Key("ctrl+p", "app.command_palette", "Ctrl+P", "everything, by name; themes", row="more"),
    Key("ctrl+z", "suspend", "Ctrl+Z", "undo; in an empty prompt: to the shell, fg comes back"),
    Key("ctrl+q", "leave", "Ctrl+Q", "quit", is_first=True),
    Key("j,k", "step", "j, k", "next, previous turn", "turn", is_ours=False),
    Key("y", "turn('copy')", "y", "copy the answer, raw", "turn"),
    Key("Y", "turn('copy_code')", "Y", "copy its code; again: the next block", "turn"),
    Key("e", "turn('edit')", "e", "edit the message, ask again", "turn"),
    Key("r", "turn('regenerate')", "r", "answer again, as a branch", "turn"),
    Key("left_square_bracket", "turn('branch_back')", "[ ]", "other branches", "turn"),
    Key("right_square_bracket", "turn('branch_on')", "", "", "turn"),
    Key("d", "turn('delete')", "d, u", "delete the turn; bring it back", "turn"),
    Key("u", "turn('undo')", "", "", "turn"),
    Key("left", "token(-1)", "Left, Right", "in the token view: a token's origin", "turn"),
    Key("right", "token(1)", "", "", "turn"),
    Key("w", "turn('why')", "w", "why: what was drafted, and what for", "turn"),
    Key("question_mark", "screen.help", "?", "help", "turn"),
    Key(
        "enter",
        "",
        "Enter",
        "a model: on to its drafts; a draft: take both",
        "models",
        is_ours=False,
    ),
    Key("tab", "app.focus_next", "Tab", "the other table", "models"),
    Key("p", "plan", "p", "the plan of what is chosen", "models"),
    Key("x", "cancel_fetch", "x", "stop a download; its part is kept", "models"),
    Key("escape,f2", "close", "Esc", "back; a download goes on", "models"),
    Key("enter", "load", "Enter", "load it so", "plan"),
    Key("c", "smaller", "c, C", "half the context, twice the context", "plan"),
    Key("C", "larger", "", "", "plan"),
    Key("d", "no_draft", "d", "without a draft model, or with one again", "plan"),
    Key("escape,q", "close", "Esc", "back", "plan"),
    Key("enter", "", "Enter", "open the chat", "chats", is_ours=False),
    Key("up", "move(-1)", "Up, Down", "choose", "chats", is_first=True),
    Key("down", "move(1)", "", "", "chats", is_first=True),
    Key("ctrl+d", "delete", "Ctrl+D, Ctrl+U", "delete; bring it back", "chats", is_first=True),
    Key("ctrl+u", "undelete", "", "", "chats", is_first=True),
    Key("ctrl+e", "export", "Ctrl+E", "write it into a file", "chats", is_first=True),
    Key("escape,f3,ctrl+r", "close", "Esc", "back", "chats", is_first=True),
    Key("enter,ctrl+s", "apply", "Enter, Ctrl+S", "from the next answer on", "params"),
    Key("escape,f4", "close", "Esc", "leave all as it was", "params"),
    Key("s", "save", "s", "save it as a file", "log"),
    Key("escape,f8,q", "close", "Esc", "back", "log"),
    Key("enter", "", "Enter", "take the chosen way", "failed", is_ours=False),
    Key("f8", "details", "F8", "the last lines of the log", "failed"),
    Key("ctrl+e", "report", "Ctrl+E", "copy a report for whoever helps", "failed"),
    Key("escape", "close", "Esc", "back, as typing is; the error stays", "failed"),
)


def bindings(where: Where) -> list[BindingType]:
    """What a widget binds."""
    scope = "screen." if where == "turn" else ""
    return [
        Binding(
            key.keys,
            key.action if "." in key.action else scope + key.action,
            key.what,
            show=False,
            priority=key.is_first,
            id=f"{where}.{key.action}",
        )
        for key in KEYS
        if key.where == where and key.is_ours
    ]


def classes_at(width: int, height: int) -> list[str]:
    """The screen's classes at a size."""
    return [
        [name for least, name in steps if size >= least][-1]
        for size, steps in ((width, WIDTHS), (height, HEIGHTS))
    ]


def keys_of(action: str) -> tuple[str, ...]:
    """The keys of one action."""
    return next(tuple(key.keys.split(",")) for key in KEYS if key.action == action)


def key_row() -> str:
    """The line at the bottom."""
    shown = (f"{_short(key.shown)} {key.row}" for key in KEYS if key.row)
    return " " + "  ".join(shown)


def _short(shown: str) -> str:
    return shown.split(",")[0].replace("Ctrl+", "^")
