"""What a benchmark had time for, of what was asked."""

from collections import Counter
from collections.abc import Iterable, Iterator
from math import ceil

from edgespec.bench.result import Asked, Result

NO_TIME = "no time was left"
"""Why a prompt was left out; told in sum, since they may be many."""


def coverage(result: Result) -> Iterator[str]:
    """Kinds, languages and temperatures that were reached, and how long all would take."""
    asked, cells = result.asked, result.cells
    parts = [
        _share("kinds", {c.kind for c in cells}, {p.kind for p in asked.prompts}),
        _share("languages", {c.lang for c in cells}, {p.lang for p in asked.prompts}),
        _share("temperatures", {c.temperature for c in cells}, set(asked.temperatures)),
        _share("prompts", {c.prompt for c in cells}, {p.name for p in asked.prompts}),
    ]
    n_cells = len(asked.prompts) * len(asked.temperatures)
    n_repeated = sum(len(cell.turns) > 1 for cell in cells)
    yield (
        f"measured {', '.join(parts)}; {len(cells)} of {n_cells} cells (a prompt at a "
        f"temperature), "
        f"{n_repeated} of them more than once"
    )
    reached = {cell.prompt: (cell.kind, cell.lang, cell.length) for cell in cells}
    yield "reached: " + _by_kind(reached.values(), asked)
    missing = [p for p in asked.prompts if p.name not in reached]
    if missing:
        told = _by_kind(((p.kind, p.lang, p.length) for p in missing), asked)
        yield f"not reached: {told}"
    n_turns = sum(len(cell.turns) for cell in cells)
    n_wanted = 2 * asked.n_rounds * n_cells
    if n_turns < n_wanted:
        minutes = ceil(result.seconds / 60 * n_wanted / n_turns)
        yield f"{n_turns} of {n_wanted} turns fitted the time; --minutes {minutes} would fit all"


def _by_kind(found: Iterable[tuple[str, str, str]], asked: Asked) -> str:
    """Languages by kind, with their lengths where there are several."""
    has_lengths = len({p.length for p in asked.prompts}) > 1
    by_kind: dict[str, Counter[str]] = {}
    for kind, lang, length in found:
        by_kind.setdefault(kind, Counter())[f"{lang} {length}" if has_lengths else lang] += 1
    return "; ".join(
        f"{kind} ({', '.join(name if n == 1 else f'{name}: {n}' for name, n in names.items())})"
        for kind, names in by_kind.items()
    )


def _share(what: str, reached: set[str] | set[float], wanted: set[str] | set[float]) -> str:
    return f"{len(reached)} of {len(wanted)} {what}"
