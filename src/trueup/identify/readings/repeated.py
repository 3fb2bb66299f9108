"""How alike a sensor reads when the same motion is commanded twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueup.episodes import Channel, Episode
from trueup.identify.allan import Strength
from trueup.identify.readings.still import nothing
from trueup.identify.readings.stretches import Repeat


def repeat_of(
    episodes: Sequence[Episode], repeats: Sequence[Repeat], signal: str, column: str, unit: str
) -> Strength:
    """One reading against that of the repeated motion, as the error of one of the two.

    The two are laid over each other first, as their clocks may stand a part of a period apart.
    Wear, warmth and friction count in: it is what the robot itself does not repeat.
    """
    squares = []
    joints = {name for repeat in repeats for name in repeat.moving}
    for repeat in repeats:
        if column in joints and column not in repeat.moving:
            continue
        pair = [_part(episodes, side, signal, column) for side in (repeat.first, repeat.second)]
        if pair[0] is None or pair[1] is None:
            continue
        apart = _laid_over(*pair[0], *pair[1])
        if len(apart):
            squares.append(float(np.mean(apart**2)) / 2.0)
    if len(squares) < 2:
        return nothing(
            unit,
            f"{len(squares) or 'No'} motion was commanded twice in the same way. Repeat one.",
        )
    low, high = np.sqrt(np.quantile(squares, [0.05, 0.95]))
    return Strength(
        value=float(np.sqrt(np.median(squares))),
        low=float(low),
        high=float(high),
        unit=unit,
        seen=True,
        sentence=f"From {len(squares)} motions that were commanded twice.",
    )


def _part(
    episodes: Sequence[Episode], side: tuple[int, float, float], signal: str, column: str
) -> tuple[np.ndarray, np.ndarray] | None:
    """Times since the motion began, and readings."""
    number, begin, end = side
    if signal not in episodes[number].signals or column not in episodes[number][signal].names:
        return None
    channel: Channel = episodes[number][signal]
    rows = (channel.time_s >= begin - 1e-9) & (channel.time_s <= end + 1e-9)
    values = np.asarray(channel.values[rows, channel.names.index(column)], float)
    known = np.isfinite(values)
    return (channel.time_s[rows][known] - begin, values[known]) if known.sum() > 5 else None


def _laid_over(time_a: np.ndarray, a: np.ndarray, time_b: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What is left between two readings of one motion, shifted in time where that helps."""
    inside = (time_a >= time_b[0]) & (time_a <= time_b[-1])
    if inside.sum() < 5:
        return np.zeros(0)
    same = len(time_a) == len(time_b) and bool((np.abs(time_a - time_b) < 1e-4).all())
    apart = a[inside] - (b[inside] if same else np.interp(time_a[inside], time_b, b))
    speed = np.gradient(a, time_a)[inside]
    late = float(apart @ speed / (speed @ speed)) if (speed @ speed) > 0 else 0.0
    return apart - late * speed
