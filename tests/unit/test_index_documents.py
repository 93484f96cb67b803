"""Which files become documents, and why the others do not."""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgespec.errors import UsageError
from edgespec.index.documents import MOST_BYTES, Document, LeftOut, documents
from edgespec.index.secrets import secret_in, secret_name


def read(*paths: Path) -> dict[str, str]:
    """Name to text, or to the reason for leaving it out."""
    return {
        Path(found.path).name: found.text if isinstance(found, Document) else f"- {found.reason}"
        for found in documents(list(paths))
    }


def test_folder_gives_its_text_files(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "a.py").write_text("print()")
    (tmp_path / "deep" / "er" / "b.md").write_text("# Título ☂", encoding="utf-8")

    assert read(tmp_path) == {"a.py": "print()", "b.md": "# Título ☂"}


def test_what_is_no_text_is_left_out_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(b"\x89PNG\xff")
    (tmp_path / "nul.txt").write_bytes(b"a\0b")
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "big.txt").write_bytes(b"x" * (MOST_BYTES + 1))

    told = read(tmp_path)

    assert told["image.png"] == "- it is not text in UTF-8"
    assert told["nul.txt"] == "- it is not text"
    assert told["empty.txt"] == "- it is empty"
    assert told["big.txt"].startswith("- it has 4,194,305 bytes, more than")


def test_what_git_ignores_is_left_out(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("build/\n*.log\n!keep.log\n")
    (tmp_path / "build").mkdir()
    for name in ("build/out.txt", "noise.log", "keep.log", "source.py"):
        (tmp_path / name).write_text(f"this is {name}")

    assert set(read(tmp_path)) == {".gitignore", "keep.log", "source.py"}


def test_folder_inside_a_repository_obeys_it_too(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "sub").mkdir()
    for name in ("noise.log", "source.py"):
        (tmp_path / "sub" / name).write_text("text")

    assert set(read(tmp_path / "sub")) == {"source.py"}


def test_file_that_was_named_is_taken_though_git_ignores_it(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "noise.log").write_text("text")

    assert read(tmp_path / "noise.log") == {"noise.log": "text"}


def test_repository_without_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", "")

    with pytest.raises(UsageError, match="git is not installed"):
        read(tmp_path)


def test_file_is_read_once_though_it_is_named_twice(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")

    found = list(documents([tmp_path, tmp_path / "a.txt"]))

    assert len(found) == 1


def test_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "loop").symlink_to(tmp_path)

    assert read(tmp_path) == {"a.txt": "text"}


def test_link_to_a_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("not meant")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("text")
    (tmp_path / "mine" / "b.txt").symlink_to(tmp_path / "elsewhere")

    told = read(tmp_path / "mine")

    assert told == {"a.txt": "text", "b.txt": "- it is a link; name the file itself"}


def test_link_that_git_keeps_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    (tmp_path / "elsewhere").write_text("not meant")
    (tmp_path / "repo" / "b.txt").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "repo" / "folder").symlink_to(tmp_path)

    assert read(tmp_path / "repo") == {"b.txt": "- it is a link; name the file itself"}


def test_link_that_was_named_is_judged_by_both_names(tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text("text")
    (tmp_path / "plain.txt").write_text("words")
    (tmp_path / "notes.txt").symlink_to(tmp_path / "id_rsa")
    (tmp_path / "other.txt").symlink_to(tmp_path / "plain.txt")

    told = read(tmp_path / "notes.txt", tmp_path / "other.txt")

    assert told["notes.txt"].startswith("- files of this name")
    assert told["other.txt"] == "words"


def test_link_to_a_folder_that_was_named_obeys_the_repository_behind_it(tmp_path: Path) -> None:
    (tmp_path / "repo" / "sub").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    (tmp_path / "repo" / ".gitignore").write_text("*.log\n")
    for name in ("noise.log", "source.py"):
        (tmp_path / "repo" / "sub" / name).write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "repo" / "sub")

    assert set(read(tmp_path / "link")) == {"source.py"}


def test_repository_is_the_folders_own_whatever_git_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "other"):
        subprocess.run(["git", "init", "-q", str(tmp_path / name)], check=True)
    (tmp_path / "mine" / ".gitignore").write_text("*.log\n")
    (tmp_path / "mine" / "noise.log").write_text("text")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))

    assert set(read(tmp_path / "mine")) == {".gitignore"}


def test_repository_within_a_repository_is_read_by_its_own_rules(tmp_path: Path) -> None:
    for folder, ignored in ((tmp_path, "*.log"), (tmp_path / "inner", "*.tmp")):
        folder.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        (folder / ".gitignore").write_text(ignored)
        for name in (f"{folder.name}.log", f"{folder.name}.tmp", f"{folder.name}.py"):
            (folder / name).write_text("text")

    told = set(read(tmp_path)) - {".gitignore"}

    outer = tmp_path.name
    assert told == {f"{outer}.tmp", f"{outer}.py", "inner.log", "inner.py"}


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def with_submodule(tmp_path: Path) -> Path:
    """A repository that keeps the folder `inner` as a submodule."""
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "a.txt").write_text("text")
    (inner / "b.txt").write_text("text")
    for folder in (inner, tmp_path):
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "first")
    return tmp_path


def test_submodule_is_read(with_submodule: Path) -> None:
    assert read(with_submodule) == {"a.txt": "text", "b.txt": "text"}


