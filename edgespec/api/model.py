"""`load` and the loaded model: thread-safe requests over one engine thread."""

import atexit
import logging
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Unpack, get_args

from edgespec.api.answer import Answer, Engine
from edgespec.api.arms import branches_for, built_drafters, translation_of, usable_names
from edgespec.api.drafting import AUTO, Drafting
from edgespec.api.files import find_files
from edgespec.api.kinds import check_kinds
from edgespec.api.levels import Tiers, levels_of
from edgespec.api.load import Loaded, load_pair
from edgespec.api.owner import Owner, refuse_copy
from edgespec.api.pace import PHASE, costs_under, experience_file, measured, typical
from edgespec.api.prepare import Preparer
from edgespec.api.stream import AnswerStream, AsyncAnswerStream, Job, Submit
from edgespec.api.texts import AUTO as AUTO_INDEX
from edgespec.api.texts import has_texts, learner, open_index
from edgespec.api.types import Description, DraftVocab, Loading, Options, Prompt
from edgespec.api.wishes import wishes
from edgespec.api.worker import Worker
from edgespec.control.costs import Costs
from edgespec.control.plain_speed import PlainSpeed
from edgespec.drafters import DrafterInputs, create
from edgespec.engine import heap
from edgespec.errors import Busy, Closed, UsageError
from edgespec.events import Reply
from edgespec.explanation import Explanation
from edgespec.text.memory import AnswerMemory
from edgespec.text.template import ChatTemplate, template_of
from edgespec.text.turns import encodable

_log = logging.getLogger(__name__)

MOST_THREADS = 512
"""llama.cpp's own limit; OpenMP ends the process when it cannot make its threads."""


def load(target: str | Path, **loading: Unpack[Loading]) -> "LoadedModel":
    """As `entry.load`, which imports this."""
    for name in loading:
        if name not in Loading.__annotations__:  # a type that Python itself does not check
            raise TypeError(f"load() got an unexpected keyword argument {name!r}")
    check_kinds({"target": target, **loading})
    n_ctx, n_threads = loading.get("n_ctx"), loading.get("n_threads")
    drafter = loading.get("drafter", "auto")
    progress = loading.get("progress")
    tell = progress or (lambda phase, fraction: None)
    if n_ctx is not None and n_ctx < 16:
        raise UsageError(f"a context of {n_ctx} tokens is too small", hint="give 16 or more")
    if n_threads is not None and not 1 <= n_threads <= MOST_THREADS:
        raise UsageError(
            f"{n_threads} threads cannot compute", hint=f"give 1 to {MOST_THREADS:,}, or none"
        )
    draft = None if loading.get("draft") == "off" else loading.get("draft")
    asked, workers = wishes(loading, draft=draft, drafter=drafter)
    files = find_files(target, draft, drafter, _draft_vocab(loading))
    wanted = loading.get("index", AUTO_INDEX)
    loaded = load_pair(
        files,
        n_ctx=n_ctx,
        n_threads=n_threads,
        progress=tell,
        asked=asked,
        workers=workers,
        memory_bytes=loading.get("memory_bytes"),
        max_branches=branches_for(drafter, files.target),
        has_index=has_texts(wanted),
    )
    try:
        hear = partial(tell, PHASE)
        is_measured = loading.get("measure", True)
        costs = measured(loaded, hear).live() if is_measured else typical(loaded)
        loaded = replace(
            loaded,
            retriever=open_index(wanted, drafter, files.target, loaded.target.vocab, tell),
        )
        return LoadedModel(loaded, drafter, costs, template=loading.get("template"), hear=hear)
    except BaseException:
        loaded.close()
        raise


def _draft_vocab(loading: Loading) -> DraftVocab:
    wanted = loading.get("draft_vocab", "same")
    if wanted not in get_args(DraftVocab):
        raise UsageError(f"draft_vocab cannot be {wanted!r}", hint="one of: same, intersect")
    return wanted


