"""The kinds of excitation. A new one is a class here: a name, a few numbers, and its wave."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trueup.record.motions.excitation import Excitation, fine_time
from trueup.record.motions.smooth import faded

_TAPS = {3: 2, 4: 3, 5: 3, 6: 5, 7: 6, 9: 5, 10: 7, 11: 9, 15: 14}
"""Shift registers whose sequence is as long as it can be: length, and its second tap."""
_STAIR = (1.0, 0.0, -1.0, 0.0, 0.5, -0.5, 1.0, -1.0)


@dataclass(frozen=True, kw_only=True)
class _Swinging(Excitation):
    """Waves without corners: they swell and die away instead of being rounded."""

    low_hz: float = 0.1
    """Lowest frequency."""
    high_hz: float = 3.0
    """Highest frequency."""
    corner_hz: float = 0.5
    """Above it the amplitude falls as the frequency rises, so that the speed stays the same."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(
            0 < self.low_hz < self.high_hz <= 50 and self.corner_hz > 0,
            f"frequencies from {self.low_hz} to {self.high_hz} Hz with a corner at "
            f"{self.corner_hz} Hz",
            "Give 0 < low_hz < high_hz ≤ 50 and a corner above 0.",
        )
        self._check(
            2 * self.blend_s < self.duration_s,
            f"a blend of {self.blend_s} s at both ends of {self.duration_s} s",
            "Give it more time, or a shorter blend.",
        )

    @property
    def _lengthened_s(self) -> float:
        return 0.0

    def _smooth(self, wave: np.ndarray) -> np.ndarray:
        return faded(wave, self.blend_s)

    def _height(self, frequency: np.ndarray) -> np.ndarray:
        return np.minimum(1.0, self.corner_hz / frequency)


@dataclass(frozen=True, kw_only=True)
class Chirp(_Swinging):
    """A sine whose frequency rises: bandwidth, delay and damping of a servo.

    Joints that move together are each at another frequency at any moment: where one has swept to
    the top, it comes down again.
    """

    kind = "chirp"

    def wave(self, m: int, span_s: float) -> np.ndarray:
        time = fine_time(span_s)
        along = time[:, None] / time[-1] + np.arange(m) / m
        share = 1.0 - np.abs(1.0 - along)  # up to 1, and down again
        frequency = self.low_hz * (self.high_hz / self.low_hz) ** share
        phase = 2.0 * np.pi * np.cumsum(frequency, axis=0) * (time[1] - time[0])
        return self._height(frequency) * np.sin(phase)


@dataclass(frozen=True, kw_only=True)
class Multisine(_Swinging):
    """Many sines at once: all frequencies in one recording, and joints that can be told apart.

    No two joints share a frequency, so what one does to another shows in the other's spectrum.
    """

    kind = "multisine"

    lines: int = 4
    """Frequencies of each joint."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(1 <= self.lines <= 200, f"{self.lines} lines", "Give 1 to 200.")

    def wave(self, m: int, span_s: float) -> np.ndarray:
        time = fine_time(span_s)
        lines = self._lines(m, span_s)
        wave = np.zeros((len(time), m))
        for k, frequency in enumerate(lines):
            joint = k % m if (k // m) % 2 == 0 else m - 1 - k % m  # so that none gets all the fast
            phase = -math.pi * k * (k + m) / len(lines)  # after Schroeder: no high peaks
            height = float(self._height(np.array(frequency)))
            wave[:, joint] += height * np.sin(2.0 * np.pi * frequency * time + phase)
        wave = faded(wave, self.blend_s)
        return wave / np.abs(wave).max(axis=0)

    def _smooth(self, wave: np.ndarray) -> np.ndarray:
        return wave  # already faded, before its peak was made 1

    def _lines(self, m: int, span_s: float) -> np.ndarray:
        """(m * lines,) rising frequencies, each a whole number of waves in the span."""
        first, last = math.ceil(self.low_hz * span_s), math.floor(self.high_hz * span_s)
        count = m * self.lines
        self._check(
            last - max(first, 1) + 1 >= count,
            f"{count} lines of {m} joints from {self.low_hz} to {self.high_hz} Hz, and "
            f"{max(0, last - max(first, 1) + 1)} of them fit into {span_s:.3g} s",
            "Give it more time, fewer lines, or a higher high_hz.",
        )
        waves = np.round(np.geomspace(max(first, 1), last, count)).astype(int)
        for k in range(1, count):  # no frequency twice
            waves[k] = max(waves[k], waves[k - 1] + 1)
        for k in range(count - 1, -1, -1):
            waves[k] = min(waves[k], last - (count - 1 - k))
        return waves / span_s


@dataclass(frozen=True, kw_only=True)
class Prbs(Excitation):
    """A pseudo-random binary sequence: there and back at moments that look like chance.

    Joints that move together follow the same sequence from different places.
    """

    kind = "prbs"

    bit_s: float = 0.5
    """Shortest time at one side."""
    blend_s: float = 0.3
    """Every jump is spread over this long."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(
            0 < self.bit_s < self.duration_s, f"bits of {self.bit_s} s", "Give a shorter time."
        )

    def wave(self, m: int, span_s: float) -> np.ndarray:
        time = fine_time(span_s)
        bits = _sequence(math.ceil(span_s / self.bit_s))
        at = np.minimum(time / self.bit_s, span_s / self.bit_s - 1e-9).astype(int)
        shifts = np.arange(m) * len(bits) // m
        return np.stack([bits[(at + shift) % len(bits)] for shift in shifts], axis=1)


