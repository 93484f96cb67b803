"""What a person may type for a model: a name of the catalogue, the hub, another program; a path.

Resolves names only: what a path means is `gguf.find`'s question, whether a catalogue model is on
disk `edgespec.store`'s. Asks the network for nothing but the files of a repository that is named
and not here.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from edgespec.errors import ModelNotFound, UsageError
from edgespec.gguf.find import located
from edgespec.models.catalogue import Catalogue
from edgespec.models.folders import Found
from edgespec.models.hub_cache import find_hub_cache
from edgespec.models.hub_listing import List, ask_hub, spec_of
from edgespec.models.hub_names import HubName, parse_hub_name
from edgespec.models.lmstudio import find_lmstudio
from edgespec.models.ollama import find_ollama
from edgespec.models.other_programs import all_found
from edgespec.models.quants import same_quant
from edgespec.models.spec import HubSource, ModelSpec
from edgespec.paths import expanded

_OLLAMA = ("ollama://", "ollama:")
_LMSTUDIO = ("lmstudio://", "lmstudio:", "lm-studio:")


@dataclass(frozen=True, slots=True)
class Resolved:
    """The model that a name means."""

    model: ModelSpec | Path
    """A catalogue entry, a file of the hub, or an existing GGUF file (the first of its shards)."""
    notice: str = ""
    """One line for the person when the name was not taken literally; else empty."""
    label: str = ""
    """What to call a file whose own name says nothing, as Ollama's do."""

    @property
    def name(self) -> str:
        """Catalogue id, label or file name, for display."""
        if isinstance(self.model, ModelSpec):
            return self.model.id
        return self.label or self.model.name


def resolve(text: str, catalogue: Catalogue, *, ask: List = ask_hub) -> Resolved:
    """The model that `text` means.

    `id[:QUANT]` or `id@quant` of the catalogue; `user/repo[:QUANT]`, `hf://user/repo[/file]` or the
    address of a page of the hub; a model of Ollama or LM Studio on this machine; a file or a
    folder. What is on this machine comes before the network.

    Raises: `ModelNotFound` with what there is instead; `ModelFileError` where shards are missing;
    `DownloadError` where the hub gives no answer.
    """
    text = text.strip()
    if not text:
        raise ModelNotFound("the model's name is empty", hint="`edgespec models` lists all names")
    if (named := _of_program(text)) is not None:
        return named
    if _is_path(text):
        return Resolved(*located(expanded(text)))
    if (hub := parse_hub_name(text)) is not None:
        return _of_hub(text, hub, catalogue, ask)
    if "://" in text:
        raise ModelNotFound(
            f"{text} is no address of a model that can be fetched",
            hint="hf://user/repo, user/repo:QUANT or the path of a file are understood",
        )
    if _looks_like_path(text):
        return Resolved(*located(expanded(text)))
    return _of_catalogue(text, catalogue)


def check_answers(spec: ModelSpec) -> None:
    """Raises: `UsageError` for a head, which drafts and cannot answer by itself."""
    if spec.kind == "head":
        raise UsageError(
            f"{spec.id} is a draft head inside another model, not a model by itself",
            hint="edgespec models shows which models can be used",
        )


def _of_program(text: str) -> Resolved | None:
    """A name that says whose it is. Raises: `ModelNotFound` with the names there are."""
    for prefixes, program in ((_OLLAMA, "Ollama"), (_LMSTUDIO, "LM Studio")):
        for prefix in prefixes:
            if text.lower().startswith(prefix):
                name = text[len(prefix) :].lstrip("/")
                found = find_ollama(name) if program == "Ollama" else find_lmstudio(*_split(name))
                if found is None:
                    raise _program_lacks(program, name)
                return _here(found)
    return None


