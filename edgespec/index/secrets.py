"""What looks like a secret and is therefore never indexed: an index replays what it holds.

Names and texts only; a match says which kind, never what. A file too many left out costs some
drafts, so what is in doubt counts as a secret where it stands behind a name like "password".
"""

import re
from fnmatch import fnmatch

_NAMES = (
    ".env*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx", "*.keystore", "*.jks", "*.asc",
    "*.ppk", "*.ovpn", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc",
    ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg", ".s3cfg", ".boto",
    ".vault_pass*", ".vault-token", ".git-credentials", "credentials", "credentials.*",
    "client_secret*.json", "service*account*.json", "kubeconfig*", "secrets.json", "secrets.y*ml",
    "secrets.toml", "secrets.ini", "secrets.txt", "password.*", "passwords.*", "*.tfstate*",
    "*.tfvars", ".*_history",
)  # fmt: skip
_CALLED = (
    r"(?:passwd|password|passphrase|secret(?:[_-]?access)?(?:[_-]?key)?|token"
    r"|(?:api|access|private|auth|encryption|account)[_-]?key)"
)
"""Ends the name of a password, as in `DB_PASSWORD` and `clientSecret`."""
_QUOTED = r"[\"'](?![<${(%])(?=[^\s\"']*\d)[^\s\"']{12,}[\"']"
_MOST = 512
"""Characters of a password: where a line has megabytes, each "token=" in it would otherwise be read
to the line's end."""
_MIXED = r"(?=[^\s\d]{0,64}+\d)(?=[^\sa-z]{0,64}+[a-z])"
_BARE = rf"{_MIXED}[\w.+/=!@#^&*~-]{{12,{_MOST}}}+[ \t]*$"
_NO_NAME = rf"{_MIXED}[a-z0-9+/=!@#^&*~-]{{12,{_MOST}}}+[ \t]*$"
"""What no other variable can be called, so that an assignment of one is not taken for it."""
_KINDS: dict[str, tuple[str, str]] = {
    "a private key": (
        "private key|putty-user-key-file|age-secret-key-1|client-key-data",
        r"-----BEGIN [A-Z ]*PRIVATE KEY|PuTTY-User-Key-File-\d|AGE-SECRET-KEY-1[0-9A-Z]{20}"
        r"|client-key-data:\s*[\w+/]{20}",
    ),
    "an access key": ("akia|asia", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "an access token": (
        "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|xox|hf_|pypi-|npm_|sk-|aiza|k_live_|k_test_"
        "|shpat_|shpss_|dop_v1_|ya29.|gocspx-|sg.|:aa|hooks.slack.com",
        r"\b(?:gh[pousr]_\w{30,}|github_pat_\w{40,}|glpat-[\w-]{20,}|xox[abprs]-[\w-]{10,}"
        r"|hf_\w{30,}|pypi-\w{40,}|npm_\w{30,}|sk-(?=[a-zA-Z_-]{0,200}+\d)[\w-]{20,}|AIza[\w-]{35}"
        r"|[rs]k_(?:live|test)_\w{16,}|shp(?:at|ss)_\w{30,}|dop_v1_\w{40,}|ya29\.[\w-]{20,}"
        r"|GOCSPX-[\w-]{20,}|SG\.[\w-]{20,}\.[\w-]{30,}|\d{8,10}:AA[\w-]{30,}"
        r"|hooks\.slack\.com/services/\w+/\w+/\w+)",
    ),
    "a token": (".eyj", r"\beyJ[\w-]{15,2000}\.eyJ[\w-]{15,}\.[\w-]{15,}"),
}
"""What each has in it, in small letters, any of; and what it looks like, for texts that do: most
do not, and looking for a piece is a hundred times as fast."""
_PATTERNS = tuple(
    (kind, tuple(pieces.split("|")), re.compile(pattern))
    for kind, (pieces, pattern) in _KINDS.items()
)
_PASSWORD = re.compile(
    rf"{_CALLED}(?:[\"']?\s*(?:[:=]|=>)\s*{_QUOTED}|[\"']\s*,\s*{_QUOTED}"
    rf"|(?::[ \t]+|=){_BARE}|[ \t]*=[ \t]*{_NO_NAME})"
    r"|authorization[\"']?\s*[:=,]\s*[\"']?(?:bearer|basic|token)\s+(?=\S*\d)[\w.+/=~-]{16,}"
    r"|://[^\s/:@\"']{0,64}:(?=[^\s/@]*\d)[^\s/@\"'<>${}]{6,}@",
    re.MULTILINE,
)
"""Of a text in small letters, which is searched several times as fast as in any."""


def secret_name(name: str) -> bool:
    """Whether files called `name` mostly hold secrets."""
    return any(fnmatch(name.lower(), pattern) for pattern in _NAMES)


def secret_in(text: str) -> str | None:
    """What kind of secret `text` seems to hold; None: none."""
    small = text.lower()
    for kind, pieces, pattern in _PATTERNS:
        if any(piece in small for piece in pieces) and pattern.search(text):
            return kind
    return "a password" if _PASSWORD.search(small) else None
