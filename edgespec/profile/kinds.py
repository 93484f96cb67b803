"""What kind of text a passage is, as far as it matters to drafting: by its looks alone."""

import re

KINDS = ("repeats its prompt", "code", "data", "log", "prose")
_SUFFIXES = {
    "code": (
        ".py .pyi .js .ts .tsx .jsx .c .h .cc .cpp .hpp .rs .go .java .kt .swift .rb .php .cs .lua "
        ".sh .sql .html .css .scala .r .jl .zig"
    ),
    "data": ".json .jsonl .csv .tsv .yaml .yml .toml .xml .ini",
    "log": ".log",
    "prose": ".md .rst .txt .tex .org",
}
_BY_SUFFIX = {suffix: kind for kind, text in _SUFFIXES.items() for suffix in text.split()}
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_STAMPED = re.compile(r"^\[?\d{2,4}[-/:.]\d{2}[-/:.]\d{2}", re.MULTILINE)
_NGRAM = 24
"""Characters that hardly repeat by chance."""
_MUCH = 0.4


def kind_of(text: str, *, before: str = "", suffix: str = "") -> str:
    """One of `KINDS`. `before`: what the text answers; `suffix`: its file's."""
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if before and _share_repeated(text, before) > _MUCH:
        return "repeats its prompt"
    if sum(map(len, _FENCED.findall(text))) > _MUCH * len(text):
        return "code"
    stripped = text.strip()
    if stripped[:1] in ("{", "[") and stripped[-1:] in ("}", "]"):
        return "data"
    n_lines = stripped.count("\n") + 1
    if n_lines > 3 and len(_STAMPED.findall(text)) > _MUCH * n_lines:
        return "log"
    return "prose"


def _share_repeated(text: str, before: str) -> float:
    """How much of a text stands in the other, in pieces of `_NGRAM` characters."""
    flat, known = " ".join(text.split()), " ".join(before.split())
    pieces = [flat[i : i + _NGRAM] for i in range(0, len(flat) - _NGRAM, _NGRAM // 2)]
    return sum(piece in known for piece in pieces) / len(pieces) if pieces else 0.0
