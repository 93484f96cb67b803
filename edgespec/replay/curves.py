"""What passes cost on machines that are not at hand: for what drafting would do there.

In plain steps, unless they were measured; then in milliseconds, which makes no difference.
"""

from typing import Final

from edgespec.control.costs import Measured
from edgespec.costs import PassCosts

AVX2: Final = Measured(
    PassCosts(
        (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64),
        (41.3, 75.6, 101.5, 98.1, 152.6, 247.9, 283.8, 325.1, 550.8, 575.0, 754.3, 1187.5),
    ),
    draft_s=23.1,
    read_s=4.5,
)
"""Qwen2.5-Coder 1.5B and 0.5B on 2 cores with AVX2, measured."""
AMX: Final = Measured(
    PassCosts(
        (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 32),
        (84, 106, 137, 115, 142, 180, 238, 234, 267, 253, 306, 388, 443),
    ),
    draft_s=42.0,
    read_s=5.5,
)
"""The same with AMX, measured."""
CUDA: Final = Measured(
    PassCosts((1, 2, 4, 8, 9, 16, 32, 64), (1, 1.07, 1.28, 1.72, 3.88, 3.95, 4.3, 5.2)),
    draft_s=0.12,
    read_s=0.002,
)
"""Quantised: vector kernels up to 8 rows, then a cliff. After llama.cpp #5625, one A100."""
METAL: Final = Measured(
    PassCosts((1, 2, 4, 8, 9, 16, 17, 32, 64), (1, 1.6, 2.9, 5.4, 4.6, 4.8, 4.83, 5.6, 8.0)),
    draft_s=0.12,
    read_s=0.005,
)
"""Dear small batches, then nearly flat; after published figures of an M4 Pro."""
FLAT: Final = Measured(
    PassCosts((1, 8, 9, 16, 17, 32, 64), (1, 1.15, 1.18, 1.34, 1.36, 1.7, 2.42)),
    draft_s=0.12,
    read_s=0.002,
)
"""A card that computes much faster than it reads, and weights of 16 bits: 2 % a row."""
ELSEWHERE: Final = {"AVX2": AVX2, "AMX": AMX, "CUDA": CUDA, "Metal": METAL, "flat": FLAT}
