"""Splits reasoning from the answer in a stream of text.

Owns: the markers models think between, and the white space around them. A block counts only at the
start of an answer, so that an answer about `<think>` tags keeps them. Knows no tokens.
"""

from enum import Enum, auto
from typing import Literal, NamedTuple

from edgespec.text.stops import first_of, tail_start

Kind = Literal["text", "reasoning"]


class _Marker(NamedTuple):
    opens: str
    closes: str
    """Empty: closes at once; the marker announces an answer without reasoning."""


_MARKERS = (
    _Marker("<think>", "</think>"),  # DeepSeek R1, Qwen3, GLM, SmolLM3, ...
    _Marker("[THINK]", "[/THINK]"),  # Magistral
    _Marker("<seed:think>", "</seed:think>"),
    _Marker("<mm:think>", "</mm:think>"),  # MiniMax M3
    _Marker("<think:opensource>", "</think:opensource>"),  # Hunyuan 3
    _Marker("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    _Marker("<|channel>thought\n", "<channel|>"),  # Gemma 4
    _Marker(  # gpt-oss
        "<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"
    ),
    _Marker("<|channel|>final<|message|>", ""),
)
_OPENS = tuple(marker.opens for marker in _MARKERS)
CLOSES = tuple(marker.closes for marker in _MARKERS if marker.closes)
_CLOSES_OF = {marker.opens: marker.closes for marker in _MARKERS}


def opens_reasoning(prompt: str) -> bool:
    """Whether the prompt ends inside a reasoning block: the answer starts with reasoning."""
    return prompt.rstrip().endswith(tuple(m.opens.rstrip() for m in _MARKERS if m.closes))


def is_marker(text: str) -> bool:
    """Whether the text opens or closes a reasoning block."""
    return text in _OPENS or text in CLOSES


def is_marker_part(text: str) -> bool:
    """Whether a control token of this text may be part of a marker."""
    return bool(text) and any(text in marker.opens or text in marker.closes for marker in _MARKERS)


class _At(Enum):
    START = auto()
    REASONING = auto()
    GAP = auto()
    """Between a closed block and the answer's first line."""
    ANSWER = auto()


class ReasoningSplitter:
    """A stream of text in, runs of reasoning and answer out.

    `is_open`: the prompt opened the block. A block that is never closed is reasoning to the end.
    Outside the white space around a block every character comes out once, in order.
    """

    def __init__(self, *, is_open: bool = False) -> None:
        self.has_reasoned = is_open
        """A block was seen."""
        self._at = _At.START
        self._is_open = is_open
        self._closes = CLOSES
        self._held = ""
        self._has_begun = False

    @property
    def is_settled(self) -> bool:
        """No text is held back that may be shown later (blank lines before an answer aside)."""
        return not self._held or self._at is _At.GAP

    @property
    def is_answering(self) -> bool:
        """The answer has begun; from here text passes through untouched."""
        return self._at is _At.ANSWER

    def feed(self, text: str) -> list[tuple[Kind, str]]:
        """Runs that are certain by now."""
        out: list[tuple[Kind, str]] = []
        self._held += text
        while True:
            before = self._at
            run = self._advance()
            if run[1]:
                out.append(run)
            if self._at is before:
                return out

    def flush(self) -> list[tuple[Kind, str]]:
        """The end: what was held back is neither marker nor border any more."""
        held, self._held = self._held, ""
        if self._at is _At.GAP:
            return []
        is_reasoning = self._at is _At.REASONING or self._is_open
        run: tuple[Kind, str] = ("reasoning", held.strip()) if is_reasoning else ("text", held)
        if is_reasoning and self._has_begun:
            run = ("reasoning", held.rstrip())
        return [run] if run[1] else []

    def _advance(self) -> tuple[Kind, str]:
        match self._at:
            case _At.START:
                return self._start()
            case _At.REASONING:
                return self._reason()
            case _At.GAP:
                return self._gap()
            case _At.ANSWER:
                text, self._held = self._held, ""
                return "text", text

    def _start(self) -> tuple[Kind, str]:
        text = self._held.lstrip()
        opens = max((o for o in _OPENS if text.startswith(o)), key=len, default="")
        if opens:
            self._held, self.has_reasoned = text[len(opens) :], True
            self._at = _At.REASONING
            self._closes = (_CLOSES_OF[opens],)
        elif all(not o.startswith(text) for o in _OPENS):  # the empty text starts every marker
            self._at = _At.REASONING if self._is_open else _At.ANSWER
        return "text", ""

    def _reason(self) -> tuple[Kind, str]:
        found = first_of(self._held, self._closes)
        if found:
            end, self._at = found[0], _At.GAP
            text, rest = self._held[:end].rstrip(), self._held[end + len(found[1]) :]
        else:
            # White space before a closing marker goes; before anything else it stays.
            end = len(self._held[: tail_start(self._held, self._closes)].rstrip())
            text, rest = self._held[:end], self._held[end:]
        if not self._has_begun:
            text = text.lstrip()
            self._has_begun = bool(text)
        self._held = rest
        return "reasoning", text

    def _gap(self) -> tuple[Kind, str]:
        text = self._held.lstrip()
        if text:  # blank lines go, the first line keeps its indentation
            space = self._held[: len(self._held) - len(text)]
            self._held = space[space.rfind("\n") + 1 :] + text
            self._at = _At.ANSWER
        return "text", ""
