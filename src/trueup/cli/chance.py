"""How sure a counted share is."""

from __future__ import annotations

import math

_Z = 1.959963984540054  # 95 %, two-sided


def wilson(successes: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927), sound also at 0 and at 1."""
    if n == 0:
        return 0.0, 1.0
    share, square = successes / n, _Z * _Z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = _Z * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    return max(0.0, centre - half), min(1.0, centre + half)
