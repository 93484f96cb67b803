"""What a repository of the hub offers: its files with sizes and hashes, in one question.

Asks through huggingface_hub, so that endpoint, token and proxies are the usual ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePosixPath

from edgespec import paths
from edgespec.errors import DownloadError, ModelNotFound
from edgespec.gguf.shards import is_shard, listed, shard_name
from edgespec.models.hub_client import (
    endpoint,
    gated,
    gist,
    is_offline,
    page_of,
    prepare,
    refusals,
)
from edgespec.models.hub_names import HubName
from edgespec.models.quants import choose, quant_of, quants_in
from edgespec.models.spec import HubSource, ModelSpec

_ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a repository."""

    name: str
    size_bytes: int | None
    sha256: str | None


@dataclass(frozen=True, slots=True)
class HubRepo:
    """A repository at one commit."""

    repo: str
    commit: str
    files: tuple[HubFile, ...]


List = Callable[[HubName], HubRepo]
"""Asks the hub. Raises: `ModelNotFound`, `DownloadError`."""


def spec_of(name: HubName, ask: List) -> ModelSpec:
    """The model that a name means, pinned to what the hub offers now.

    Raises: `ModelNotFound` with what there is instead; `DownloadError` without an answer.
    """
    found = ask_nobody(name) if is_offline() else ask(name)
    file = _file_of(name, found)
    quant = quant_of(file.name)
    id = f"{name.repo}:{quant}" if quant else name.repo
    later = _later_shards(file, found)
    shards = (_one(f"{id}#{i}", one, quant, found) for i, one in enumerate(later, 2))
    return replace(_one(id, file, quant, found), shards=tuple(shards))


def _one(id: str, file: HubFile, quant: str | None, found: HubRepo) -> ModelSpec:
    return ModelSpec(
        id=id,
        title=found.repo,
        file=PurePosixPath(file.name).name,
        quant=quant or "?",
        sources=(HubSource(found.repo, file.name, found.commit),),
        size_bytes=file.size_bytes,
        sha256=file.sha256,
    )


def _later_shards(first: HubFile, found: HubRepo) -> list[HubFile]:
    """The files that belong with the first one of a split model. Raises: `ModelNotFound`."""
    path = PurePosixPath(first.name)
    if not is_shard(path):
        return []
    stem, _, count = path.stem.rpartition("-of-")
    names = [shard_name(stem.rpartition("-")[0], i, int(count)) for i in range(1, int(count))]
    wanted = [str(path.with_name(name)) for name in names]
    by_name = {file.name: file for file in found.files}
    missing = [name for name in wanted if name not in by_name]
    if missing:
        raise ModelNotFound(
            f"{found.repo} lacks {listed(missing)}, which belong with {first.name}",
            hint="the repository is incomplete: choose another quantisation, or another repository",
        )
    return [by_name[name] for name in wanted]


def _file_of(name: HubName, found: HubRepo) -> HubFile:
    names = [file.name for file in found.files]
    wanted = name.file if name.file in names else None if name.file else choose(names, name.quant)
    if wanted is None:
        raise _nothing(name, names)
    return next(file for file in found.files if file.name == wanted)


def _nothing(name: HubName, names: list[str]) -> ModelNotFound:
    quants = quants_in(names)
    if not quants:
        return ModelNotFound(
            f"{name.repo} holds no GGUF model",
            hint=f"GGUF files are often in a repository of their own: try {name.repo}-GGUF",
        )
    if name.file:
        near = get_close_matches(name.file, names, n=2, cutoff=0.4)
        meant = f"did you mean {' or '.join(near)}?" if near else f"there are: {listed(quants)}"
        return ModelNotFound(f"{name.repo} has no file {name.file}", hint=meant)
    near = get_close_matches(name.quant.upper(), quants, n=1, cutoff=0.4) or quants[:1]
    return ModelNotFound(
        f"{name.repo} has no {name.quant}; there are: {', '.join(quants)}",
        hint=f"did you mean {name.repo}:{near[0]}?",
    )


def ask_nobody(name: HubName) -> HubRepo:
    """For offline mode. Raises: `ModelNotFound`, always."""
    raise ModelNotFound(
        f"{name.repo} is not in {paths.hub_cache()}, and offline mode forbids asking the hub",
        hint="without --offline and HF_HUB_OFFLINE it can be fetched",
    )


def ask_hub(name: HubName) -> HubRepo:
    """Ask the hub for the repository's files."""
    from huggingface_hub.errors import (
        GatedRepoError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    page = page_of(name.repo)
    try:
        prepare()
        from huggingface_hub import HfApi

        info = HfApi(endpoint=endpoint(), library_name="edgespec").model_info(
            name.repo, revision=name.revision, files_metadata=True, timeout=_ANSWER_S
        )
    except GatedRepoError as error:
        reason, hint = gated(page)
        raise DownloadError(f"{name.repo} cannot be read: {reason}", hint=hint) from error
    except RepositoryNotFoundError as error:
        raise ModelNotFound(
            f"the hub has no repository {name.repo}, or it is private",
            hint="`edgespec models` lists names; a private one needs HF_TOKEN",
        ) from error
    except RevisionNotFoundError as error:
        raise ModelNotFound(f"{name.repo} has no revision {name.revision}", hint=page) from error
    except refusals() as error:
        raise DownloadError(
            f"the hub could not be asked for {name.repo}: {gist(error)}",
            hint="check the connection; models that are here: `edgespec models ls --here`",
        ) from error
    files = (
        HubFile(one.rfilename, one.size, getattr(one.lfs, "sha256", None))
        for one in info.siblings or ()
    )
    return HubRepo(name.repo, info.sha or name.revision, tuple(files))
