"""Commands about the model, how it drafts and samples, and its context."""

from typing import get_args

from edgespec.chat.controller import ChatController
from edgespec.chat.outcome import Outcome
from edgespec.chat.settings import changed, listing, shown
from edgespec.chat.shelf import ModelChange
from edgespec.chat.turns import ChoiceKind
from edgespec.drafters import names
from edgespec.errors import EdgespecError, UsageError

_KINDS: tuple[ChoiceKind, ...] = get_args(ChoiceKind)


def draft(controller: ChatController, argument: str) -> Outcome:
    """Switch drafting: at every step, never, where it pays, or with another drafter or model."""
    if argument == "on":
        controller.force_draft()
    elif argument:
        name = "none" if argument == "off" else argument
        if name not in (*names(), "auto"):
            return _draft_model(controller, argument)
        controller.set_drafter(name)
    return Outcome(draft_sentence(controller))


def _draft_model(controller: ChatController, name: str) -> Outcome:
    known = ", ".join(("on", "off", "auto", *names()))
    unknown = f"there is no drafter '{name}'; /draft takes {known}"
    if controller.shelf is None:
        raise UsageError(unknown)
    try:
        controller.switch(ModelChange(draft=name))
    except EdgespecError as error:
        raise UsageError(f"{unknown}; and as a model: {error.message}", hint=error.hint) from error
    return Outcome(f"loading with {name} as the draft model", "follow")


def draft_sentence(controller: ChatController, *, is_brief: bool = False) -> str:
    """Whether the next answer drafts, in words; brief: why it drafts otherwise was told before."""
    draft = controller.draft
    is_said = not draft.note or draft.is_forced or (is_brief and draft.word == "ON")
    reason = "" if is_said else f": {draft.note}"
    when = "from the next step on" if controller.draft_acts_now else "from the next answer on"
    if draft.word == "ON":
        how = ", forced at every step" if draft.is_forced else ""
        return f"draft ON ({draft.name}{how}), {when}{reason}"
    if draft.word == "OFF":
        return f"draft OFF, {when}{reason}"
    return f"draft NONE: no drafter is loaded{reason}; /draft auto drafts without a second model"


def gamma(controller: ChatController, argument: str) -> Outcome:
    """Set or show the longest draft."""
    if argument:
        controller.options, said = changed(controller.options, "draft_len", argument)
        return Outcome(said)
    length = controller.options.draft_len
    return Outcome(f"most draft tokens per step: {'auto' if length is None else length}")


def model(controller: ChatController, argument: str) -> Outcome:
    """Show the models that are here, or load another one."""
    if argument:
        controller.switch(ModelChange(target=argument))
        return Outcome(f"loading {argument}; the chat goes on with it", "follow")
    about = controller.description
    now = f"{about.target} {about.target_quant}".strip() if about else "no model"
    with_draft = f" + {about.draft}" if about is not None and about.draft else ""
    names = controller.shelf.names() if controller.shelf is not None else []
    others = f"\non this machine: {', '.join(names)}\n/model NAME loads one" if names else ""
    return Outcome(f"{now}{with_draft}{others}")


def think(controller: ChatController, argument: str) -> Outcome:
    """Let the model think first, or not."""
    if argument not in ("", "on", "off"):
        raise UsageError(f"/think is on or off, not '{argument}'")
    if controller.description is not None and not controller.description.can_think:
        return Outcome("this model's template has no switch for thinking")
    if argument:
        controller.set_think(argument == "on")
    word = "ON" if controller.options.think is not False else "OFF"
    return Outcome(f"thinking {word}, from the next answer on")


def assign(controller: ChatController, argument: str) -> Outcome:
    """Change a setting, show one, or list all."""
    key, _, typed = argument.replace("=", " ").partition(" ")
    if not key:
        return Outcome(listing(controller.options))
    if not typed.strip():
        return Outcome(shown(controller.options, key))
    controller.options, said = changed(controller.options, key, typed.strip())
    return Outcome(said)


def system(controller: ChatController, argument: str) -> Outcome:
    """Show or change the system prompt."""
    if argument:
        controller.chats.set_system(None if argument in ("none", "off") else argument)
    text = controller.conversation.system
    return Outcome(f"system prompt: {text}" if text else "no system prompt")


def context(controller: ChatController, argument: str) -> Outcome:
    """Say how full the context is, and what can be done; or do it."""
    if argument:
        if argument not in _KINDS:
            raise UsageError(f"/context takes {', '.join(_KINDS)}; not '{argument}'")
        turn = controller.choose(argument)
        if turn is None:
            return Outcome("the message is taken back", "follow")
        return Outcome(effect="sent", turn=turn)
    if controller.full is not None:
        return Outcome(choices_text(controller))
    usage = controller.usage
    n_out = len(controller.conversation.left_out)
    out = f"; the model does not see the {n_out} oldest turns" if n_out else ""
    if not usage.n_ctx:
        return Outcome("no model is loaded yet")
    said = f"{usage.n_tokens:,} of {usage.n_ctx:,} tokens ({usage.fraction:.0%})"
    return Outcome(f"context: {said}{out}")


def choices_text(controller: ChatController) -> str:
    """Why a message waits, and the commands that help."""
    full = controller.full
    assert full is not None
    ways = [f"/context {choice.kind:<10}{choice.told}" for choice in full.choices]
    return "\n".join([f"{full.sentence}. Your message waits:", *ways])
