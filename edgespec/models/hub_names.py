"""Names of files on the Hugging Face hub, in every way people write or paste them.

Grammar only: whether a repository exists is the hub's to say.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

_PART: Final = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_REPO: Final = re.compile(rf"(?P<repo>{_PART}/{_PART})(?:[:@](?P<quant>{_PART}))?")
_URI: Final = re.compile(
    rf"(?P<repo>{_PART}/{_PART})(?:@(?P<revision>[^/:]+))?(?::(?P<quant>{_PART}))?"
    r"(?:/(?P<file>.+))?"
)
_PAGE: Final = re.compile(
    rf"(?P<repo>{_PART}/{_PART})(?:/(?:resolve|blob|raw|tree)/(?P<revision>[^/]+)"
    r"(?:/(?P<file>[^?#]+))?)?/?(?:[?#].*)?"
)
_HOSTS: Final = ("https://huggingface.co/", "http://huggingface.co/", "huggingface.co/",
                 "https://hf.co/", "hf.co/")  # fmt: skip


@dataclass(frozen=True, slots=True)
class HubName:
    """A repository, and what of it."""

    repo: str
    quant: str = ""
    """Empty: the usual one."""
    file: str = ""
    """Path inside the repository, where it was named."""
    revision: str = "main"


def parse_hub_name(text: str) -> HubName | None:
    """`user/repo[:QUANT]`, `user/repo@quant`, `hf://user/repo[@revision][/file]`, a page's address.

    None where the text is nothing of the kind.
    """
    if text.startswith("hf://"):
        return _named(_URI.fullmatch(text.removeprefix("hf://")))
    for host in _HOSTS:
        if text.lower().startswith(host):
            rest = text[len(host) :]
            return _named(_REPO.fullmatch(rest) or _PAGE.fullmatch(rest))
    return _named(_REPO.fullmatch(text))


def _named(match: re.Match[str] | None) -> HubName | None:
    if match is None:
        return None
    parts = match.groupdict()
    file, revision = parts.get("file") or "", parts.get("revision") or "main"
    if match.re is not _REPO:  # as browsers write it: %20, and refs%2Fpr%2F1
        file, revision = unquote(file), unquote(revision)
    if any(part in ("", ".", "..") for part in file.split("/")) and file:
        return None
    return HubName(parts["repo"], parts.get("quant") or "", file, revision)
