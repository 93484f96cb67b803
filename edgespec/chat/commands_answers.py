"""Commands about this chat's messages and answers."""

from edgespec.chat.controller import ChatController
from edgespec.chat.outcome import Outcome
from edgespec.chat.turns import Turn, counted, line_of, ratio
from edgespec.errors import UsageError
from edgespec.events import Stats
from edgespec.text.fences import code_blocks


def new(controller: ChatController, argument: str) -> Outcome:
    """Start a new chat."""
    controller.clear()
    return Outcome("new chat", "cleared")


def private(controller: ChatController, argument: str) -> Outcome:
    """Start a chat that is never saved."""
    controller.clear(is_private=True)
    return Outcome("new chat; nothing of it is saved. /save would save it after all", "cleared")


def regen(controller: ChatController, argument: str) -> Outcome:
    """Answer the last message again."""
    turn = controller.regenerate()
    if turn is None:
        return Outcome("there is nothing to answer again now")
    return Outcome(effect="sent", turn=turn)


def edit(controller: ChatController, argument: str) -> Outcome:
    """Put a message back into the prompt."""
    turn = _nth_last(controller.turns, argument, "message")
    if turn is None:
        return Outcome("there is no message to change yet")
    return Outcome(effect="edit", payload=turn.prompt, turn=turn)


def branch(controller: ChatController, argument: str) -> Outcome:
    """List the branches, or show another one."""
    forks = controller.branches.forks()
    if not forks:
        return Outcome("there are no other branches: /regen and /edit make some")
    words = argument.split()
    if not words:
        return Outcome("\n".join(_fork(controller, turn) for turn in forks))
    fork = forks[-1]
    if len(words) == 2:
        at = words[0]
        number = int(at) if at.isdecimal() else 0
        if not 1 <= number <= len(controller.turns) or controller.turns[number - 1] not in forks:
            raise UsageError(f"message {at} has no other branches; /branch lists those that have")
        fork = controller.turns[number - 1]
    shown = _other(controller, fork, words[-1])
    return Outcome(_fork(controller, shown), "opened")


def _other(controller: ChatController, fork: Turn, which: str) -> Turn:
    siblings = controller.branches.siblings(fork)
    if which in ("next", "prev"):
        return controller.branches.step(fork, 1 if which == "next" else -1)
    if not which.isdecimal() or not 1 <= int(which) <= len(siblings):
        raise UsageError(f"there are {len(siblings)} branches; '{which}' is none of them")
    controller.branches.show(siblings[int(which) - 1])
    return siblings[int(which) - 1]


def _fork(controller: ChatController, turn: Turn) -> str:
    siblings = controller.branches.siblings(turn)
    number = controller.turns.index(turn) + 1
    place = f"branch {siblings.index(turn) + 1} of {len(siblings)}"
    return f'message {number} "{line_of(turn.prompt, 40)}": {place}'


def remove(controller: ChatController, argument: str) -> Outcome:
    """Take a turn out."""
    turn = _nth_last(controller.turns, argument, "turn")
    if turn is None:
        return Outcome("there is no turn to take out")
    if turn.status in ("queued", "running"):
        raise UsageError("this turn is under way", hint="stop it first")
    controller.branches.remove(turn)
    return Outcome(f'removed "{line_of(turn.prompt, 40)}"; /undo brings it back', "opened")


def show(controller: ChatController, argument: str) -> Outcome:
    """The whole branch as text."""
    if not controller.turns:
        return Outcome("nothing has been said yet")
    return Outcome("\n\n".join(turn_text(turn) for turn in controller.turns))


def turn_text(turn: Turn) -> str:
    """A turn as plain text."""
    marks = {"stopped": "\n[stopped]", "error": "\n[failed]"}
    return f"you: {turn.prompt}\n\n{turn.text}{marks.get(turn.status, '')}".rstrip()


def copy(controller: ChatController, argument: str) -> Outcome:
    """The raw text of an answer, or of a block of code in the last one that has some."""
    texts = [turn.text for turn in controller.turns if turn.text]
    if not texts:
        return Outcome("there is no answer to copy yet")
    word, _, number = argument.partition(" ")
    if word != "code":
        back = int(argument) if argument.isdecimal() else 1
        if not 1 <= back <= len(texts):
            has = f"this chat has {counted(len(texts), 'answer')}"
            raise UsageError(f"{has}; /copy {argument} is none of them")
        return Outcome(effect="copy", payload=texts[-back])
    blocks = next((found for text in reversed(texts) if (found := code_blocks(text))), [])
    place = int(number) if number.strip().isdecimal() else 1
    if not 1 <= place <= len(blocks):
        has = f"the last answer with code has {counted(len(blocks), 'block')}"
        raise UsageError(f"{has}; {place} is none")
    return Outcome(effect="copy", payload=blocks[place - 1])


def stats(controller: ChatController, argument: str) -> Outcome:
    """Figures of the last answer."""
    turn = next((turn for turn in reversed(controller.turns) if turn.stats.passes), None)
    return Outcome(stats_text(turn.stats) if turn else "no answer yet")


def stats_text(stats: Stats) -> str:
    """Every figure of one answer, a line each."""
    speed, plain = stats.decode_tokens_per_s, stats.plain_tokens_per_s
    lines = [
        f"prompt     {stats.prompt_tokens} tokens, {stats.cached_tokens} cached",
        f"answer     {stats.generated_tokens} tokens, passes: {stats.passes}",
    ]
    if stats.ttft_s is not None:
        lines.append(f"first      {stats.ttft_s:.2f} s until the first token")
    if speed is not None:
        lines.append(f"speed      {speed:.1f} tok/s by the clock")
    if (times := ratio(stats)) is not None:
        lines.append(f"plain      {plain:.1f} tok/s measured, so {times:.2f}x")
    if stats.acceptance_rate is not None:
        judged = stats.accepted + stats.rejected
        lines += [
            f"accepted   {stats.acceptance_rate:.0%} ({stats.accepted} of {judged})",
            "by place   " + " ".join(f"{p:.0%}" for p in stats.acceptance_per_position or (0,)),
            f"per round  {stats.mean_acceptance_length:.2f} tokens, rounds: {stats.rounds}",
            f"clock      draft {stats.draft_s:.2f} s, target {stats.target_s:.2f} s, "
            f"other {stats.verify_s + stats.overhead_s:.2f} s",
        ]
    drafter = stats.drafter + (f" ({stats.drafter_note})" if stats.drafter_note else "")
    return "\n".join([*lines, f"drafter    {drafter}"])


def _nth_last(turns: list[Turn], argument: str, what: str) -> Turn | None:
    if not turns:
        return None
    back = int(argument) if argument.isdecimal() else 0 if argument else 1
    if not 1 <= back <= len(turns):
        raise UsageError(
            f"this chat has {counted(len(turns), what)}; '{argument}' counts none of them"
        )
    return turns[-back]
