"""What looks like a secret and is therefore never indexed: an index replays what it holds.

Names and texts only; a match says which kind, never what.
"""

import re
from fnmatch import fnmatch

_NAMES = (
    ".env*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx", "*.keystore", "*.jks", "*.asc",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", ".npmrc", ".pypirc", ".pgpass",
    ".htpasswd", "credentials", "credentials.*", "secrets.json", "secrets.y*ml", "secrets.toml",
    "secrets.ini", "secrets.txt", "*.tfstate*", ".git-credentials",
)  # fmt: skip
_TEXTS = {
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY",
    "an access key": r"\b(AKIA|ASIA)[0-9A-Z]{16}\b",
    "an access token": (
        r"\b(gh[pousr]_\w{30,}|github_pat_\w{40,}|glpat-[\w-]{20,}|xox[abprs]-[\w-]{10,}"
        r"|hf_\w{30,}|pypi-\w{40,}|npm_\w{30,}|sk-[\w-]{20,}|AIza[\w-]{35})"
    ),
    "a token": r"\beyJ[\w-]{15,}\.eyJ[\w-]{15,}\.[\w-]{15,}",
    "a password": (
        r"(?i:\b(password|passwd|secret|api_?key|access_?token|auth_?token))"
        r"[\"']?\s*[:=]\s*[\"'](?=\S*\d)[^\s\"']{12,}[\"']"
    ),
}
_PATTERN = re.compile("|".join(f"(?P<k{i}>{text})" for i, text in enumerate(_TEXTS.values())))


def secret_name(name: str) -> bool:
    """Whether files called `name` mostly hold secrets."""
    return any(fnmatch(name.lower(), pattern) for pattern in _NAMES)


def secret_in(text: str) -> str | None:
    """What kind of secret `text` seems to hold; None: none."""
    found = _PATTERN.search(text)
    if found is None:
        return None
    groups = found.groupdict()
    return next(kind for i, kind in enumerate(_TEXTS) if groups[f"k{i}"] is not None)
