"""Whether what is left of a fit is a matter of time: all joints early or late together.

A command that is lost, sent twice or held up shifts every joint along its own path by the same
time. To first order a joint is then off by its speed times that time. So at each moment one number
must explain all joints; by chance it explains one joint's worth of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.replay import Track

_SHARED = 0.5  # of what is left: one time for six joints explains a quarter or less by chance
_LONGEST_S = 0.05  # longer stops are no matter of single commands
_FEWEST = 3  # joints that move: fewer agree by chance
_MOVES = 0.01  # rad/s: a joint that is slower tells no time


@dataclass(frozen=True, kw_only=True)
class Lateness:
    """What one shift of time for all joints explains.

    Attributes:
        share: Of the power that is left, every joint counted alike.
        spread_s: Standard deviation of the shift.
    """

    share: float
    spread_s: float

    @property
    def told(self) -> bool:
        """Whether single commands that come late, twice or never are what is left."""
        return self.share >= _SHARED and self.spread_s <= _LONGEST_S

    def __str__(self) -> str:
        return (
            f"{100 * self.share:.0f} % of what is left is time: all joints early or late together, "
            f"by {1e3 * self.spread_s:.1f} ms (standard deviation), as where commands are lost, "
            "repeated or held up (latency/drop_probability, latency/repeat_probability, "
            "latency/action_jitter)."
        )


def lateness_of(tracks: Sequence[Track]) -> Lateness | None:
    """What time explains of positions that were simulated (at the first point) and measured.

    None where too few joints move.
    """
    total = explained = weight = shifted = 0.0
    for track in tracks:
        off, speed = _scaled(track)
        if off.shape[1] < _FEWEST or not len(off):
            continue
        power = (speed**2).sum(axis=1)
        along = (off * speed).sum(axis=1)
        shift = along / np.maximum(power, 1e-12)
        total += float((off**2).sum())
        explained += float((along * shift).sum())
        weight += float(power.sum())
        shifted += float((power * shift**2).sum())
    if not total or not weight:
        return None
    return Lateness(share=explained / total, spread_s=float(np.sqrt(shifted / weight)))


def _scaled(track: Track) -> tuple[np.ndarray, np.ndarray]:
    """(m, joints) how far off the joints that move are, and how fast, in units of their misfit."""
    read = np.isfinite(track.residual[0]).any(axis=0)
    off = track.residual[0][:, read]
    with np.errstate(divide="ignore", invalid="ignore"):  # two readings of one moment
        speed = np.gradient(track.simulated[0][:, read], track.time_s, axis=0)
    whole = np.isfinite(off).all(axis=1) & np.isfinite(speed).all(axis=1)
    off, speed = off[whole], speed[whole]
    moves = np.abs(speed).max(axis=0, initial=0.0) > _MOVES
    size = np.sqrt((off[:, moves] ** 2).mean(axis=0)) + 1e-9
    return off[:, moves] / size, speed[:, moves] / size
