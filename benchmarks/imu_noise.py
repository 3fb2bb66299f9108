"""The noise density of a real IMU, from its Allan deviation, beside what its log's authors state.

The log is not part of the repository: TRUEUP_DATA names the folder that holds `imu-real`, and
`../shared/data` is looked at where it does not. Only the first 50 s lie still.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np

from benchmarks.measure import Effort, Measure, Target
from trueup.identify.allan import AllanNoise, allan_noise

_RATE_HZ, _STILL = 100.0, 5000
_STATED = {"gyro": (26.6, 26.8, 27.5), "acc": (3.3, 3.2, 3.4)}
"""Standard deviations of single readings at rest, in counts, by axis."""


def measure(effort: Effort) -> list[Measure]:
    folder = _folder()
    found = []
    for sensor, stated in _STATED.items():
        what = f"noise density of a real IMU's {sensor} against its static figures, worst axis"
        file = folder / f"xsens_{sensor}.mat.gz"
        if not file.is_file():
            note = f"{file} is missing: TRUEUP_DATA names the folder of real recordings"
            found.append(Measure(what=what, value=None, note=note))
            continue
        with gzip.open(file) as text:
            log = np.loadtxt(text, max_rows=_STILL)[:, 1:]
        axes = [
            allan_noise(axis, _RATE_HZ, unit="count", generator=np.random.default_rng(0))
            for axis in log.T
        ]
        found.append(_compared(what, axes, stated))
    return found


def _compared(what: str, axes: list[AllanNoise], stated: tuple[float, ...]) -> Measure:
    densities = [axis.strengths["white"] for axis in axes]
    singles = np.array([white.value * np.sqrt(_RATE_HZ) for white in densities])
    off = 100.0 * np.abs(singles / np.array(stated) - 1.0)
    return Measure(
        what=what,
        value=float(off.max()),
        unit="%",
        spread=(float(off.min()), float(off.max())),
        target=Target(side="≤", value=10.0),
        note=", ".join(f"{d.value:.3g} {d.unit}" for d in densities),
        details={"single readings": singles.tolist(), "stated": list(stated)},
    )


def _folder() -> Path:
    named = os.environ.get("TRUEUP_DATA")
    root = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    return root / "imu-real"
