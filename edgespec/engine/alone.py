"""Modules of a package without the package's own `__init__`, which may import half the world.

Knows nothing of llama.cpp; `binding` asks it for the two modules of llama_cpp that are needed.
"""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType


def import_alone(package: str, names: Sequence[str]) -> tuple[ModuleType, ...]:
    """The modules `names` of `package`, for the caller alone.

    None of them stays in `sys.modules`: whoever imports the package later gets it whole. One that
    is imported already is used as it is.
    Raises: `ImportError`, and whatever the modules raise.
    """
    full_names = [f"{package}.{name}" for name in names]
    if package in sys.modules:
        return tuple(importlib.import_module(name) for name in full_names)
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    sys.modules[package] = importlib.util.module_from_spec(spec)  # its code is never run
    try:
        return tuple(importlib.import_module(name) for name in full_names)
    finally:
        for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
            del sys.modules[name]
