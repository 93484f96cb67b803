"""The flags of `edgespec chat`: their names, their help, and the request they describe.

Imports nothing heavy; `options` imports the request's types when it is called.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from edgespec.cli.doors import Shared
from edgespec.cli.numbers import Whole
from edgespec.cli.placing import PLACING, PLACING_NAMES, loading_of
from edgespec.errors import UsageError

if TYPE_CHECKING:
    from edgespec.api.types import DraftVocab, Options, Placing
    from edgespec.shaping import Sampling

AUTO = "auto"
_MOST_THREADS = 512
"""llama.cpp ends the process above it."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Flags:
    """What was said on the command line; None where nothing was said."""

    target: str | None
    draft: str | None
    draft_vocab: "DraftVocab"
    drafter: str | None
    draft_len: int | None
    prompt: str | None
    system: str | None
    ctx: int | None
    max_tokens: int | None
    temp: float | None
    top_k: int | None
    top_p: float | None
    min_p: float | None
    typical_p: float | None
    repeat_penalty: float | None
    presence_penalty: float | None
    frequency_penalty: float | None
    seed: int | None
    reproducible: bool
    stop: tuple[str, ...]
    think: bool | None
    grammar: Path | None
    json_schema: Path | None
    raw: bool
    template: Path | None
    json: bool
    json_stream: bool
    logprobs: int | None
    stats: bool
    explain: bool
    plain: bool
    is_continued: bool
    resume: str | None
    private: bool
    threads: int | None
    index: str
    kv: str | None
    gpu_layers: int | None
    device: str | None
    draft_device: str | None
    split_mode: str | None
    rpc: str | None
    memory: str | None
    offline: bool
    yes: bool
    no_color: bool

    def placing(self) -> "Placing":
        """Where the models go, as far as it was said. Raises: `UsageError`."""
        return loading_of({name: getattr(self, name) for name in PLACING_NAMES})

    def template_text(self) -> str | None:
        """The chat template that was named. Raises: `UsageError` for an unreadable file."""
        if self.raw and self.template:
            raise UsageError("--raw uses no chat template", hint="leave out --template")
        source = _text_of(self.template)
        if source is not None:
            from edgespec.text.template import check_template

            check_template(source)
        return source

    def check(self) -> None:
        """Raises: `UsageError` for a value without a meaning, whatever the model."""
        options = self.options()
        options.check()
        self.template_text()
        if (rpc := self.placing().get("rpc")) is not None:
            from edgespec.engine.rpc.endpoint import endpoints_of

            endpoints_of(rpc)
        if options.grammar is not None:
            from edgespec.engine.gbnf import check_gbnf

            with _told_of("--grammar"):
                check_gbnf(options.grammar)
        if options.json_schema is not None:
            from edgespec.engine.json_schema import gbnf_of_schema

            with _told_of("--json-schema"):
                gbnf_of_schema(options.json_schema)

    def options(self, advice: Mapping[str, float] = MappingProxyType({})) -> "Options":
        """The request: what was said, else the publisher's advice, else plain defaults.

        Raises: `UsageError` for a value out of range or an unreadable file.
        """
        from edgespec.api.types import Options

        if self.raw and self.system:
            raise UsageError(
                "--raw continues one text, so --system has no place in it", hint="leave one out"
            )
        if self.json and self.json_stream:
            raise UsageError("--json and --json-stream exclude each other", hint="give one")
        if self.logprobs is not None and not (self.json or self.json_stream):
            raise UsageError("--logprobs are told in the JSON object only", hint="add --json")
        if self.grammar and self.json_schema:
            raise UsageError("--grammar and --json-schema exclude each other", hint="give one")
        shaping = {
            "temperature": self.temp,
            "top_k": self.top_k,
            "top_p": self.top_p,
            "min_p": self.min_p,
            "typical_p": self.typical_p,
            "repeat_penalty": self.repeat_penalty,
            "presence_penalty": self.presence_penalty,
            "frequency_penalty": self.frequency_penalty,
            "seed": self.seed,
        }
        said: dict[str, Any] = {**advice, **{k: v for k, v in shaping.items() if v is not None}}
        return Options(
            sampling=_sampling({**said, "reproducible": self.reproducible}),
            max_tokens=self.max_tokens,
            stop=self.stop,
            draft_len=self.draft_len,
            think=self.think,
            grammar=_text_of(self.grammar),
            json_schema=_text_of(self.json_schema),
            logprobs=self.logprobs,
            learn=not self.private,
            raw=self.raw,
        )


def _sampling(said: dict[str, Any]) -> "Sampling":
    """Raises: `UsageError` in the flags' words for a value out of range."""
    from edgespec.shaping import Sampling

    try:
        return Sampling(**said)
    except UsageError as error:
        name, rest = error.message.split(" ", 1)
        flag = "--temp" if name == "temperature" else "--" + name.replace("_", "-")
        raise UsageError(f"{flag} {rest}", hint=error.hint) from error


@contextmanager
def _told_of(flag: str) -> Iterator[None]:
    """An error that gives no way on says at least which file has to be mended."""
    try:
        yield
    except UsageError as error:
        hint = error.hint or f"mend the file that {flag} names, or leave {flag} out"
        raise UsageError(error.message, hint=hint) from error


def _text_of(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is not a text file in UTF-8 ({error.reason})", hint="save it as UTF-8"
        ) from error


_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
_COUNT = Whole(0)
_SOME = Whole(1)
THREADS = Whole(1, _MOST_THREADS)


class _DraftLen(click.ParamType["int | None"]):
    """A number from 1 on, or "auto", which is None."""

    name = "auto|N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        if value == AUTO:
            return None
        return _SOME.convert(value, param, ctx)


