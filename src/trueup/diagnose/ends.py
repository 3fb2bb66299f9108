"""Where the ends of a share's interval lie, as robots whose truth was known have taught.

What draws leave open is no even account of how far off the middle is. Blame is spread a little over
gaps that cost nothing, so that what does cost something costs more than the middle far oftener than
less. How much oftener was counted on rehearsal robots (`python -m benchmarks.ends`).
"""

from __future__ import annotations

import numpy as np

BELOW, ABOVE = 0.9, 1.5  # of what draws leave open on either side of the middle


def ends(
    middle: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    most: float,
    *,
    below: float = BELOW,
    above: float = ABOVE,
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends around the middle.

    Args:
        middle: (n,) shares, as parts of 1.
        low: (n,) where 5 % of draws lie below.
        high: (n,) where 5 % of draws lie above.
        most: Success at nominal: no gap is said to cost more than that, unless draws say so.
        below: Of what draws leave open below the middle, so much is meant.
        above: The same above it.
    """
    down, high = np.maximum(middle - low, 0.0), np.maximum(high, middle)
    up = np.minimum(middle + above * (high - middle), most)
    return middle - below * down, np.maximum(up, high)
