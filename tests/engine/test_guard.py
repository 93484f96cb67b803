import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import gguf
import numpy as np
import pytest

from edgespec.engine.fingerprint import cpu_facts, cpu_identity, fingerprint, package_folder
from edgespec.engine.guard import Command, GuardVerdict, verdict
from edgespec.engine.tiny_model import write_tiny_model
from edgespec.errors import EngineError

RUNS = "pass"
DIES = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"


class Children:
    """Real child processes that run given code; counts them."""

    def __init__(self, code: Callable[[bool], str]) -> None:
        self.code = code
        self.modes: list[bool] = []

    def __call__(self, folder: Path, use_extra_bufts: bool) -> Sequence[str]:
        assert folder.is_dir()
        self.modes.append(use_extra_bufts)
        return (sys.executable, "-c", self.code(use_extra_bufts))


def test_installed_build_is_sound_without_being_loaded_here() -> None:
    code = (
        "import sys; from edgespec.engine.guard import verdict; v = verdict();"
        "loaded = [m for m in ('llama_cpp', 'numpy') if m in sys.modules];"
        "print(v.outcome, v.is_new, v.text, loaded)"
    )

    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert child.stdout.split() == ["sound", "True", "[]"]
    assert child.stderr == ""


def test_first_decode_says_nothing_on_its_own(tmp_path: Path) -> None:
    command = (sys.executable, "-P", "-m", "edgespec.engine.first_decode", str(tmp_path), "plain")

    child = subprocess.run(command, capture_output=True, text=True)

    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")


def test_sound_child_keeps_the_special_kernels() -> None:
    children = Children(lambda _: RUNS)

    found = verdict(command=children)

    assert found == GuardVerdict("sound", is_new=True)
    assert found.use_extra_bufts
    assert found.notice == ""
    assert children.modes == [True]


def test_dying_child_switches_the_special_kernels_off() -> None:
    children = Children(lambda use_extra_bufts: DIES if use_extra_bufts else RUNS)

    found = verdict(command=children)

    assert found == GuardVerdict("no_extra_bufts", signal="SIGILL", is_new=True)
    assert not found.use_extra_bufts
    assert children.modes == [True, False]


def test_notice_names_the_signal_and_the_command() -> None:
    children = Children(lambda use_extra_bufts: DIES if use_extra_bufts else RUNS)

    notice = verdict(command=children).notice

    assert "SIGILL" in notice
    assert notice.endswith(
        "CC=clang CXX=clang++ pip install --force-reinstall --no-cache-dir "
        "--no-binary llama-cpp-python llama-cpp-python==0.3.36"
    )


def test_verdict_is_kept_and_no_longer_new() -> None:
    children = Children(lambda use_extra_bufts: DIES if use_extra_bufts else RUNS)
    verdict(command=children)

    again = verdict(command=children)

    assert again == GuardVerdict("no_extra_bufts", signal="SIGILL", is_new=False)
    assert children.modes == [True, False]


def test_build_that_dies_in_every_way_is_an_error_with_the_reinstall_hint() -> None:
    children = Children(lambda _: DIES)

    with pytest.raises(EngineError, match="dies by SIGILL on this CPU") as caught:
        verdict(command=children)

    assert "CC=clang CXX=clang++ pip install" in caught.value.hint
    assert "-mno-amx-tile" in caught.value.hint
    assert children.modes == [True, False]


def test_build_that_dies_in_every_way_is_remembered() -> None:
    children = Children(lambda _: DIES)
    for _ in range(2):
        with pytest.raises(EngineError):
            verdict(command=children)

    assert children.modes == [True, False]


def test_failing_child_leaves_the_outcome_unknown_and_use_as_it_was() -> None:
    children = Children(lambda _: "raise ImportError('no such library')")

    found = verdict(command=children)

    assert found.outcome == "unknown"
    assert found.text.endswith("ended with 1, saying: ImportError: no such library")
    assert found.use_extra_bufts


def test_endless_child_leaves_the_outcome_unknown() -> None:
    children = Children(lambda _: "import time; time.sleep(60)")

    found = verdict(command=children, timeout_s=0.3)

    assert found == GuardVerdict("unknown", text="the child was not done after 0.3 s", is_new=True)


def test_child_that_cannot_start_leaves_the_outcome_unknown() -> None:
    command: Command = lambda folder, _: (str(folder / "missing"),)  # noqa: E731

    found = verdict(command=command)

    assert found.outcome == "unknown"
    assert "could not be started" in found.text


def test_child_killed_from_outside_is_no_fault_of_the_build() -> None:
    children = Children(lambda _: "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")

    found = verdict(command=children)

    assert found.outcome == "unknown"
    assert found.text == f"the child ended with {-signal.SIGKILL}, saying: nothing"


