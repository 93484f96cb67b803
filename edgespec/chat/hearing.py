"""What the events of an answer change in its turn, and the state they leave the chat in."""

import time

from edgespec.chat.turns import State, Turn
from edgespec.events import Delta, PromptProgress, Round


def heard(turn: Turn, event: PromptProgress | Delta | Round, state: State) -> State:
    """Apply an event to its turn. Returns: the state after it."""
    match event:
        case PromptProgress():
            if turn.progress is None:
                turn.reading_from_s = time.monotonic()
            turn.progress = event
        case Delta():
            return _text(turn, event, state)
        case Round():
            if state == "THINKING":
                turn.reasoning_s = event.stats.decode_s
            turn.last_round = event if event.step.draft else turn.last_round
            turn.stats = event.stats
    return state


def _text(turn: Turn, delta: Delta, state: State) -> State:
    if delta.kind == "reasoning":
        turn.reasoning += delta.text
        turn.reasoning_tokens += len(delta.tokens)
    else:
        turn.text += delta.text
    if delta.tokens and delta.tokens[-1].source in ("recovered", "bonus"):
        turn.own_text = delta.tokens[-1].text
    if state == "STOPPING":
        return state
    return "THINKING" if delta.kind == "reasoning" else "GENERATING"
