"""What a file is that is not GGUF, told by its first bytes."""

from typing import Final

from edgespec.gguf.part import AGAIN

_CONVERT: Final = "convert it with llama.cpp's convert_hf_to_gguf.py, or get the GGUF file"
_OLD: Final = "get a GGUF file of this model; this format was given up in 2023"
_KINDS: Final[tuple[tuple[tuple[bytes, ...], str, str], ...]] = (
    (
        (b"<!doctype", b"<html", b"<?xml", b"<head"),
        "is a web page, not a model: the download saved the page instead of the file",
        "use the link of the file itself (on a hub, the one with /resolve/ in it)",
    ),
    (
        (b"version https://git-lfs",),
        "is a Git LFS pointer, not the model: only the reference was cloned",
        "run: git lfs pull",
    ),
    ((b"{", b"["), "is JSON text, not a model: often the error message of a download", AGAIN),
    ((b"pk\x03\x04", b"\x80\x02"), "is a PyTorch or zip file, not GGUF", _CONVERT),
    ((b"lmgg", b"fmgg", b"tjgg", b"algg"), "is in the old GGML format, not GGUF", _OLD),
    ((b"\x1f\x8b", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd", b"bzh", b"\xfd7zxz"),
     "is a compressed archive, not GGUF", "unpack it first"),
)  # fmt: skip


def alien(start: bytes) -> tuple[str, str]:
    """What a file with this start "is", and the hint."""
    head = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for starts, what, hint in _KINDS:
        if head.startswith(starts):
            return what, hint
    if start[8:10] == b'{"':
        return "is in the safetensors format, not GGUF", _CONVERT
    if not start.strip(b"\0"):
        return "is not GGUF: it begins with zeros, as a download does that never ran", AGAIN
    return f"is not GGUF: it begins with {_readable(start[:4])} instead of 'GGUF'", AGAIN


def _readable(start: bytes) -> str:
    """The first bytes as a person reads them: letters where they are letters, else numbers."""
    text = start.decode("ascii", "replace")
    return f"'{text}'" if text.isascii() and text.isprintable() else f"the bytes {start.hex(' ')}"
