"""A profile as lines of text."""

from collections.abc import Iterator

from edgespec.bench.tables import number, table
from edgespec.profile.main import Arm, KindProfile, Profile
from edgespec.profile.walk import Walk

_HEADER = ("kind", "texts", "tokens", "drafter", "x plain", "accept", "length", "use")


def lines(profile: Profile) -> Iterator[str]:
    """The whole report; the setting to use stands beside the best drafter of each kind."""
    model = profile.model
    draft = f", draft {model['draft']}" if model["draft"] else ""
    yield f"{model['target']} {model['target_quant']}{draft}; {model['backend']}"
    yield ""
    rows = [row for kind in (*profile.kinds, profile.overall) for row in _rows(kind)]
    yield from table(_HEADER, rows)
    yield ""
    yield (
        "foreseen along your own texts, with this machine's measured passes: an estimate of greedy "
        "answers"
    )
    if profile.skipped:
        names = ", ".join(dict.fromkeys(profile.skipped))
        yield f"left out, empty, longer than the context or no chat for this model: {names}"


def _rows(kind: KindProfile) -> Iterator[tuple[str, ...]]:
    for i, (arm, walked) in enumerate(kind.walks):
        yield _row(kind, arm, walked, is_first=i == 0)


def _row(kind: KindProfile, arm: Arm, walked: Walk, *, is_first: bool) -> tuple[str, ...]:
    limit = "" if arm.draft_len is None else f", at most {arm.draft_len}"
    return (
        kind.kind if is_first else "",
        str(kind.n_passages) if is_first else "",
        f"{walked.n_tokens:,}",
        arm.drafter + limit,
        f"{walked.speedup:.2f}",
        number(walked.acceptance, 2),
        number(walked.mean_length, 2),
        _use(kind) if is_first else "",
    )


def _use(kind: KindProfile) -> str:
    return kind.best.flags if kind.is_enough else f"{kind.best.flags} (too little text to tell)"
