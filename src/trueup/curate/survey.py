"""A first glance at a dataset: which signals can be judged, and how far each column ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.episodes import Channel, Episode
from trueup.errors import TrueupError

QUATERNION = ("w", "x", "y", "z")
"""The columns of an orientation: parts of a unit vector, so that their span is known."""

_SCARCE = 4  # readings
_MEAD = 1.4826
_UNIT = 1e-3


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What episodes of a set have in common.

    Attributes:
        names: The columns of each signal that is a number on a scale.
        unit: Of each signal.
        span: (size,) how far each column ordinarily goes, within an episode and between them.
        size: (size,) how large its values ordinarily are, as a root mean square.
        turned: Signals that are directions or orientations: their numbers have a length of one
            together, and mean nothing one by one.
        period_s: The time between frames.
    """

    names: dict[str, tuple[str, ...]]
    unit: dict[str, str]
    span: dict[str, np.ndarray]
    size: dict[str, np.ndarray]
    turned: frozenset[str]
    period_s: float

    @property
    def signals(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.names)

    @classmethod
    def of(cls, episodes: Sequence[Episode]) -> Survey:
        """From some episodes of a set, good and bad."""
        shared = set.intersection(*(_scaled(episode) for episode in episodes))
        first = episodes[0]
        names = {name: first[name].names for name in first.signals if name in shared}
        if not names:
            raise TrueupError(
                f"The episodes have no signal in common that could be judged; the first one has "
                f"{', '.join(first.signals)}.",
                fix="Give a dataset whose episodes hold numbers that change over time, such as "
                "action and observation.state.",
            )
        turned = {name for name in names if _turns([e[name] for e in episodes])}
        return cls(
            names=names,
            unit={name: first[name].unit for name in names},
            span={
                name: np.ones(len(columns))
                if name in turned
                else _span([e[name] for e in episodes])
                for name, columns in names.items()
            },
            size={name: _size([e[name] for e in episodes]) for name in names},
            turned=frozenset(turned),
            period_s=float(np.median([episode.period_s for episode in episodes])),
        )


def _scaled(episode: Episode) -> set[str]:
    """Signals of numbers on a scale: a flag or a counter has no jerk."""
    return {
        name
        for name, channel in episode.signals.items()
        if np.issubdtype(channel.values.dtype, np.floating)
        and len(channel) >= _SCARCE
        and not name.startswith("next.")
    }


def _turns(channels: Sequence[Channel]) -> bool:
    """Whether a signal is a direction, by its names or because most of it has a length of one."""
    size = len(channels[0].names)
    if channels[0].names == QUATERNION:
        return True
    if not 2 <= size <= 4:
        return False
    lengths = [np.linalg.norm(c.values.astype(float), axis=1) for c in channels]
    off = [np.nanmedian(np.abs(length - 1.0)) for length in lengths]
    return bool(np.nanmedian(off) < _UNIT)


def root_mean_square(channel: Channel) -> np.ndarray:
    """(size,) of each column, without what is missing."""
    return np.sqrt(np.nanmean(channel.values.astype(float) ** 2, axis=0))


def _size(channels: Sequence[Channel]) -> np.ndarray:
    size = np.nanmedian([root_mean_square(channel) for channel in channels], axis=0)
    return np.maximum(np.nan_to_num(size), 1e-9)


def _span(channels: Sequence[Channel]) -> np.ndarray:
    """(size,) ordinary range within an episode, and twice the spread of where episodes lie."""
    with np.errstate(invalid="ignore"):
        low, middle, high = np.array(
            [np.nanquantile(c.values.astype(float), (0.05, 0.5, 0.95), axis=0) for c in channels]
        ).transpose(1, 0, 2)
    centre = np.nanmedian(middle, axis=0)
    between = _MEAD * np.nanmedian(np.abs(middle - centre), axis=0)
    span = np.nanmedian(high - low, axis=0) + 2.0 * between
    # a column that never changes still has a size, against which a change is large
    return np.maximum(np.nan_to_num(span), 1e-9 * (1.0 + np.abs(np.nan_to_num(centre))))
