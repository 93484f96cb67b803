"""The native library: one version, its log as log lines, its refusals as errors."""

import logging
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from edgespec.engine import binding
from edgespec.engine.context import context_refused
from edgespec.engine.model import Model
from edgespec.errors import DoesNotFit, EngineError, ModelFileError
from tests import tinygguf
from tests.engine.conftest import SMALL, TinyModels
from tests.engine.test_session import tokens_of

ROOT = Path(__file__).parents[2]
LOAD_AND_DECODE = """
import sys
import numpy as np
from pathlib import Path
from edgespec.engine.context import ContextOptions
from edgespec.engine.model import Model
model = Model(Path(sys.argv[1]))
session = model.new_session(ContextOptions(n_ctx=64, n_batch=16, max_logits=2, n_threads=1))
session.forward(np.arange(3, 40, dtype=np.int32), n_logits=2)
session.close()
model.close()
try:
    Model(Path(sys.argv[2]))
except Exception:
    pass
"""


def test_library_is_loaded_once() -> None:
    assert binding.lib() is binding.lib()


def test_other_version_is_refused_with_the_command_that_mends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(binding, "TESTED_VERSION", "0.3.99")

    with pytest.raises(EngineError) as refusal:
        binding._modules.__wrapped__()

    assert "0.3.36 is installed" in refusal.value.message
    assert refusal.value.hint == "pip install llama-cpp-python==0.3.99"


def test_missing_package_is_told_with_the_command_that_mends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)

    with pytest.raises(EngineError) as refusal:
        binding._modules.__wrapped__()

    assert "llama-cpp-python" in refusal.value.hint


def test_library_comes_without_what_the_packages_front_imports() -> None:
    script = (
        "import sys; from edgespec.engine import binding\n"
        "binding.lib(), binding.ggml()\n"
        "assert not {'numpy', 'jinja2', 'llama_cpp'} & set(sys.modules), sorted(sys.modules)\n"
        "import llama_cpp\n"
        "assert llama_cpp.Llama and llama_cpp.llama_cpp.llama_max_devices()"
    )

    result = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)

    assert result.returncode == 0, result.stderr


def test_native_log_arrives_as_whole_lines(
    tiny: TinyModels, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "edgespec.llama")

    tiny["llama"].new_session(SMALL).close()

    lines = [record.getMessage() for record in caplog.records if record.name == "edgespec.llama"]
    assert any("n_ctx" in line for line in lines)
    assert not any("\n" in line for line in lines)
    assert {record.levelno for record in caplog.records} <= {logging.DEBUG, logging.INFO}


def test_nothing_native_reaches_stdout_or_stderr(tmp_path: Path) -> None:
    model = tinygguf.write_llama(tmp_path / "m.gguf")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(model.read_bytes()[:30_000])

    done = subprocess.run(
        [sys.executable, "-c", LOAD_AND_DECODE, str(model), str(broken)],
        capture_output=True,
        cwd=ROOT,
        check=True,
    )

    assert (done.stdout, done.stderr) == (b"", b"")


def test_load_and_decode_leave_other_threads_their_output(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tinygguf.write_llama(tmp_path / "m.gguf")
    lines = [f"line {i}" for i in range(2_000)]

    def talk() -> None:
        for line in lines:
            print(line, flush=True)

    talker = threading.Thread(target=talk)
    talker.start()
    model = Model(path)
    session = model.new_session(SMALL)
    session.forward(tokens_of(40), n_logits=1)
    session.close()
    model.close()
    talker.join()

    assert capfd.readouterr().out.splitlines() == lines


def test_damaged_file_is_an_error_with_llama_cpps_reason(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(tinygguf.write_llama(tmp_path / "m.gguf").read_bytes()[:30_000])

    with pytest.raises(ModelFileError) as refusal:
        Model(path)

    assert "broken.gguf" in refusal.value.message
    assert "no reason given" not in refusal.value.message


def test_progress_may_give_a_load_up(tmp_path: Path) -> None:
    path = tinygguf.write_llama(tmp_path / "m.gguf")
    told: list[float] = []

    def give_up(fraction: float) -> None:
        told.append(fraction)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Model(path, progress=give_up)

    assert len(told) == 1


def test_context_that_cannot_be_had_is_an_error_with_llama_cpps_reason() -> None:
    refusal = context_refused(SMALL, "K cache type q8_0 does not divide n_embd_head_k=16")

    assert isinstance(refusal, EngineError)
    assert "512 tokens" in refusal.message
    assert "n_embd_head_k=16" in refusal.message


def test_context_without_memory_does_not_fit() -> None:
    refusal = context_refused(replace(SMALL, n_ctx=4096), "failed to allocate buffer of size 9")

    assert isinstance(refusal, DoesNotFit)
    assert "4,096 tokens" in refusal.message
    assert "--ctx" in refusal.hint
