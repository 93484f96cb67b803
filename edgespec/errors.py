"""The exception tree: what a person can mend, each with a sentence, a hint and an exit code.

EdgespecError
├── UsageError           2  a flag or an argument has no meaning
├── ModelNotFound        3  unknown name, or not on disk while offline
├── ModelFileError       1  not a usable GGUF file: damaged, wrong kind, too new
├── DoesNotFit           4  memory is short
├── IncompatibleDraft    5  the drafter's vocabulary is not the target's
├── DownloadError        6  a file could not be fetched or is not what it claims to be
├── ContextOverflow      7  the prompt is longer than the context
├── IndexFault           1  an index cannot be read or written
├── Busy                 1  another request holds the model and `wait=False` was said
├── Closed               1  the model was closed
├── HistoryError         1  chats cannot be kept, or not be read
└── EngineError          1  llama.cpp refused a call; names the C function and the meaning
    ├── DecodeFailed     1  llama_decode did not decode the batch
    └── WorkerLost       1  another machine that held a part of the model is gone

A fault of ours is an `assert`, never one of these. Cancelling is an event, not an error:
`Interrupted` only carries it out of a pass that was cut short.
"""


class EdgespecError(Exception):
    """Something a person can mend: one sentence, and the next command as a hint."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")  # tracebacks and logs show it


class UsageError(EdgespecError):
    """A flag or an argument has no meaning."""

    exit_code = 2


class ModelNotFound(EdgespecError):
    """The name is unknown, or its file is not on disk and may not be fetched."""

    exit_code = 3


class ModelFileError(EdgespecError):
    """The file is not a GGUF model that can be run."""


class DoesNotFit(EdgespecError):
    """The models and the context need more memory than there is."""

    exit_code = 4


class IncompatibleDraft(EdgespecError):
    """The drafter cannot propose tokens for this target."""

    exit_code = 5


class DownloadError(EdgespecError):
    """A file could not be fetched, or its bytes are not the pinned ones."""

    exit_code = 6


class ContextOverflow(EdgespecError):
    """The prompt does not fit the context."""

    exit_code = 7

    def __init__(self, needed: int, limit: int, *, hint: str = "") -> None:
        super().__init__(
            f"the prompt has {needed:,} tokens, but the context holds {limit:,}", hint=hint
        )
        self.needed = needed
        self.limit = limit

    def __reduce__(self) -> tuple[object, ...]:
        """As pickle needs it: a process pool ends when an error cannot be made again."""
        return type(self), (self.needed, self.limit), self.__dict__


class IndexFault(EdgespecError):
    """An index of the user's own texts cannot be read or written; answers go on without it."""


class Busy(EdgespecError):
    """Another request holds the model."""


class Closed(EdgespecError):
    """The model was closed."""


class HistoryError(EdgespecError):
    """The file with the chats cannot be written or read."""


class EngineError(EdgespecError):
    """llama.cpp refused a call."""


class Interrupted(Exception):
    """A pass was given up since its request was cancelled; the session stays usable."""


class DecodeFailed(EngineError):
    """`llama_decode` did not decode the batch; the session's cache is known and stays usable."""


class WorkerLost(EngineError):
    """A remote worker is gone, and with it a part of the model: load it again."""
