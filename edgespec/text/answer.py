"""One answer's path from tokens to events: characters, then reasoning, then stop strings.

Stop strings are searched in the answer, not in the reasoning: a model that only thinks of one is
not cut off. Knows nothing of the loop; `Source` and p_draft are passed through.
"""

from collections import deque
from collections.abc import Sequence

from edgespec.core import Vocab
from edgespec.events import Delta, Source, TokenText
from edgespec.text.detokenise import Detokeniser
from edgespec.text.reasoning import Kind, ReasoningSplitter, is_marker_part
from edgespec.text.stops import StopFinder

Fed = tuple[int, Source, float | None]
"""A token, where it came from, how likely its drafter found it."""


class AnswerText:
    """Fed the committed tokens of one answer, gives its text as deltas.

    Held-back text belongs to the token that completes it; tokens without text of their own ride
    with the next delta, and a token comes twice only where its text is shown in two parts.
    `is_raw`: a continuation of plain text, where nothing is reasoning.
    """

    def __init__(
        self,
        vocab: Vocab,
        stops: Sequence[str] = (),
        *,
        opens_reasoning: bool = False,
        is_raw: bool = False,
    ) -> None:
        self._vocab = vocab
        self._characters = Detokeniser(vocab)
        self._splitter = None if is_raw else ReasoningSplitter(is_open=opens_reasoning)
        self._stops = StopFinder(stops)
        self._shown: dict[Kind, list[str]] = {"text": [], "reasoning": []}
        self._waiting: list[Fed] = []
        self._last: Fed | None = None
        self._tokens: list[int] = []
        self._n_searched = 0  # characters of the answer given to the stop finder
        self._n_answered = 0  # characters of the answer shown
        self._ends: deque[tuple[int, int]] = deque()  # (tokens fed, characters searched by then)
        self._n_before = 0  # tokens before the answer's own: reasoning and its markers
        self._n_kept = 0

    def feed(self, token: int, source: Source, p_draft: float | None = None) -> list[Delta]:
        """What may be shown after `token`; nothing after a stop string."""
        if self._stops.is_stopped:
            return []
        self._last = (token, source, p_draft)
        self._waiting.append(self._last)
        if not self._vocab.is_eog(token):
            self._tokens.append(token)
            text = self._characters.feed(token, special=self._is_marker(token))
            runs = self._searched(self._split(text))
            self._note_end()
            return self._deltas(runs)
        return []

    def finish(self) -> list[Delta]:
        """The end of the answer: what was held back, unless a stop string cut it."""
        if self.is_stopped:
            return []
        runs = self._split(self._characters.flush())
        if self._splitter:
            runs += self._splitter.flush()
        runs = self._searched(runs)
        rest, is_cut = self._stops.flush()
        if rest:
            self._n_answered += len(rest)
            runs.append(("text", rest))
        if is_cut:
            self._keep()
        else:
            self._n_kept = len(self._tokens)
        return self._deltas(runs)

    @property
    def is_stopped(self) -> bool:
        """A stop string ended the answer."""
        return self._stops.is_stopped

    @property
    def text(self) -> str:
        """The answer shown so far, without reasoning."""
        return "".join(self._shown["text"])

    @property
    def reasoning(self) -> str:
        """The reasoning shown so far."""
        return "".join(self._shown["reasoning"])

    @property
    def tokens_kept(self) -> int:
        """How many leading tokens, ends of generation aside, were shown to their last byte.

        After a stop string: the tokens before it; the one it begins in is not counted.
        """
        return self._n_kept

    @property
    def answer_tokens(self) -> tuple[int, ...]:
        """The kept tokens of `text`, without reasoning: what `AnswerMemory.remember` wants."""
        return tuple(self._tokens[self._n_before : self._n_kept])

    def _is_marker(self, token: int) -> bool:
        """Whether a control token, silent otherwise, must be seen by the splitter."""
        if self._splitter is None or self._vocab.piece(token):
            return False
        shown = self._vocab.piece(token, special=True)
        return is_marker_part(shown.decode(errors="replace"))

    def _split(self, text: str) -> list[tuple[Kind, str]]:
        if self._splitter is None:
            return [("text", text)]
        runs = self._splitter.feed(text)
        if self._splitter.is_answering:
            self._splitter = None  # from here on text passes through it untouched
        return runs

    def _searched(self, runs: list[tuple[Kind, str]]) -> list[tuple[Kind, str]]:
        shown: list[tuple[Kind, str]] = []
        for kind, text in runs:
            if kind == "text":
                self._n_searched += len(text)
                text, _ = self._stops.feed(text)
                self._n_answered += len(text)
            if text:
                shown.append((kind, text))
        return shown

    def _note_end(self) -> None:
        is_settled = self._splitter is None or self._splitter.is_settled
        if self._characters.is_whole and is_settled:
            self._ends.append((len(self._tokens), self._n_searched))
            if self._splitter and self._splitter.has_reasoned and not self._n_searched:
                self._n_before = len(self._tokens)
        self._keep()

    def _keep(self) -> None:
        while self._ends and self._ends[0][1] <= self._n_answered:
            self._n_kept = self._ends.popleft()[0]

    def _deltas(self, runs: list[tuple[Kind, str]]) -> list[Delta]:
        deltas: list[Delta] = []
        for kind, text in runs:
            assert self._last is not None, f"text without a token: {text!r}"
            *silent, (token, source, p_draft) = self._waiting or [self._last]
            texts = [TokenText(id, "", of, p) for id, of, p in silent]
            deltas.append(Delta(kind, text, (*texts, TokenText(token, text, source, p_draft))))
            self._shown[kind].append(text)
            self._waiting.clear()
        return deltas
