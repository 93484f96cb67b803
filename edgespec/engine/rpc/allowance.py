"""How much of a device's memory a worker lends, kept by reading along.

llama.cpp's server lends what its devices report, which for a CPU is the machine's whole memory,
free or not. So who lends says how much; what asks for more is told that there is none.
"""

from typing import Final

from edgespec.engine.rpc import wire

_REFUSED: Final = 0


class Allowance:
    """The memory of one worker, over all of its devices; one connection at a time."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.peak_bytes = 0
        """The most that was taken at a time."""
        self._taken: dict[int, int] = {}

    @property
    def taken_bytes(self) -> int:
        """What the client has allocated."""
        return sum(self._taken.values())

    def refusal(self, command: int, request: bytes) -> bytes | None:
        """The answer to an allocation that goes too far; None: ask the worker."""
        if command != wire.Command.ALLOC_BUFFER:
            return None
        wanted = wire.wanted_bytes(request)
        is_too_much = self.taken_bytes + wanted > self.limit_bytes
        return wire.allocation(_REFUSED, 0) if is_too_much else None

    def corrected(self, command: int, request: bytes, answer: bytes) -> bytes:
        """The worker's answer, with the memory that is lent in place of what there is."""
        if command == wire.Command.ALLOC_BUFFER:
            buffer, size_bytes = wire.allocated(answer)
            if buffer != _REFUSED:
                self._taken[buffer] = size_bytes
                self.peak_bytes = max(self.peak_bytes, self.taken_bytes)
        elif command == wire.Command.GET_DEVICE_MEMORY:
            there = wire.memory_of(answer)
            free = max(0, min(there.free_bytes, self.limit_bytes - self.taken_bytes))
            return wire.Memory(free, min(there.total_bytes, self.limit_bytes)).packed()
        return answer

    def freed(self, request: bytes) -> None:
        """The client gives a buffer back."""
        self._taken.pop(wire.buffer_of(request), None)
