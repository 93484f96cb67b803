"""A result as plots, SVG and PNG: readable without colours, and by the colour-blind.

matplotlib comes with the extra `plots` and is imported by this package only.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgespec.bench.plots import drafting, speed, waiting
from edgespec.bench.result import Result
from edgespec.errors import UsageError

_DPI = 150


def require_matplotlib() -> None:
    """Raises: `UsageError` with the command that gets it."""
    try:
        import matplotlib  # noqa: F401  # 0.3 s and 30 MB that only plots pay
    except ImportError as error:
        raise UsageError(
            "plots need matplotlib, which is not installed", hint='pip install "edgespec[plots]"'
        ) from error


def draw(result: Result, folder: Path) -> list[Path]:
    """Write every plot that the result has figures for; gives the files.

    Raises: `UsageError` without matplotlib.
    """
    require_matplotlib()
    folder.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[Result], Any]] = {
        "speedup": speed.speedup,
        "acceptance": drafting.acceptance,
        "curve": drafting.curve,
        "latency": waiting.latency,
        "time": waiting.time,
        "streams": speed.streams,
    }
    files = []
    for name, make in makers.items():
        figure = make(result)
        if figure is None:
            continue
        for ending in ("svg", "png"):
            file = folder / f"{name}.{ending}"
            figure.savefig(file, dpi=_DPI)
            files.append(file)
    return files
