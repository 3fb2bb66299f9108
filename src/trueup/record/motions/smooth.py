"""Smooth commands: ramps from pose to pose, and corners rounded off."""

from __future__ import annotations

import math

import numpy as np

FINE_S = 0.001
"""Waves are made on this grid and read off at the robot's period, so that both agree."""

_PEAK_SPEED = 1.875  # of a minimum-jerk ramp over 1 in 1 s
_PEAK_ACCELERATION = 10.0 / math.sqrt(3.0)


def eased(share: np.ndarray | float) -> np.ndarray:
    """From 0 to 1 with the least jerk, at rest at both ends; held outside."""
    s = np.clip(share, 0.0, 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


def ramp_s(distance: np.ndarray, speed: float, acceleration: float) -> float:
    """How long the longest of some ramps takes, no joint quicker than this."""
    far = float(np.abs(distance).max(initial=0.0))
    return max(_PEAK_SPEED * far / speed, math.sqrt(_PEAK_ACCELERATION * far / acceleration))


def ramp(start: np.ndarray, end: np.ndarray, duration_s: float, period_s: float) -> np.ndarray:
    """Commands (k, ...) after `start`, up to and with `end`; none where there is no way to go."""
    k = math.ceil(duration_s / period_s - 1e-9)
    share = eased(np.arange(1, k + 1) / max(k, 1)).reshape(-1, *[1] * np.ndim(start))
    return start + share * (np.asarray(end) - start)


def rounded(wave: np.ndarray, width_s: float) -> np.ndarray:
    """A wave (T, m) on the fine grid, every corner spread over `width_s`.

    It is averaged under a raised cosine. A jump by d becomes a ramp whose speed is at most
    2 d / width and whose acceleration is at most 2 π d / width². Before and after the wave all is
    zero, so it also begins and ends gently; it becomes longer by the width.
    """
    k = max(1, round(width_s / FINE_S))
    kernel = 1.0 - np.cos(2.0 * np.pi * (np.arange(k) + 0.5) / k)
    kernel /= kernel.sum()
    return np.stack([np.convolve(column, kernel) for column in wave.T], axis=1)


def faded(wave: np.ndarray, width_s: float) -> np.ndarray:
    """A wave (T, m) on the fine grid that swells from nothing and dies away again."""
    time = FINE_S * np.arange(len(wave))
    window = eased(time / width_s) * eased((time[-1] - time) / width_s)
    return wave * window[:, None]


def sampled(wave: np.ndarray, period_s: float) -> np.ndarray:
    """A wave (T, m) on the fine grid, read off at a robot's period (k, m)."""
    fine = FINE_S * np.arange(len(wave))
    time = period_s * np.arange(math.floor(fine[-1] / period_s + 1e-9) + 1)
    return np.stack([np.interp(time, fine, column) for column in wave.T], axis=1)