def test_special_kernels_stay_off_when_only_the_second_child_is_unknown() -> None:
    children = Children(lambda use_extra_bufts: DIES if use_extra_bufts else "raise SystemExit(3)")

    found = verdict(command=children)

    assert found.outcome == "no_extra_bufts"


def test_unknown_outcome_is_asked_for_again_after_a_day(edgespec_home: Path) -> None:
    verdict(command=Children(lambda _: "raise SystemExit(3)"))
    (kept,) = (edgespec_home / "cache" / "guard").iterdir()
    yesterday = kept.stat().st_mtime - 90_000
    os.utime(kept, (yesterday, yesterday))

    found = verdict(command=Children(lambda _: RUNS))

    assert found.outcome == "sound"


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"outcome": "fine"}', '{"other": 1}'])
def test_damaged_verdict_is_made_again(edgespec_home: Path, damage: str) -> None:
    verdict(command=Children(lambda _: RUNS))
    (kept,) = (edgespec_home / "cache" / "guard").iterdir()
    kept.write_text(damage)

    found = verdict(command=Children(lambda _: RUNS))

    assert found == GuardVerdict("sound", is_new=True)


def test_verdict_is_given_when_it_cannot_be_kept(edgespec_home: Path) -> None:
    edgespec_home.write_text("a file where the folder should be")

    found = verdict(command=Children(lambda _: RUNS))

    assert found.outcome == "sound"


def test_child_output_never_reaches_this_process(capfd: pytest.CaptureFixture[str]) -> None:
    noisy = "import os; os.write(1, b'out'); os.write(2, b'err')"

    verdict(command=Children(lambda _: noisy))

    assert capfd.readouterr() == ("", "")


def build(folder: Path, library: bytes) -> Path:
    (folder / "lib").mkdir(parents=True)
    (folder / "__init__.py").write_text('__version__ = "1"')
    path = folder / "lib" / "libggml-cpu.so"
    path.write_bytes(library)
    os.utime(path, ns=(1, 1))
    return folder


def test_fingerprint_is_the_same_for_the_same_build_and_cpu(tmp_path: Path) -> None:
    one, other = build(tmp_path / "one", b"123"), build(tmp_path / "other", b"123")

    assert fingerprint(one, "cpu") == fingerprint(other, "cpu")


def test_fingerprint_changes_with_version_size_date_and_cpu(tmp_path: Path) -> None:
    package = build(tmp_path / "package", b"123")
    names = {fingerprint(package, "cpu"), fingerprint(package, "cpu with other flags")}

    (package / "__init__.py").write_text('__version__ = "2"')
    names.add(fingerprint(package, "cpu"))
    os.utime(package / "lib" / "libggml-cpu.so", ns=(2, 2))
    names.add(fingerprint(package, "cpu"))
    names.add(fingerprint(build(tmp_path / "larger", b"1234"), "cpu"))

    assert len(names) == 5


def test_package_folder_holds_the_installed_libraries() -> None:
    package = package_folder()

    assert package is not None
    assert any("ggml" in path.name for path in (package / "lib").iterdir())


def test_cpu_facts_leave_out_what_changes_while_it_runs() -> None:
    cpuinfo = (
        "processor\t: 0\nmodel name\t: Xeon\ncpu MHz\t\t: {mhz}\nflags\t\t: avx amx_tile\n\n"
        "processor\t: 1\nmodel name\t: Xeon\n"
    )

    slow, fast = (cpu_facts(cpuinfo.format(mhz=mhz).splitlines(True)) for mhz in (800, 3900))

    assert slow == fast == "model name\t: Xeon\nflags\t\t: avx amx_tile\n"


def test_cpu_identity_is_stable() -> None:
    assert cpu_identity() == cpu_identity()


def test_tiny_model_is_small_and_the_same_every_time(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "one.gguf")
    write_tiny_model(tmp_path / "other.gguf")

    one, other = (tmp_path / name for name in ("one.gguf", "other.gguf"))
    assert one.stat().st_size < 1_000_000
    assert hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest()


def test_tiny_model_has_a_matrix_for_every_special_kernel(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "tiny.gguf")

    tensors = gguf.GGUFReader(tmp_path / "tiny.gguf").tensors

    matrices = [tensor for tensor in tensors if len(tensor.shape) == 2]
    types = {tensor.tensor_type.name for tensor in matrices}
    assert types == {"Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS"}
    assert all(n % 256 == 0 for tensor in matrices for n in tensor.shape)
    for tensor in matrices:
        assert np.isfinite(gguf.quants.dequantize(tensor.data, tensor.tensor_type)).all()
