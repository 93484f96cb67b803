"""Lossless speculative decoding for GGUF models on your own machine.

    with edgespec.load("smollm2-135m") as model:
        print(model.complete("Hello!").text)

Names are imported on first use (PEP 562): `import edgespec` costs no numpy and no native library.
"""

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgespec.api.download import Download as Download
    from edgespec.api.download import download as download
    from edgespec.api.entry import aload as aload
    from edgespec.api.entry import load as load
    from edgespec.api.listing import ListedModel as ListedModel
    from edgespec.api.listing import list_models as list_models
    from edgespec.api.model import LoadedModel as LoadedModel
    from edgespec.api.stream import AnswerStream as AnswerStream
    from edgespec.api.stream import AsyncAnswerStream as AsyncAnswerStream
    from edgespec.api.types import Description as Description
    from edgespec.api.types import LanguageModel as LanguageModel
    from edgespec.api.types import Loading as Loading
    from edgespec.api.types import Message as Message
    from edgespec.api.types import Options as Options
    from edgespec.api.types import Prompt as Prompt
    from edgespec.api.types import Stream as Stream
    from edgespec.errors import Busy as Busy
    from edgespec.errors import Closed as Closed
    from edgespec.errors import ContextOverflow as ContextOverflow
    from edgespec.errors import DecodeFailed as DecodeFailed
    from edgespec.errors import DoesNotFit as DoesNotFit
    from edgespec.errors import DownloadError as DownloadError
    from edgespec.errors import EdgespecError as EdgespecError
    from edgespec.errors import EngineError as EngineError
    from edgespec.errors import HistoryError as HistoryError
    from edgespec.errors import IncompatibleDraft as IncompatibleDraft
    from edgespec.errors import IndexFault as IndexFault
    from edgespec.errors import ModelFileError as ModelFileError
    from edgespec.errors import ModelNotFound as ModelNotFound
    from edgespec.errors import UsageError as UsageError
    from edgespec.errors import WorkerLost as WorkerLost
    from edgespec.events import Delta as Delta
    from edgespec.events import Done as Done
    from edgespec.events import Event as Event
    from edgespec.events import PromptProgress as PromptProgress
    from edgespec.events import Reply as Reply
    from edgespec.events import Round as Round
    from edgespec.events import Stats as Stats
    from edgespec.events import Step as Step
    from edgespec.events import TokenLogprob as TokenLogprob
    from edgespec.events import TokenText as TokenText
    from edgespec.explanation import Explanation as Explanation
    from edgespec.shaping import Sampling as Sampling
    from edgespec.store import PullProgress as PullProgress

__version__ = "0.1.0"

_API = ("Description", "LanguageModel", "Loading", "Message", "Options", "Prompt", "Stream")
_ERRORS = (
    "Busy",
    "Closed",
    "ContextOverflow",
    "DecodeFailed",
    "DoesNotFit",
    "DownloadError",
    "EdgespecError",
    "EngineError",
    "HistoryError",
    "IncompatibleDraft",
    "IndexFault",
    "ModelFileError",
    "ModelNotFound",
    "UsageError",
    "WorkerLost",
)
_EVENTS = (
    "Delta",
    "Done",
    "Event",
    "PromptProgress",
    "Reply",
    "Round",
    "Stats",
    "Step",
    "TokenLogprob",
    "TokenText",
)
_HOME = {
    "aload": "edgespec.api.entry",
    "load": "edgespec.api.entry",
    "ListedModel": "edgespec.api.listing",
    "list_models": "edgespec.api.listing",
    "LoadedModel": "edgespec.api.model",
    "AnswerStream": "edgespec.api.stream",
    "AsyncAnswerStream": "edgespec.api.stream",
    "Download": "edgespec.api.download",
    "download": "edgespec.api.download",
    "PullProgress": "edgespec.store",
    "Sampling": "edgespec.shaping",
    **dict.fromkeys(_API, "edgespec.api.types"),
    **dict.fromkeys(_ERRORS, "edgespec.errors"),
    **dict.fromkeys(_EVENTS, "edgespec.events"),
    "Explanation": "edgespec.explanation",
}
__all__ = ["__version__", *_HOME]

logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'edgespec' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
