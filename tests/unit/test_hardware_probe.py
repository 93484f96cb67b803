"""This machine, whatever it is, by all readers at once."""

from edgespec.hardware.probe import probe


def test_probe_reads_this_machine_without_a_gap() -> None:
    found = probe()

    assert isinstance(found.memory.available_bytes, int)
    assert 0 < found.memory.available_bytes <= (1 << 50)
    assert found.cpu.n_threads >= 1
    assert isinstance(found.cpu.instructions, tuple)
    assert any(device.kind == "CPU" for device in found.devices)
    assert found.notes == ()
