"""The noise of a sensor that lies still: white noise, bias instability and random walk.

The Allan deviation of a rate signal says how much its mean over τ seconds differs from that over
the next τ. Each kind of noise has its own slope there, so a long still log tells them apart. A
short one does not, and then it is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.stats import chi2

from trueup.errors import TrueupError

_SLOPES = {
    "quantization": lambda tau: 3.0 / tau**2,
    "white": lambda tau: 1.0 / tau,
    "instability": lambda tau: np.full_like(tau, 2.0 * np.log(2.0) / np.pi),
    "walk": lambda tau: tau / 3.0,
}
"""Allan variance of each kind of noise at strength 1 (IEEE Std 952, annex C)."""

_PER_DECADE = 8
_LEAST = 200  # readings
_LONGEST = 9.0  # an averaging time is trusted where this many of it fit into the log
_CONFIDENCE = 0.90
_REPEATS = 60


@dataclass(frozen=True, kw_only=True)
class Strength:
    """One kind of noise: how strong, and how sure.

    Attributes:
        value: The best number; 0 where the log shows none.
        low: Lower end of the 90 % interval.
        high: Upper end; the most that could hide where none is seen.
        unit: Of all three.
        seen: Whether the log shows it at all.
        sentence: What can be said, and what would be needed to say more.
    """

    value: float
    low: float
    high: float
    unit: str
    seen: bool
    sentence: str


def plain(strength: Strength) -> dict[str, Any]:
    """A strength as JSON, in which nothing is infinite."""
    return {
        k: None if isinstance(v, float) and not np.isfinite(v) else v
        for k, v in asdict(strength).items()
    }


@dataclass(frozen=True, kw_only=True)
class AllanNoise:
    """What a still log says about one axis of a sensor.

    Attributes:
        tau_s: (k,) averaging times.
        deviation: (k,) overlapping Allan deviation.
        low: (k,) lower ends of its 90 % intervals.
        high: (k,) upper ends.
        strengths: By kind: `quantization`, `white`, `instability`, `walk`.
        duration_s: Of the log.
    """

    tau_s: np.ndarray
    deviation: np.ndarray
    low: np.ndarray
    high: np.ndarray
    strengths: Mapping[str, Strength]
    duration_s: float


def allan_noise(
    values: np.ndarray, rate_hz: float, *, unit: str, generator: np.random.Generator
) -> AllanNoise:
    """Kinds of noise in readings (n,) of a sensor that did not move.

    Intervals come from logs of the same length, made with the noise that was found and judged in
    the same way.
    """
    values = np.asarray(values, float)
    _check(values, rate_hz)
    tau, variance, freedom = allan_variance(values, rate_hz)
    found = _fitted(tau, variance, freedom)
    again = np.array([_refitted(found, len(values), rate_hz, generator) for _ in range(_REPEATS)])
    tail = 0.5 * (1.0 - _CONFIDENCE)
    low, high = (np.sqrt(variance * freedom / chi2.ppf(q, freedom)) for q in (1 - tail, tail))
    return AllanNoise(
        tau_s=tau,
        deviation=np.sqrt(variance),
        low=low,
        high=high,
        strengths=_strengths(found, again, tau, unit),
        duration_s=len(values) / rate_hz,
    )


def allan_variance(values: np.ndarray, rate_hz: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Averaging times, overlapping Allan variance and its degrees of freedom, each (k,)."""
    n = len(values)
    most = max(2, int(n / _LONGEST))
    steps = int(np.ceil(np.log10(most) * _PER_DECADE)) + 1
    sizes = np.unique(np.logspace(0, np.log10(most), steps).astype(int))
    sums = np.concatenate([[0.0], np.cumsum(values - values.mean())])
    variances = np.empty(len(sizes))
    for i, m in enumerate(sizes):
        twice = sums[2 * m :] - 2.0 * sums[m:-m] + sums[: -2 * m]
        variances[i] = np.mean(twice**2) / (2.0 * m**2)
    freedom = np.maximum(n / sizes - 1.0, 1.0) * 4.0 * sizes**2 / (4.0 * sizes**2 + 5.0) * 1.5
    return sizes / rate_hz, variances, freedom