def _program_lacks(program: str, name: str) -> ModelNotFound:
    names = [found.name for found in all_found() if found.program == program]
    near = get_close_matches(name, names, n=3, cutoff=0.4)
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif names:
        hint = f"it has: {', '.join(names[:5])}"
    else:
        hint = f"no model of {program} was found; `edgespec models ls` shows what is here"
    return ModelNotFound(f"{program} has no model {name!r} on this machine", hint=hint)


def _of_hub(text: str, hub: HubName, catalogue: Catalogue, ask: List) -> Resolved:
    """A file of a repository: pinned by the catalogue, in a cache, or offered by the hub."""
    for spec in catalogue:
        if _is_entry(spec, hub):
            return Resolved(spec, f"{text} is {spec.id} of the catalogue")
    found = find_hub_cache(hub.repo, hub.quant, hub.file, hub.revision)
    if found is None and not hub.file and hub.revision == "main":
        found = find_lmstudio(hub.repo, hub.quant) or find_ollama(text)
    if found is not None:
        return _here(found)
    return Resolved(spec_of(hub, ask))


def _is_entry(spec: ModelSpec, hub: HubName) -> bool:
    if hub.revision != "main":
        return False
    sources = [source for source in spec.sources if isinstance(source, HubSource)]
    is_quant = same_quant(spec.quant, hub.quant) if hub.quant else spec.kind == "model"
    return any(
        source.repo.lower() == hub.repo.lower()
        and (source.file == hub.file if hub.file else is_quant)
        for source in sources
    )


def _of_catalogue(text: str, catalogue: Catalogue) -> Resolved:
    base, quant = _split(text)
    try:
        spec, notice = catalogue.find(base)
    except ModelNotFound as unknown:
        return _elsewhere(text, catalogue, unknown)
    if quant and not same_quant(quant, spec.quant):
        other = ModelNotFound(
            f"{spec.id} is catalogued as {spec.quant} only, not as {quant}",
            hint=_other_quant(spec, quant),
        )
        return _elsewhere(text, catalogue, other)
    return Resolved(spec, notice)


def _other_quant(spec: ModelSpec, quant: str) -> str:
    repos = [source.repo for source in spec.sources if isinstance(source, HubSource)]
    other = f", {repos[0]}:{quant} if the hub has it," if repos else ""
    return f"use {spec.id}:{spec.quant}{other} or the path of a {quant} file of your own"


def _elsewhere(text: str, catalogue: Catalogue, unknown: ModelNotFound) -> Resolved:
    """A name that the catalogue does not have so: another program's, or one that is near."""
    for found in _found_elsewhere(text):
        return _here(found)
    # Ollama writes the size as a tag: qwen3:14b.
    dashed = text.replace(":", "-").lower()
    if dashed in catalogue.models:
        return Resolved(catalogue.models[dashed], f"{text} is called {dashed} here")
    if os.path.exists(text):
        return Resolved(*located(Path(text)))
    near = get_close_matches(text, [found.name for found in all_found()], n=2, cutoff=0.7)
    if near and near[0] not in catalogue.models:
        raise ModelNotFound(unknown.message, hint=f"did you mean {' or '.join(near)}?")
    raise unknown


def _found_elsewhere(text: str) -> Iterator[Found]:
    for found in (find_ollama(text), find_lmstudio(*_split(text))):
        if found is not None:
            yield found


def _here(found: Found) -> Resolved:
    path, _ = located(found.path)
    return Resolved(path, f"using {found.program}'s {found.name}: {path}", found.name)


def _is_path(text: str) -> bool:
    """A text that can be nothing but a path, or a file or folder that is here."""
    is_said = text.startswith(("~", ".", os.sep)) or text.lower().endswith(".gguf")
    return (is_said and "://" not in text) or (_looks_like_path(text) and os.path.exists(text))


def _looks_like_path(text: str) -> bool:
    separators = {"/", os.sep, os.altsep or os.sep}
    return any(separator in text for separator in separators)


def _split(text: str) -> tuple[str, str]:
    at = max(text.find(":"), text.find("@"))
    return (text, "") if at < 0 else (text[:at], text[at + 1 :])
