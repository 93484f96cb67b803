"""The public shapes of the Python API: what a loaded model and a running answer can do.

Imports nothing heavy, so that the CLI and the TUI can be written against it; `edgespec.api.model`
implements it, the tests' scripted model too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Protocol, TypedDict

from edgespec.errors import UsageError
from edgespec.events import DraftMode, Event, Reply, Stats
from edgespec.plan.kinds import KvType, SplitMode
from edgespec.shaping import Sampling, is_whole

if TYPE_CHECKING:  # six classes that take 6 ms to make, which the chat's first paint needs not
    from edgespec.explanation import Explanation

Progress = Callable[[str, float], None]
"""Told what is being done and which share of it is done; may raise to give up loading."""


class Message(TypedDict):
    """One turn of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str
    reasoning: NotRequired[str]
    """Shown to people, never fed back unless the template asks for it."""


Prompt = str | Sequence[Message]
"""A chat, or one user message."""


DraftVocab = Literal["same", "intersect"]
_COUNTS = ("max_tokens", "draft_len", "logprobs")


class Placing(TypedDict, total=False):
    """What may be said about where models go; what is said is met or refused."""

    kv_type: KvType | None
    """Type of the target's cache; None: f16, or q8_0 where memory is short."""
    n_gpu_layers: int | None
    """Layers of the target on GPUs and workers, the output layer included; None: what fits."""
    devices: Sequence[str] | None
    """Names of the devices for the target's layers, as `edgespec doctor` has them; None: what
    fits best."""
    draft_devices: Sequence[str] | None
    """The same for the draft model."""
    split_mode: SplitMode | None
    """How several devices share the target; None: by layers."""
    rpc: str | None
    """Workers to take in, as "host:port,host:port" (`edgespec worker` makes one)."""
    memory_bytes: int | None
    """Use no more of this machine's own memory; None: what is free."""


class Loading(Placing, total=False):
    """What may be said about loading a model; all of it by keyword, none of it needed."""

    draft: str | Path | None
    """A draft model, by catalogue id or path; "auto": the catalogue's, where it is here and fits.
    "A,B": a cascade, B drafting for A, to any depth. None, the default, or "off": none."""
    draft_vocab: DraftVocab
    """"same", the default: a draft model must have the target's vocabulary. "intersect": it may
    draft through the tokens that both have, if these cover enough."""
    drafter: str
    """How to draft: a registry name, or "auto", the default, which goes by what was measured; the
    first load of a model takes some seconds more for that."""
    n_ctx: int | None
    """Tokens of context; None: 8,192, up to 32,768 on a card of this machine with room for them,
    and never more than the model was trained for."""
    n_threads: int | None
    """None: the cores that are there."""
    template: str | None
    """A jinja chat template in place of the file's own."""
    progress: Progress | None
    """Hears what is being done and which share of it is done; may raise to give up."""
    index: str
    """The index of the user's own texts to draft from; "auto", the default: all on this machine;
    "off": none."""
    measure: bool
    """False: draft by a usual machine's costs, the same drafts everywhere."""


