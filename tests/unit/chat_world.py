"""A controller with a scripted model, and what its turns tell."""

from edgespec.chat.controller import ChatController, Update
from tests.scripted import Script, ScriptedLM


def attached(*scripts: Script | str, **model: object) -> tuple[ChatController, ScriptedLM]:
    lm = ScriptedLM(scripts or ("An answer.",), **model)  # type: ignore[arg-type]
    controller = ChatController()
    controller.attach(lm)
    return controller, lm


def followed(controller: ChatController) -> list[Update]:
    return list(controller.follow())