def _fitted(tau: np.ndarray, variance: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Strengths by kind, never negative, so that the relative misfit of the variance is least."""
    columns = np.stack([slope(tau) for slope in _SLOPES.values()], axis=1)
    weight = np.sqrt(freedom / 2.0) / variance
    scale = (columns * weight[:, None]).max(axis=0)
    squares, _ = nnls(columns * weight[:, None] / scale, variance * weight)
    return np.sqrt(squares / scale)


def _refitted(
    strengths: np.ndarray, n: int, rate_hz: float, generator: np.random.Generator
) -> np.ndarray:
    tau, variance, freedom = allan_variance(
        noise(dict(zip(_SLOPES, strengths, strict=True)), n, rate_hz, generator), rate_hz
    )
    return _fitted(tau, variance, freedom)


def noise(
    strengths: Mapping[str, float], n: int, rate_hz: float, generator: np.random.Generator
) -> np.ndarray:
    """Readings (n,) with these kinds of noise."""
    white = strengths.get("white", 0.0) * np.sqrt(rate_hz) * generator.standard_normal(n)
    walk = strengths.get("walk", 0.0) / np.sqrt(rate_hz) * generator.standard_normal(n).cumsum()
    angle = strengths.get("quantization", 0.0) * generator.standard_normal(n + 1)
    flicker = strengths.get("instability", 0.0) * _flicker(n, generator)
    return white + walk + np.diff(angle) * rate_hz + flicker


def _flicker(n: int, generator: np.random.Generator) -> np.ndarray:
    """1/f noise (n,) of bias instability 1: its Allan variance is 2 ln 2 / π at every τ."""
    size = 2 * n
    f = np.fft.rfftfreq(size)
    parts = generator.standard_normal((2, len(f)))
    power = np.zeros(len(f))
    power[1:] = 1.0 / (2.0 * np.pi * f[1:])
    spectrum = (parts[0] + 1j * parts[1]) * np.sqrt(power * size / 2.0) / np.sqrt(2.0)
    return np.fft.irfft(spectrum * np.sqrt(2.0), size)[:n]


def _strengths(
    found: np.ndarray, again: np.ndarray, tau: np.ndarray, unit: str
) -> dict[str, Strength]:
    units = {
        "quantization": f"{unit}·s",
        "white": f"{unit}/√Hz",
        "instability": unit,
        "walk": f"{unit}/√s",
    }
    tail = 0.5 * (1.0 - _CONFIDENCE)
    ends = np.quantile(again, [tail, 1.0 - tail], axis=0)
    told = {}
    for i, kind in enumerate(_SLOPES):
        seen = bool(found[i] > 0.0 and ends[0, i] > 0.0)
        most = float(max(ends[1, i], found[i]))
        told[kind] = Strength(
            value=float(found[i]) if seen else 0.0,
            low=float(ends[0, i]) if seen else 0.0,
            high=most if most > 0.0 else _hidden(kind, found, tau),
            unit=units[kind],
            seen=seen,
            sentence=_sentence(kind, seen, tau),
        )
    return told


def _hidden(kind: str, found: np.ndarray, tau: np.ndarray) -> float:
    """The most of a kind that would still hide: half of what is there, at any averaging time."""
    columns = np.stack([slope(tau) for slope in _SLOPES.values()], axis=1)
    there = columns @ found**2
    return float(np.sqrt(0.5 * (there / _SLOPES[kind](tau)).min()))


def _sentence(kind: str, seen: bool, tau: np.ndarray) -> str:
    names = {
        "quantization": "Quantization noise",
        "white": "White noise",
        "instability": "Bias instability",
        "walk": "Random walk of the bias",
    }
    if seen:
        return f"{names[kind]} shows in this log."
    longest = tau[-1]
    if kind in ("instability", "walk"):
        return (
            f"{names[kind]} cannot be told from white noise up to {longest:.3g} s of averaging, "
            f"which is all that a log of this length allows. Leave the sensor still for at least "
            f"{_needed(longest)}."
        )
    return f"{names[kind]} is too weak to show in this log."


def _needed(longest_s: float) -> str:
    """Ten times the log, in words a person would use."""
    seconds = 10.0 * longest_s * _LONGEST
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{np.ceil(seconds / 60):.0f} min"


def _check(values: np.ndarray, rate_hz: float) -> None:
    if values.ndim != 1 or len(values) < _LEAST:
        raise TrueupError(
            f"Noise was asked for from {values.size} readings of shape {values.shape}.",
            fix=f"Give one axis, (n,), with at least {_LEAST} readings of a sensor at rest.",
        )
    if not (np.isfinite(values).all() and rate_hz > 0):
        raise TrueupError(
            f"The log has {int((~np.isfinite(values)).sum())} readings that are no numbers, at "
            f"{rate_hz} Hz.",
            fix="Leave such readings out, and give a rate above 0.",
        )
    if np.ptp(values) == 0.0:
        raise TrueupError(
            f"All {len(values)} readings are {values[0]:g}: noise below the resolution, or a "
            "channel that is frozen.",
            fix="Check that the sensor was read anew each time.",
        )