class LoadedModel:
    """A model ready to answer: implements `types.LanguageModel`, and the same for asyncio.

    Use it in a `with` or `async with` block, or close it. Threads may share it; processes may not.
    """

    def __init__(
        self,
        loaded: Loaded,
        drafter: str,
        costs: Costs,
        *,
        template: str | None = None,
        hear: Callable[[float], None] = lambda fraction: None,
        is_learning: bool = True,
    ) -> None:
        """Take ownership of `loaded`. `hear` is told how far a draft model's own passes are
        measured. `is_learning` False: each answer drafts as if it were the first."""
        self._loaded = loaded
        self._owner = Owner()
        vocab = loaded.target.vocab
        inputs = DrafterInputs(
            n_vocab=loaded.session.n_vocab,
            is_eog=vocab.is_eog,
            session=loaded.draft_session,
            translation=translation_of(loaded),
            costs=costs.target,
            counts_resident=costs.is_live,
            retriever=loaded.retriever,
            max_branches=loaded.session.max_branches,
        )
        if inputs.session is not None:
            levels = levels_of(loaded, costs_under(loaded, hear, is_live=costs.is_live))
            inputs = replace(inputs, under=Tiers(levels, inputs))
        usable = usable_names(
            inputs.session is not None,
            has_index=loaded.retriever is not None,
            max_branches=loaded.session.max_branches,
        )
        if drafter not in (AUTO, *usable):
            create(drafter, inputs)  # says what is missing
        drafters = built_drafters(usable, inputs, wanted=drafter)
        kept = experience_file(loaded) if costs.is_live and is_learning else None
        self._drafting = drafting = Drafting(drafters, costs, drafter, kept)
        self._note = (drafting.note or loaded.files.note) if drafter == AUTO else ""
        self._engine = Engine(
            target=loaded.session,
            vocab=vocab,
            interrupt=loaded.interrupt,
            memory=AnswerMemory(vocab),
            plain=PlainSpeed(),
            drafting=drafting,
            learn=learner(loaded.files.target),
            lock=threading.RLock(),
            reading=threading.Lock(),
        )
        self._template = _template(loaded, given=template)
        if self._template.notice:
            _log.warning("%s", self._template.notice)
        self._prepare = Preparer(
            self._engine,
            self._template,
            self._note,
            n_ctx_train=loaded.files.target.shape.n_ctx_train,
        )
        self._answers: set[Answer] = set()
        self._latest: Answer | None = None
        self._lock = threading.Lock()
        self._is_freed = threading.Event()
        self._worker = Worker(loaded.files.target_id)
        self._is_closed = False  # from here on there is something to close
        heap.give_back()  # what loading and measuring freed
        _open_models.add(self)

    @property
    def description(self) -> Description:
        """What is loaded."""
        files = self._loaded.files
        return Description(
            target=files.target_id,
            target_quant=files.target.shape.quant,
            draft=",".join((files.draft_id, *(pair.draft_id or "" for pair in files.lower)))
            if files.draft_id
            else None,
            draft_quant=files.draft.shape.quant if files.draft else "",
            drafter=self._engine.drafting.drafter,
            drafter_note=self._note,
            n_ctx=self._engine.target.n_ctx,
            backend=self._loaded.backend,
            can_think=self._template.can_think,
            memory=self._loaded.memory,
            gave_way=tuple(rung.told for rung in self._loaded.plan.rungs),
        )

    @property
    def notice(self) -> str:
        """One sentence where the model has no chat template of its own, else empty."""
        return self._template.notice

    def chat(
        self, prompt: Prompt, options: Options = Options(), *, wait: bool = True
    ) -> AnswerStream:
        """Start an answer; iterate for its events. A second one waits for the first, or raises
        `Busy` with `wait=False`.

        Raises: `ContextOverflow` and `UsageError` at once; `EngineError` where it is iterated.
        """
        answer = self._answer(prompt, options)
        return AnswerStream(answer, self._submitter(answer, wait=wait))

    def achat(
        self, prompt: Prompt, options: Options = Options(), *, wait: bool = True
    ) -> AsyncAnswerStream:
        """`chat` for asyncio; call it on the event loop's thread.

        Use it in an `async with` block: leaving a bare `async for` early cancels the answer only
        once its iterator is collected.
        """
        answer = self._answer(prompt, options)
        return AsyncAnswerStream(answer, self._submitter(answer, wait=wait))

    def complete(self, prompt: Prompt, options: Options = Options()) -> Reply:
        """The whole answer at once. Raises: as `chat`."""
        answer = self._answer(prompt, options)
        with AnswerStream(answer, self._submitter(answer, wait=True)) as stream:
            for _ in stream:
                pass
        return answer.reply

    async def acomplete(self, prompt: Prompt, options: Options = Options()) -> Reply:
        """`complete` for asyncio."""
        answer = self._answer(prompt, options)
        async with AsyncAnswerStream(answer, self._submitter(answer, wait=True)) as stream:
            async for _ in stream:
                pass
        return answer.reply

    def count(self, prompt: Prompt, options: Options = Options()) -> int:
        """Tokens of the rendered prompt."""
        _check_kind(options)
        with self._reading():
            return len(self._prepare.prompt_tokens(prompt, options).tokens)

    def explain(self) -> Explanation | None:
        """What the latest answer drafted at each step, and why; see `types.LanguageModel`."""
        latest = self._latest
        return None if latest is None else latest.explanation()

    def tokenize(self, text: str) -> list[int]:
        """Token ids of plain text, control tokens not parsed."""
        if not isinstance(text, str):
            raise UsageError(f"text is {text!r}, but must be a text")
        with self._reading():
            return self._engine.vocab.tokenize(encodable(text), parse_special=False)

    def close(self) -> None:
        """Cancel what runs and waits, join, free; idempotent. Every caller returns once it is."""
        if not self._owner.is_here:
            return  # the model is another process's
        with self._lock:
            is_first = not self._is_closed
            self._is_closed = True
            answers = tuple(self._answers)
        if not is_first:
            self._is_freed.wait()
            return
        for answer in answers:
            answer.cancel()
        self._worker.close()
        self._engine.drafting.keep()
        with self._engine.reading:
            self._loaded.close()
        self._is_freed.set()

    async def aclose(self) -> None:
        """`close` for asyncio: the event loop goes on while the running step ends."""
        import asyncio  # as in `entry`

        await asyncio.to_thread(self.close)

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True) and self._owner.is_here:
            self._is_closed = True
            # No answer can be running: its job would hold this model.
            self._worker.end(self._loaded.close)
            warnings.warn(f"{self!r} was never closed", ResourceWarning, stacklevel=1, source=self)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self)

    def __enter__(self) -> "LoadedModel":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> "LoadedModel":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Use the vocabulary and the answers' memory: nobody else does, and both are there."""
        self._owner.check()  # first: in a fork the lock may never become free
        with self._engine.reading:
            if self._is_closed:
                raise _closed()
            yield

    def _answer(self, prompt: Prompt, options: Options) -> Answer:
        _check_kind(options)
        with self._reading():
            self._latest = self._prepare.answer(prompt, options)
            return self._latest

    def _submitter(self, answer: Answer, *, wait: bool) -> Submit:
        def submit(job: Job, after: Job) -> None:
            def tracked() -> None:
                try:
                    job()
                finally:
                    with self._lock:
                        self._answers.discard(answer)

            with self._lock:
                if self._is_closed:
                    raise _closed()
                self._answers.add(answer)
                is_taken = self._worker.submit(tracked, after, only_if_idle=not wait)
                if not is_taken:
                    self._answers.discard(answer)
                    raise Busy("another answer is running", hint="wait for it, or cancel it")

        return submit


_open_models: "weakref.WeakSet[LoadedModel]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """A daemon thread inside native code while the interpreter ends would crash it."""
    for model in tuple(_open_models):
        model.close()


def _check_kind(options: object) -> None:
    if not isinstance(options, Options):
        raise UsageError(
            f"options is of type {type(options).__name__}, not edgespec.Options",
            hint="for example edgespec.Options(max_tokens=200)",
        )


def _closed() -> Closed:
    return Closed("this model was closed", hint="load it again")


def _template(loaded: Loaded, *, given: str | None) -> ChatTemplate:
    vocab = loaded.target.vocab
    return template_of(
        loaded.files.target.shape.chat_template,
        vocab.control_texts(),
        given=given,
        bos_text=_text(vocab.piece(vocab.bos, special=True)) if vocab.bos >= 0 else "",
        eos_text=_text(vocab.piece(vocab.eos, special=True)) if vocab.eos >= 0 else "",
    )


def _text(piece: bytes) -> str:
    return piece.decode("utf-8", "replace")