@dataclass(frozen=True, slots=True)
class Options:
    """Everything about one request that is not the prompt.

    sampling: how the next token is drawn; greedy unless said
    max_tokens: the longest answer; unless said, until the model stops or the context is full
    stop: texts that end the answer, as a tuple; they are left out of it
    grammar, json_schema: what the answer must fit, as GBNF or as a schema (text or dict)
    logprobs: report each token's log-probability, and of so many rivals beside it
    think: reasoning on or off, where the model's template has a switch
    drafter, draft_len: another way of drafting than the model was loaded with; a fixed length
    raw: the prompt is a plain text to continue, not a chat
    learn: let later answers draft from this one, if the user has allowed that
    """

    sampling: Sampling = Sampling()
    max_tokens: int | None = None
    """None: until the model stops or the context is full; 0: nothing."""
    stop: tuple[str, ...] = ()
    drafter: str | None = None
    """A registry name or "auto"; None: as loaded."""
    draft_len: int | None = None
    """Draft tokens per step, fixed; None: as many as promise most for their time, at each step."""
    think: bool | None = None
    """Thinking on or off where the template knows it; None: the template's default."""
    grammar: str | None = None
    """A GBNF grammar for the answer; where the prompt opens reasoning, from its end on."""
    json_schema: str | Mapping[str, Any] | None = None
    """A JSON schema for the answer, as text or as a dict; excludes `grammar`, and holds as that
    does."""
    logprobs: int | None = None
    """Report the log-probability of every token, and of this many likeliest ones beside it, under
    the model's own law: before sampling shapes it. None: report none."""
    learn: bool = False
    """Keep the complete answer as a source of later drafts, if the user has switched that on
    (`edgespec index learn on`)."""
    raw: bool = False
    """The prompt is a plain text to continue: no chat template, control tokens parsed."""

    def __post_init__(self) -> None:
        for name in _COUNTS:
            if is_whole(value := getattr(self, name)):  # numpy's integers would overflow later
                object.__setattr__(self, name, index(value))

    def check(self) -> None:
        """Raises: `UsageError` for a value without a meaning, whatever the model and the prompt."""
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and not (is_whole(value) and value >= 0):
                raise UsageError(
                    f"{name} is {value!r}, but must be a whole number, 0 or more",
                    hint="leave it out for no limit",
                )
        self._check_kinds()
        stop: object = self.stop
        if isinstance(stop, str):  # a text is a sequence of texts too: its letters would stop
            raise UsageError(
                "stop is one text, but must be a tuple of texts", hint=f"stop=({stop!r},)"
            )
        if not isinstance(stop, tuple) or not all(isinstance(text, str) for text in stop):
            raise UsageError(
                f"stop is {stop!r}, but must be a tuple of texts", hint='for example stop=("END",)'
            )
        if not all(stop):
            raise UsageError("a stop string is empty", hint="leave it out, or give it text")
        if self.grammar is not None and self.json_schema is not None:
            raise UsageError("a grammar and a JSON schema exclude each other", hint="give one")

    def _check_kinds(self) -> None:
        kinds: tuple[tuple[str, str, type | tuple[type, ...]], ...] = (
            ("sampling", "an edgespec.Sampling", Sampling),
            ("drafter", "a text", (str, NoneType)),
            ("grammar", "a text", (str, NoneType)),
            ("json_schema", "a text or a dict", (str, Mapping, NoneType)),
        )
        for name, wanted, kind in kinds:
            if not isinstance(value := getattr(self, name), kind):
                raise UsageError(
                    f"{name} is {value!r}, but must be {wanted}",
                    hint="leave it out for the usual value",
                )


@dataclass(frozen=True, slots=True)
class PlaceMemory:
    """What a load was to take in one place, and what it took: weights, caches, buffers."""

    where: str
    """A device's name; "CPU" for the machine's own memory."""
    planned_bytes: int
    allocated_bytes: int


@dataclass(frozen=True, slots=True)
class Description:
    """What is loaded, for a header line."""

    target: str
    """Catalogue id or file name."""
    target_quant: str
    draft: str | None
    draft_quant: str
    drafter: str
    """The drafter in force: a registry name."""
    drafter_note: str
    """Why the drafter asked for is not in force; empty when it is."""
    n_ctx: int
    backend: str
    """For example "CPU, 2 threads"."""
    can_think: bool
    """The template knows `enable_thinking`."""
    memory: tuple[PlaceMemory, ...] = ()
    """What was planned and what llama.cpp allocated, by place."""
    gave_way: tuple[str, ...] = ()
    """What was left out or made smaller because memory was short, one sentence each."""


class Stream(Protocol):
    """A running answer: iterate for events; a context manager; `break` keeps the statistics."""

    def __iter__(self) -> Iterator[Event]: ...

    def __enter__(self) -> "Stream": ...

    def __exit__(self, *exc: object) -> None: ...

    def cancel(self) -> None:
        """Stop within one step or one prefill chunk; any thread; idempotent."""
        ...

    def draft(self, mode: DraftMode) -> None:
        """From the next step on: "on" drafts at every step, "off" decodes plainly, "auto" goes on
        as it began, or as the model was loaded where it began without drafts; any thread."""
        ...

    def close(self) -> None:
        """Cancel and wait until the engine has let go; idempotent."""
        ...

    @property
    def stats(self) -> Stats:
        """Statistics so far; final after the end, a cancel or a break."""
        ...


class LanguageModel(Protocol):
    """A loaded target with its drafters; every method is thread-safe."""

    @property
    def description(self) -> Description:
        """What is loaded."""
        ...

    def chat(self, prompt: Prompt, options: Options = ..., *, wait: bool = True) -> Stream:
        """Start an answer. A second one queues; with `wait=False` it raises `Busy` instead.

        Raises: `ContextOverflow` before anything is decoded; `UsageError`; `Closed`.
        """
        ...

    def complete(self, prompt: Prompt, options: Options = ...) -> Reply:
        """The whole answer at once."""
        ...

    def explain(self) -> "Explanation | None":
        """What the latest answer (a running one too) drafted at each step, and why, in numbers.

        None before the first. Any thread.
        """
        ...

    def count(self, prompt: Prompt, options: Options = ...) -> int:
        """Tokens of the rendered prompt."""
        ...

    def close(self) -> None:
        """Cancel, join, free; idempotent."""
        ...