@dataclass(frozen=True, kw_only=True)
class Steps(Excitation):
    """A staircase up and down with time to settle: stiffness, friction, how a step is answered."""

    kind = "steps"

    hold_s: float = 0.8
    """Time on each stair."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(
            0 < self.hold_s < self.duration_s, f"stairs of {self.hold_s} s", "Give a shorter time."
        )

    def wave(self, m: int, span_s: float) -> np.ndarray:
        stair = (fine_time(span_s) / self.hold_s).astype(int)
        levels = np.array(_STAIR)
        return np.stack([levels[(stair + 3 * j) % len(levels)] for j in range(m)], axis=1)


@dataclass(frozen=True, kw_only=True)
class Triangle(Excitation):
    """Slow and steady there and back: backlash and dry friction, which show where it turns.

    Joints that move together turn at different moments: each makes one cycle more than the last.
    """

    kind = "triangle"

    cycles: int = 2
    """How often there and back."""
    blend_s: float = 0.2
    """Turns are rounded over this long."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(1 <= self.cycles <= 1000, f"{self.cycles} cycles", "Give 1 to 1000.")

    def wave(self, m: int, span_s: float) -> np.ndarray:
        time = fine_time(span_s)[:, None]
        turns = (self.cycles + np.arange(m)) * time / span_s
        return 2.0 * np.abs(2.0 * ((turns + 0.25) % 1.0) - 1.0) - 1.0


@dataclass(frozen=True, kw_only=True)
class Holds(Excitation):
    """Still in many poses: how far each servo sags under the arm's own weight.

    The poses fill the box about the centre evenly, with all joints elsewhere in each.
    """

    kind = "holds"

    poses: int = 8
    """How many."""
    blend_s: float = 0.9
    """Time to move from one to the next."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(1 <= self.poses <= 10_000, f"{self.poses} poses", "Give 1 to 10000.")
        each = self.duration_s / self.poses
        self._check(
            each > self.blend_s,
            f"{each:.3g} s for each pose, and {self.blend_s} s to move there",
            "Give it more time, or fewer poses.",
        )

    def wave(self, m: int, span_s: float) -> np.ndarray:
        pose = np.minimum(fine_time(span_s) * self.poses / span_s, self.poses - 1e-9).astype(int)
        return _spread(self.poses, m)[pose]


def _sequence(bits: int) -> np.ndarray:
    """A maximal-length sequence of ±1 with at least this many bits."""
    length = next((k for k in _TAPS if 2**k - 1 >= bits), max(_TAPS))
    register = [1] * length
    found = []
    for _ in range(2**length - 1):
        found.append(1.0 if register[-1] else -1.0)
        register = [register[-1] ^ register[_TAPS[length] - 1], *register[:-1]]
    return np.array(found)


def _spread(k: int, m: int) -> np.ndarray:
    """(k, m) places from -1 to 1 that fill a cube evenly: a lattice of irrational steps.

    The step of each axis is a power of the root of x^(m+1) = x + 1, as the golden ratio is for one.
    """
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (m + 1))
    steps = root ** -np.arange(1.0, m + 1)
    return 2.0 * ((0.5 + np.arange(1, k + 1)[:, None] * steps) % 1.0) - 1.0
