"""How many trials show a recovery, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special, stats

from trueup.diagnose import GapReport
from trueup.errors import TrueupError
from trueup.plan.protocol import Item, StopRule

POWER, CHANCE = 0.8, 0.05
MOST = 2000
"""More trials than that nobody makes."""
FEW = 120
"""Trials that a team makes in a day or two."""
WORTH = 2.0
"""Points below which an item is not worth the trouble."""
_PINNED, _TWICE = 0.3, 0.9
_EXACT = 400
"""Beyond so many trials on both sides the normal approximation is as good, and quicker."""


def trials_to_see(
    before: float, after: float, *, known: int = 0, power: float = POWER, chance: float = CHANCE
) -> int | None:
    """How many trials afterwards show that success rose; none where `MOST` do not.

    The test is one-sided, of two shares with pooled variance; its power is exact, summed over all
    that may come out.

    Args:
        before: Success before, from 0 to 1.
        after: Success that is expected.
        known: Trials made before; 0 for as many as afterwards.
        power: How often the rise shall be seen.
        chance: How often a rise may be seen that is none.
    """
    for name, share in (("before", before), ("after", after)):
        if not 0.0 <= share <= 1.0:
            raise TrueupError(
                f"The success {name} is {share}.", fix="Give a share between 0 and 1."
            )
    if after <= before:
        return None
    low, high = 1, _roughly(before, after, power, chance)
    if not known and high > _EXACT:
        return high if high < MOST else None
    while power_of(before, after, known or high, high, chance=chance) < power:
        low, high = high, 2 * high
        if high > 2 * MOST:
            return None
    while high - low > 1:  # power rises with n but for small steps
        middle = (low + high) // 2
        enough = power_of(before, after, known or middle, middle, chance=chance) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high if high <= MOST else None


def power_of(before: float, after: float, n: int, m: int, *, chance: float = CHANCE) -> float:
    """How often a rise is seen with n trials before and m after."""
    a, b = np.arange(n + 1)[:, None], np.arange(m + 1)[None, :]
    pooled = (a + b) / (n + m)
    spread = np.sqrt(np.maximum(pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m), 1e-12))
    seen = (b / m - a / n) / spread > special.ndtri(1.0 - chance)
    likely = stats.binom.pmf(a, n, before) * stats.binom.pmf(b, m, after)
    return float((likely * seen).sum())


def told_loss(report: GapReport) -> tuple[float, float]:
    """The 90 % interval of the lost points (Newcombe 1998, from Wilson's two)."""
    (a_low, a_high), (b_low, b_high) = report.simulated.interval(), report.measured.interval()
    a, b = report.simulated.share, report.measured.share
    below = math.hypot(a - a_low, b_high - b)
    above = math.hypot(a_high - a, b - b_low)
    return 100.0 * (a - b - below), 100.0 * (a - b + above)


def trials_after(report: GapReport, points: float) -> int | None:
    """Trials that show a rise by some points over what was measured.

    Where those made before are too few, as many are needed of each of the two policies.
    """
    before, made = report.measured.share, report.measured.trials
    after = min(before + points / 100.0, 1.0)
    each = trials_to_see(before, after)
    if each is not None and each < made:
        return trials_to_see(before, after, known=made)
    return each


def worth_trying(report: GapReport, items: Sequence[Item]) -> tuple[int, int | None]:
    """How many items to carry out before trials can show anything, and how many trials then.

    The fewest items whose recoveries together show in `FEW` trials; all of them where none do.
    """
    points, found = 0.0, None
    for count, item in enumerate(items, 1):
        points += item.recovery.in_order
        found = trials_after(report, points)
        if found is not None and found <= FEW:
            return count, found
    return len(items), found


def stop_rules(
    report: GapReport, items: Sequence[Item], worth: float = WORTH
) -> tuple[StopRule, ...]:
    """When to stop recording, trying and planning; nothing where nothing was lost."""
    if report.loss <= 0:
        return ()
    count, trials = worth_trying(report, items)
    rules = [
        StopRule(
            what="item",
            threshold=_PINNED,
            words=f"Stop an item when less than {100 * _PINNED:.0f} % of the doubt about its "
            "parameters is left in the next estimate, or when a second recording leaves more than "
            f"{100 * _TWICE:.0f} % of what the first left.",
        ),
        StopRule(
            what="plan",
            threshold=worth,
            words=f"Stop recording when no item is expected to give back {worth:g} points, or when "
            "the interval of real success reaches the "
            f"{100 * report.simulated.share:.0f} % of simulation.",
        ),
    ]
    if trials is not None:
        done = "item 1" if count == 1 else f"items 1 to {count}"
        trying = StopRule(
            what="trials",
            threshold=float(trials),
            words=f"Stop trying after {done} with {trials} trials: what they should give back is "
            f"then seen with {100 * POWER:.0f} % power. If it is not, diagnose again with those.",
        )
        rules.insert(1, trying)
    return tuple(rules)


def _roughly(before: float, after: float, power: float, chance: float) -> int:
    z = special.ndtri(1.0 - chance) + special.ndtri(power)
    variance = before * (1.0 - before) + after * (1.0 - after)
    return min(MOST, max(2, math.ceil(z * z * variance / (after - before) ** 2)))
