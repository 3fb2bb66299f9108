"""How often a sensor hands out its last reading again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import median_filter, uniform_filter1d

from trueup.episodes import Channel, Episode
from trueup.evaluate import wilson
from trueup.identify.allan import Strength
from trueup.identify.answers import runs
from trueup.identify.readings.still import nothing

_QUICK = 2.0  # steps of the sensor that a column moves from reading to reading
_NEIGHBOURS = 9
_NEARBY = 51
_LEAST = 100
_SEEN = 3
_NEVER, _OFTEN = 1e-4, 0.3
_FEW = 4  # readings in a row that may be stale; of half that are, one in thirty is more so
_LONG = 10  # readings that repeat one after another: nothing is that stale, it stands still


def stale_of(episodes: Sequence[Episode], signal: str, quantum: np.ndarray) -> Strength:
    """The share of readings that are the ones before, in all columns at once: one packet.

    Only readings count at which some column should have moved by two steps or more.
    """
    again, chance, due = 0, 0.0, 0
    for episode in episodes:
        if signal in episode.signals and len(episode[signal]) > _NEIGHBOURS:
            repeated, alike, fast, noisy = repeated_in(episode[signal], quantum)
            moves = fast | noisy
            again += int((repeated & moves).sum())
            chance += float(alike[moves].sum())
            due += int(moves.sum())
    if due < _LEAST:
        return nothing(
            "1",
            f"Only {due} readings were taken while the robot moved fast enough to tell a stale one "
            "from a true one. Move faster.",
        )
    true = max(0, round(again - chance))
    low, high = wilson(true, due, 0.90)
    by_chance = f", some {chance:.0f} of them by chance" if chance >= 0.5 else ""
    return Strength(
        value=true / due,
        low=low,
        high=high,
        unit="1",
        seen=low > 0.0 and true >= _SEEN,
        sentence=f"{again:,} of {due:,} readings in motion are the one before again{by_chance}.",
    )


def repeated_in(
    channel: Channel, quantum: np.ndarray, quick: float = _QUICK
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Where readings repeat the ones before, four answers (m - 1,) from each to the next.

    Whether it does; how likely that is by chance; whether some column moves fast then, by so many
    steps a reading; and whether noise alone makes each reading another one.

    By chance, each column repeats as often as it does nearby where the others do not.
    """
    change = np.abs(np.diff(np.asarray(channel.values, float), axis=0))
    same = change == 0.0
    repeated = same.all(axis=1)
    fresh = uniform_filter1d((~repeated).astype(float), _NEARBY)
    alone = uniform_filter1d((same & ~repeated[:, None]).astype(float), _NEARBY, axis=0)
    alike = (alone / np.maximum(fresh, 1.0 / _NEARBY)[:, None]).prod(axis=1)
    usual = median_filter(_fair(change, repeated), size=(_NEIGHBOURS, 1), mode="nearest")
    fast = (usual >= np.maximum(quick * quantum, 1e-12)).any(axis=1)
    noisy = (alike < _NEVER) & (fresh > _OFTEN) & ~_standing(repeated)
    return repeated, alike, fast, noisy


def _fair(change: np.ndarray, repeated: np.ndarray) -> np.ndarray:
    """(m, n) changes, those over a few stale readings in a row shared out among them.

    Stale readings do not make their neighbourhood look slow; a rest does, and is longer.
    """
    found = change.copy()
    fresh = np.flatnonzero(~repeated)
    waited = np.diff(fresh, prepend=-1)
    for many in range(2, _FEW + 2):
        after = fresh[waited == many]
        for k in range(many):
            found[after - k] = change[after] / many
    return found


def _standing(repeated: np.ndarray) -> np.ndarray:
    """(m,) where readings repeat so often in a row that there was nothing else to read."""
    found = np.zeros(len(repeated), bool)
    for first, last in runs(repeated):
        if last - first + 1 >= _LONG:
            found[first : last + 1] = True
    return found
