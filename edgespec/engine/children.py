"""What a Python process that we start needs, to find the same code and libraries."""

import os
import sys

from edgespec.engine.threads import set_wait_policy


def environment() -> dict[str, str]:
    """The environment of a child that runs a module of ours."""
    environ = dict(os.environ)
    set_wait_policy(environ)
    environ["GGML_NO_BACKTRACE"] = "1"  # an abort would start a debugger
    environ["PYTHONPATH"] = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return environ
