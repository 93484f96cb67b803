"""Sizes for people: files as shops and hubs count them, memory as systems do."""


def gigabytes(size_bytes: int) -> str:
    """The size of a file, in powers of 1000: 98 MB, 1.12 GB."""
    for unit_bytes, unit in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if size_bytes >= unit_bytes:
            size = size_bytes / unit_bytes
            digits = 2 if unit == "GB" else 0 if size >= 10 or unit == "kB" else 1
            return f"{size:,.{digits}f} {unit}"
    return f"{size_bytes} bytes"


def gibibytes(size_bytes: int) -> str:
    """An amount of memory, in powers of 1024: 312 MiB, 1.4 GiB."""
    if size_bytes < 2**30:
        return f"{size_bytes / 2**20:.0f} MiB"
    return f"{size_bytes / 2**30:,.1f} GiB"