class _DrafterName(click.ParamType[str]):
    """A drafter of ours, of another installed distribution, or "auto"."""

    name = "drafter"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join(self._names())}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from edgespec.drafters import DRAFTERS  # late: most chats name none

        # Looking through what is installed takes 20 ms that our own names need not pay.
        if value not in (AUTO, *DRAFTERS) and value not in self._names():
            self.fail(f"{value!r} is not one of {', '.join(map(repr, self._names()))}.", param, ctx)
        return str(value)

    @staticmethod
    def _names() -> tuple[str, ...]:
        from edgespec.drafters import names

        return (*names(), AUTO)


_MODELS = (
    click.option("-t", "-m", "--target", metavar="MODEL", help="Catalogue id or GGUF file."),
    click.option(
        "--draft",
        metavar="MODEL[,SMALLER...]|off|auto",
        help="Draft model, and what drafts for it. Default: auto.",
    ),
    click.option(
        "--draft-vocab",
        type=click.Choice(("same", "intersect")),
        default="same",
        help="A draft of another vocabulary: refuse, or draft through what both share.",
    ),
    click.option("--drafter", type=_DrafterName(), help="How to draft. Default: auto."),
    click.option(
        "--draft-len",
        type=_DraftLen(),
        metavar="auto|N",
        help="Draft tokens per step. Default: auto, what pays at each.",
    ),
    click.option("-c", "--ctx", type=_SOME, metavar="N", help="Context length in tokens."),
    click.option(
        "--index", default="auto", metavar="NAME|off|auto", help="Draft from your own texts."
    ),
    click.option("--threads", type=THREADS, metavar="N", help="CPU threads. Default: the cores."),
)
_REQUEST = (
    click.option("-p", "--prompt", metavar="TEXT", help="Answer this on stdout and exit."),
    click.option("-s", "--system", metavar="TEXT", help="System prompt."),
    click.option("-n", "--max-tokens", type=_COUNT, metavar="N", help="Longest answer."),
    click.option("--raw", is_flag=True, help="Continue the prompt as it is: no chat template."),
    click.option("--template", type=_FILE, metavar="FILE", help="Chat template in Jinja."),
    click.option("--stop", multiple=True, metavar="TEXT", help="End before TEXT (repeatable)."),
    click.option("--think/--no-think", default=None, help="Reason first, where the model can."),
    click.option("--grammar", type=_FILE, metavar="FILE", help="GBNF grammar of the answer."),
    click.option("--json-schema", type=_FILE, metavar="FILE", help="JSON schema of the answer."),
)
_SAMPLING = (
    click.option("--temp", type=float, metavar="T", help="Temperature; 0 is greedy."),
    click.option("--top-k", type=int, metavar="K", help="Keep the K likeliest; 0 is off."),
    click.option("--top-p", type=float, metavar="P", help="Nucleus; 1 is off."),
    click.option("--min-p", type=float, metavar="P", help="Drop below P x the best; 0 is off."),
    click.option("--typical-p", type=float, metavar="P", help="Locally typical; 1 is off."),
    click.option("--repeat-penalty", type=float, metavar="X", help="1 is off."),
    click.option("--presence-penalty", type=float, metavar="X", help="0 is off."),
    click.option("--frequency-penalty", type=float, metavar="X", help="0 is off."),
    click.option("--seed", type=int, metavar="N", help="Default: a new one each time."),
    click.option("--reproducible", is_flag=True, help="Same seed, same text, any drafter."),
)
_OUTPUT = (
    click.option("--json", is_flag=True, help="Print one JSON object instead of the text."),
    click.option("--json-stream", is_flag=True, help="Print each event as a line of JSON."),
    click.option(
        "--logprobs", type=_COUNT, metavar="N", help="With --json: each token's, and N rivals'."
    ),
    click.option("--stats", is_flag=True, help="Speed and acceptance on stderr."),
    click.option("--explain", is_flag=True, help="What was drafted and why, on stderr."),
    click.option("--plain", is_flag=True, help="Line by line, without a full-screen UI."),
    click.option("--continue", "is_continued", is_flag=True, help="Go on with the last chat."),
    click.option("--resume", metavar="ID", help="Go on with a saved chat: edgespec history."),
    click.option("--private", "--no-history", is_flag=True, help="Save nothing of this chat."),
    click.option("--no-color", is_flag=True, help="No colours; so does NO_COLOR=1."),
    click.option("--offline", is_flag=True, help="Use no network."),
    click.option("-y", "--yes", is_flag=True, help="Download without asking."),
)


def chat_flags(function: F) -> F:
    """Give a command every flag of `Flags`, in reading order."""
    for option in reversed((*_MODELS, *PLACING, *_REQUEST, *_SAMPLING, *_OUTPUT)):
        function = option(function)
    return function


def log_flags(function: F) -> F:
    """-v and --debug, which every command has: they act at once and pass nothing on."""
    verbose = click.option(
        "-v", "--verbose", is_flag=True, expose_value=False, callback=_log_at("INFO"),
        help="Log to stderr.",
    )  # fmt: skip
    debug = click.option(
        "--debug", is_flag=True, expose_value=False, callback=_log_at("DEBUG"),
        help="Log everything; show tracebacks.",
    )  # fmt: skip
    return verbose(debug(function))


def _log_at(level: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    def act(ctx: click.Context, parameter: click.Parameter, is_set: bool) -> None:
        if is_set:
            from edgespec.cli.logs import log_to_stderr

            shared: Shared = ctx.obj
            log_to_stderr(level, shared.screen)

    return act