@pytest.mark.parametrize("is_empty", [True, False])
def test_submodule_without_its_repository_is_left_out(
    with_submodule: Path, *, is_empty: bool
) -> None:
    inner = with_submodule / "inner"
    shutil.rmtree(inner if is_empty else inner / ".git")
    inner.mkdir(exist_ok=True)

    told = read(with_submodule)

    assert told["a.txt"] == "text"
    assert "its repository is not there" in told["inner"]
    with pytest.raises(UsageError, match="its repository is not there"):
        read(inner)


def test_broken_repository_costs_its_own_files_unless_it_was_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / ".git").write_text("gitdir: nowhere")
    (tmp_path / "z.txt").write_text("text")

    told = read(tmp_path)

    assert told["z.txt"] == "text"
    assert told["broken"].startswith("- git cannot list it: not a git repository")
    with pytest.raises(UsageError, match="git cannot list"):
        read(broken)


def test_repository_cannot_make_git_run_a_program(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    program = tmp_path / ".git" / "watch"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran.txt\n")
    program.chmod(0o700)
    config = ["config", "core.fsmonitor", str(program)]
    subprocess.run(["git", "-C", str(tmp_path), *config], check=True)
    (tmp_path / "a.txt").write_text("text")

    assert read(tmp_path) == {"a.txt": "text"}
    assert not (tmp_path / "ran.txt").exists()


def test_what_is_neither_file_nor_folder_is_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert read(tmp_path / "pipe") == {"pipe": "- it is neither a file nor a folder"}


def test_folder_that_cannot_be_listed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "a.txt").write_text("text")
    listed = Path.iterdir

    def refused(folder: Path) -> Iterator[Path]:
        if folder.name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", refused)

    assert read(tmp_path) == {
        "a.txt": "text",
        "closed": "- it cannot be read: Permission denied",
    }


def test_missing_path_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        read(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc", "a private key"),
        ("aws = AKIAIOSFODNN7EXAMPLE", "an access key"),
        ("token ghp_0123456789abcdefghijklmnopqrstuvwxyz", "an access token"),
        ("eyJhbGciOiJIUzI1NiIsI.eyJzdWIiOiIxMjM0NTY3.SflKxwRJSMeKKF2QT4fw", "a token"),
        ('password = "hunter2hunter2"', "a password"),
        ("API_KEY: '0123456789abcdef'", "a password"),
        ('DB_PASSWORD = "hunter2hunter2"', "a password"),
        ("define('DB_PASSWORD', 'hunter2hunter2');", "a password"),
        ('{"client_secret": "0123456789abcdef"}', "a password"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "a password"),
        ("export GITHUB_TOKEN=0123456789abcdef01234567", "a password"),
        ("smtp:\n  password: hunter2hunter2\n", "a password"),
        ("Authorization: Bearer 0123456789abcdef0123456789", "a password"),
        ("postgres://anna:hunter2hunter2@db.example.org/shop", "a password"),
        ("PuTTY-User-Key-File-3: ssh-ed25519", "a private key"),
        ("AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ", "a private key"),
        ("client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo", "a private key"),
        ("stripe sk_live_0123456789abcdefghijklmn", "an access token"),
        ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXX", "an access token"),
        ("bot 123456789:AAE0123456789abcdefghijklmnopqrstuv", "an access token"),
        ("GOCSPX-0123456789abcdefghijklmnopqr", "an access token"),
        (
            "SG.0123456789abcdefghijkl.0123456789abcdefghijklmnopqrstuvwxyz0123456",
            "an access token",
        ),
    ],
)
def test_secret_is_seen(text: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"before\n{text}\nafter")

    assert secret_in(f"before {text}") == kind
    assert list(documents([tmp_path])) == [
        LeftOut(str(tmp_path / "a.txt"), f"it seems to hold {kind}")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "password = getpass()",
        'api_key = os.environ["API_KEY"]',
        "the secret: 'patience and practice'",
        "def test_token(token: str) -> None: ...",
        "token = tokenizer.next_token_of(text_2)",
        "self.password = password_from_1st_prompt(user)",
        "password: str | None = None",
        "max_tokens: 4096, token_count=1234567890123",
        "secret_name = secrets.name_of_file_2(path)",
        "https://user@example.org/path and postgres://localhost:5432/shop",
        "sk-learn and ask-me-anything-about-this-topic are words",
        "Authorization: Bearer <token>",
        "password: ${DB_PASSWORD_OF_2024}",
        "PASSWORD=$(cat /run/secrets/db1)",
        "sha256: 0123456789abcdef0123456789abcdef",
        "the token: abcdefghijklmnopqrstuvwxyz",
    ],
)
def test_ordinary_code_is_no_secret(text: str) -> None:
    assert secret_in(text) is None


@pytest.mark.parametrize("piece", ["token=", "token=a;b+c,", "sk-a", "eyJ-.eyJ"])
def test_huge_line_is_looked_through_once_and_not_for_each_piece_in_it(piece: str) -> None:
    assert secret_in(piece * (200_000 // len(piece))) is None


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        "prod.env",
        "id_rsa",
        "server.pem",
        ".npmrc",
        ".dockercfg",
        "a.ppk",
        ".vault_pass",
        "client_secret_1.json",
        "service-account-key.json",
        ".s3cfg",
        ".boto",
        ".my.cnf",
        "kubeconfig",
        ".bash_history",
        "passwords.csv",
        "a.ovpn",
    ],
)
def test_names_that_hold_secrets_are_left_out(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("text")

    assert secret_name(name)
    assert read(tmp_path)[name].startswith("- files of this name")
