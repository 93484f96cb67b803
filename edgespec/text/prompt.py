"""From messages, or plain text, to the token ids a target reads.

Owns: that nobody but the template writes control tokens, that there is one BOS where the file wants
one, and that answers are fed back in the tokens the model said them in.
"""

from dataclasses import dataclass

from edgespec.core import Vocab
from edgespec.errors import UsageError
from edgespec.text.marks import ControlTexts, Marks, Unmarked
from edgespec.text.memory import Answer, AnswerMemory
from edgespec.text.template import ChatTemplate
from edgespec.text.turns import Messages, encodable, turns_of


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """A prompt ready to be read."""

    tokens: tuple[int, ...]
    opens_reasoning: bool
    """The answer starts inside a reasoning block: for `AnswerText`."""


def prompt_tokens(
    template: ChatTemplate,
    vocab: Vocab,
    messages: Messages,
    think: bool | None = None,
    memory: AnswerMemory | None = None,
) -> PromptTokens:
    """A chat as tokens.

    Contents that spell no control token and are no remembered answer are tokenised together with
    what surrounds them, exactly as the rendered text would be.
    Raises: `UsageError` for an empty prompt or one the template refuses; `ModelFileError`.
    """
    turns = template.shaped(turns_of(messages))
    marks = Marks(turns, ControlTexts(vocab))
    safe = [marks.written(turn) for turn in turns]
    rendered = template.render(safe, think)
    prompt = marks.unmarked(rendered.text)
    known = [memory and turn.role == "assistant" and memory.find(turn.content) for turn in turns]
    if any(known):
        marked = [
            marks.said(turn) if answer else turn for turn, answer in zip(safe, known, strict=True)
        ]
        again = marks.unmarked(template.render(marked, think).text)
        if again.text == prompt.text:  # else the template reacts to marks: its text comes first
            prompt = again
    return PromptTokens(_tokens(vocab, prompt, memory), rendered.opens_reasoning)


def raw_tokens(vocab: Vocab, text: str) -> tuple[int, ...]:
    """A plain text to continue, control tokens parsed. Raises: `UsageError` for an empty one."""
    return (
        _with_bos(vocab, vocab.tokenize(encodable(text), parse_special=True)) if text else _empty()
    )


def _tokens(vocab: Vocab, prompt: Unmarked, memory: AnswerMemory | None) -> tuple[int, ...]:
    writer = _Writer(vocab, prompt)
    for start, end in prompt.said if memory else ():
        answer = memory.find(prompt.text[start:end]) if memory else None
        if answer:
            writer.put_answer(start, answer)
    writer.put_text(len(prompt.text))
    return _with_bos(vocab, writer.tokens)


def _with_bos(vocab: Vocab, tokens: list[int]) -> tuple[int, ...]:
    """Exactly one BOS where the file wants one; a template may have written it too."""
    if vocab.add_bos and vocab.bos >= 0:
        n_bos = next((i for i, token in enumerate(tokens) if token != vocab.bos), len(tokens))
        tokens = [vocab.bos, *tokens[n_bos:]]
    return tuple(tokens) or _empty()


def _empty() -> tuple[int, ...]:
    raise UsageError("the prompt is empty", hint="write something for the model to continue")


class _Writer:
    """Writes a prompt's text as tokens, from its beginning to its end."""

    def __init__(self, vocab: Vocab, prompt: Unmarked) -> None:
        self.tokens: list[int] = []
        self._vocab = vocab
        self._prompt = prompt
        self._at = 0

    def put_answer(self, start: int, answer: Answer) -> None:
        """The answer whose text, white space around it aside, starts at `start`.

        Its tokens reach as far as the prompt agrees with its text: a template may have trimmed
        it. Nothing is put, and the text stays to be tokenised, where they disagree at once.
        """
        n_lead = len(answer.text) - len(answer.text.lstrip())
        begin = start - n_lead
        if begin < self._at:
            return
        there = self._prompt.text[begin : begin + len(answer.text)]
        tokens, n_chars = answer.spelling(there)
        if n_chars:
            self.put_text(begin)
            self.tokens += tokens.tolist()
            self._at = begin + n_chars

    def put_text(self, end: int) -> None:
        """The text up to `end`: the template's control tokens parsed, a person's not."""
        for a, b in self._prompt.written:
            if self._at < b and a < end:
                self._put(max(a, self._at), is_special=True)
                self._put(min(b, end), is_special=False)
        self._put(end, is_special=True)

    def _put(self, end: int, *, is_special: bool) -> None:
        text, self._at = self._prompt.text[self._at : end], max(self._at, end)
        if text:
            self.tokens += self._tokenised(text, is_special=is_special)

    def _tokenised(self, text: str, *, is_special: bool) -> list[int]:
        """Tokens of a part. A SentencePiece vocabulary puts a space before every text it is given;
        where ordinary text goes before, that space would be one that nobody wrote."""
        vocab = self._vocab
        follows_text = bool(self.tokens) and vocab.piece(self.tokens[-1]) != b""
        if follows_text and _spelled(vocab, vocab.tokenize("a", parse_special=False)) == b" a":
            for (
                lead
            ) in "\na~":  # the space goes before a lead, unless the lead merges with the text
                ahead = vocab.tokenize(lead, parse_special=False)
                both = vocab.tokenize(lead + text, parse_special=is_special)
                if both[: len(ahead)] == ahead:
                    return both[len(ahead) :]
        return vocab.tokenize(text, parse_special=is_special)


def _spelled(vocab: Vocab, tokens: list[int]) -> bytes:
    return b"".join(vocab.piece(token) for token in tokens)
