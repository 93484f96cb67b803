"""The keys of the chat screen and the sizes at which it changes."""

from textual.binding import Binding, BindingType

WIDTHS = [(0, "-tiny-w"), (40, "-narrow"), (72, "-mid"), (100, "-wide")]
HEIGHTS = [(0, "-tiny-h"), (10, "-short"), (22, "-tall")]

# Without Ctrl+I, Ctrl+M, Ctrl+H, Ctrl+[ (terminals send other keys for them) and without what
# edits text. Priority: the text area would take the key for itself.
BINDINGS: list[BindingType] = [
    Binding("escape", "escape", "Stop", show=False, id="stop"),
    Binding("ctrl+c", "interrupt", "Stop", show=False, priority=True, id="interrupt"),
    Binding("f1", "help", "Help", show=False, id="help"),
    Binding("f5", "draft", "Draft", show=False, id="draft"),
    Binding("f7", "panel", "Panel", show=False, priority=True, id="panel"),
    Binding("ctrl+t", "think", "Thinking", show=False, id="think"),
    Binding("ctrl+n", "new", "New chat", show=False, id="new"),
    Binding("ctrl+o", "fold", "Fold reasoning", show=False, id="fold"),
    Binding("pageup", "scroll('page_up')", show=False, priority=True),
    Binding("pagedown", "scroll('page_down')", show=False, priority=True),
    Binding("ctrl+up", "scroll('up')", show=False, priority=True),
    Binding("ctrl+down", "scroll('down')", show=False, priority=True),
    Binding("ctrl+end", "scroll('end')", show=False, priority=True),
]
KEY_ROW = " F1 help  F5 draft  ^T think  ^O fold  ^N new  ^P more  Esc stop  ^Q quit"
