"""A byte-level tokenizer with the habits of llama.cpp's, small enough to check by hand.

Control tokens are read only where asked, user-defined ones always, both longest first; text between
them is cut greedily into the longest pieces, some of which end inside a character.
"""

import re
from collections.abc import Sequence

CONTROLS = (
    "<s>",
    "</s>",
    "<|im_start|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[INST]",
    "[/INST]",
    "[THINK]",
    "[/THINK]",
    "<|channel|>",
    "<|message|>",
    "<|start|>",
    "<|end|>",
    "<｜User｜>",
    "<｜Assistant｜>",
)
USER_DEFINED = ("<think>", "</think>", "<tool_response>")
EOG = ("</s>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>")
RULE = "=" * 40
"""A piece of more than 32 bytes."""
PIECES = (
    *(
        word.encode()
        for word in ("Hello", "Hel", "lo", " wor", "ld", "\n\n", " ", "STOP", "<|", "|>")
    ),
    RULE.encode(),
    "日".encode()[:2],
    "🦙".encode()[:2],
    "🦙".encode()[2:] + b"!",
)


class FakeVocab:
    """`controls` and `user_defined` are token texts; `adds_space` is SentencePiece's habit."""

    def __init__(
        self,
        *,
        add_bos: bool = False,
        adds_space: bool = False,
        pieces: Sequence[bytes] = PIECES,
        user_defined: Sequence[str] = USER_DEFINED,
    ) -> None:
        self.add_bos = add_bos
        self.bos = 0
        self._adds_space = adds_space
        controls = (*CONTROLS, *(text for text in USER_DEFINED if text not in user_defined))
        self._controls = {text: id for id, text in enumerate(controls)}
        self._user = {text: len(controls) + i for i, text in enumerate(user_defined)}
        singles = [bytes([byte]) for byte in range(256)]
        first = len(controls) + len(user_defined)
        self._pieces = {piece: first + i for i, piece in enumerate([*pieces, *singles])}
        self._texts = {
            **{id: text.encode() for text, id in {**self._controls, **self._user}.items()}
        }
        self._texts |= {id: piece for piece, id in self._pieces.items()}
        self._longest = max(map(len, self._pieces))
        self.n_tokens = len(self._texts)

    def id(self, text: str | bytes) -> int:
        """The token of exactly this text."""
        if isinstance(text, bytes):
            return self._pieces[text]
        ids = {**self._controls, **self._user}
        return ids[text] if text in ids else self._pieces[text.encode()]

    def ids(self, *texts: str | bytes) -> list[int]:
        return [self.id(text) for text in texts]

    def piece(self, token: int, *, special: bool = False) -> bytes:
        is_control = token < len(self._controls)
        return b"" if is_control and not special else self._texts[token]

    def spelled(self, tokens: Sequence[int]) -> str:
        """All text of the tokens, control tokens included."""
        return b"".join(self.piece(token, special=True) for token in tokens).decode()

    def tokenize(self, text: str, *, parse_special: bool, add_special: bool = False) -> list[int]:
        specials = {**self._user, **(self._controls if parse_special else {})}
        pattern = "|".join(re.escape(t) for t in sorted(specials, key=len, reverse=True))
        pattern = pattern or "(?!)"
        tokens = [self.bos] if add_special and self.add_bos else []
        for i, part in enumerate(re.split(f"({pattern})", text)):
            if i % 2:
                tokens.append(specials[part])
            elif part:  # at the start of the text, or after a special token
                tokens += self._cut((" " + part if self._adds_space else part).encode())
        return tokens

    def is_eog(self, token: int) -> bool:
        return self._texts[token].decode(errors="replace") in EOG

    def control_texts(self) -> tuple[str, ...]:
        return tuple(sorted([*self._controls, *self._user], key=len, reverse=True))

    def _cut(self, data: bytes) -> list[int]:
        tokens: list[int] = []
        at = 0
        while at < len(data):
            sizes = range(self._longest, 0, -1)
            piece = next(data[at : at + n] for n in sizes if data[at : at + n] in self._pieces)
            tokens.append(self._pieces[piece])
            at += len(piece)
        return tokens
