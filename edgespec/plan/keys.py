"""The numbers of a model's own metadata keys, for planning: what is absent or odd counts as 0."""

from edgespec.gguf.header import GgufHeader


class Keys:
    """Numbers of `<architecture>.*` in a header that was checked."""

    def __init__(self, header: GgufHeader) -> None:
        self._part = header.parts[0]
        self._architecture = header.architecture
        self._arrays: dict[str, tuple[int, ...]] = {}

    def size(self, key: str, default: int = 0) -> int:
        """The whole number above 0, or `default`."""
        value = self._part.values.get(f"{self._architecture}.{key}", default)
        return value if isinstance(value, int) and value > 0 else default

    def by_layer(self, key: str) -> tuple[int, ...]:
        """The items of an array, read once; empty where the file has none of whole numbers."""
        if key not in self._arrays:
            self._arrays[key] = self._read(f"{self._architecture}.{key}")
        return self._arrays[key]

    def largest(self, key: str) -> int:
        """The number, or the largest of an array."""
        return max(self.size(key), max(self.by_layer(key), default=0))

    def _read(self, full_key: str) -> tuple[int, ...]:
        numbers = self._part.few_numbers(full_key)
        whole = tuple(int(n) for n in numbers if isinstance(n, int))
        return whole if len(whole) == len(numbers) else ()
