"""What a check would find if nothing were missing: the fit's own predictions, read by its sensors.

The yardstick is not chosen by hand. Points are drawn from the posterior, replayed from starts that
are as uncertain as the readings they were taken from, and read with the noise and the ticks that
the recordings show. How far such readings lie from the best fit is how far real ones may lie.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.identify.problem import FINEST
from trueup.identify.readings.lattice import lattice_of

_SURE = 4.0  # standard deviations of the logarithm: a column in some ten thousand is beyond
_READ = 64  # times that noise is drawn
_NOTHING = 1e-3  # of what a sensor leaves: one without any error may leave none


@dataclass(frozen=True, kw_only=True)
class Sensor:
    """How a column was read.

    Attributes:
        noise: Standard deviation from one reading to the next, ticks included.
        quantum: The size of a tick; 0 where there is none.
    """

    noise: float
    quantum: float

    @property
    def floor(self) -> float:
        """What it leaves of a perfect fit, root mean square."""
        return max(self.noise, self.quantum / np.sqrt(12.0), FINEST)

    def read(self, values: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Values as this sensor would have read them."""
        white = np.sqrt(max(max(self.noise, FINEST) ** 2 - self.quantum**2 / 12.0, 0.0))
        noisy = values + white * generator.standard_normal(values.shape)
        return np.rint(noisy / self.quantum) * self.quantum if self.quantum > 0 else noisy


def sensor_of(left: np.ndarray, measured: np.ndarray) -> Sensor:
    """From what is left of a column (m,), and what was measured (m,)."""
    lattice = lattice_of(measured)
    return Sensor(noise=_noise(left), quantum=0.0 if lattice is None else lattice.step)


def excess_of(left: np.ndarray, quantum: float) -> float:
    """What is left of a column (m,), as a multiple of what a sensor of such ticks would leave."""
    floor = Sensor(noise=_noise(left), quantum=quantum).floor
    return float(np.sqrt((left**2).mean()) / floor)


def allowed(
    best: np.ndarray, drawn: np.ndarray, sensor: Sensor, generator: np.random.Generator
) -> float:
    """How large `excess_of` may become if nothing is missing.

    Args:
        best: (m,) what the best point says.
        drawn: (k, m) what points drawn from the posterior say.
        sensor: Who reads it.
        generator: Where noise comes from.
    """
    sources = drawn if len(drawn) else best[None]
    sizes = []
    for k in range(_READ):
        read = sensor.read(sources[k % len(sources)], generator)
        sizes.append(np.log(max(excess_of(best - read, sensor.quantum), _NOTHING)))
    return float(np.exp(np.mean(sizes) + _SURE * np.std(sizes, ddof=1)))


def _noise(left: np.ndarray) -> float:
    """What differs from one reading to the next: what is smooth drops out."""
    return float(np.sqrt((np.diff(left, 2) ** 2).mean() / 6.0))
