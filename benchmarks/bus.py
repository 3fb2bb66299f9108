"""A recording at 50 Hz over the emulated servo bus: how often a turn begins late.

The arm is in a process of its own behind a pseudo-terminal, with the times of a bus of 1 Mbaud. A
turn reads all servos, passes the guard, commands them and takes everything down. Beside it, the
same loop over the same bus without the recorder: what is late there is the bus's or the machine's.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import Effort, Measure, Target
from trueup.episodes import Writer
from trueup.hardware import Pace, Timing
from trueup.hardware.feetech import EmulatedArm
from trueup.hardware.so101 import So101
from trueup.record import Multisine, record
from trueup.worlds import get

_PERIOD_S, _LATE_S = 0.02, 0.005
_MINUTES, _QUICK_MINUTES = 10.0, 1.0
_AMPLITUDE_RAD, _WAVE_HZ = 0.05, 0.5  # about the ready pose, near a limit of the wrist


def measure(effort: Effort) -> list[Measure]:
    minutes = _QUICK_MINUTES if effort.quick else _MINUTES
    with EmulatedArm() as arm, So101(arm.port, driver="sdk", period_s=_PERIOD_S) as robot:
        robot.enable()
        robot.reset()
        spent: dict[str, list[float]] = {"observe": [], "act": []}
        bare = _bare(robot, 60.0 * minutes / 5.0, spent)
        with tempfile.TemporaryDirectory() as folder:
            recorded, episodes = _recorded(robot, 60.0 * minutes, Path(folder) / "episodes")
    late = 1e3 * np.quantile(recorded.late_s, [0.5, 0.99, 1.0])
    return [
        Measure(
            what=f"turns more than 5 ms late, recorded at 50 Hz for {minutes:g} min",
            value=_share(recorded),
            unit="%",
            target=Target(side="<", value=0.1),
            note=f"{recorded.misses(_LATE_S)} of {len(recorded.late_s)} turns, late by "
            f"{late[0]:.2f} ms (median), {late[1]:.2f} (99 %), {late[2]:.1f} (worst); without the "
            f"recorder {_share(bare):.3g} % of {len(bare.late_s)} (sim-to-sim)",
            details={"minutes": minutes, "episodes": episodes, "late_ms": late.tolist()},
        ),
        *(
            Measure.of(f"{what} over the emulated bus", 1e3 * np.array(seconds), unit="ms")
            for what, seconds in spent.items()
        ),
    ]


def _bare(robot: So101, seconds: float, spent: dict[str, list[float]]) -> Timing:
    """Observe and act, and nothing else."""
    pace, clock, home = Pace(robot.clock, _PERIOD_S), robot.clock, robot.hold
    for k in range(round(seconds / _PERIOD_S)):
        begin = pace.wait()
        robot.observe()
        seen = clock.now_s()
        wave = _AMPLITUDE_RAD * np.sin(2.0 * np.pi * _WAVE_HZ * k * _PERIOD_S)
        robot.act(home + wave * np.eye(1, home.shape[1]))
        spent["observe"].append(seen - begin)
        spent["act"].append(clock.now_s() - seen)
    return pace.timing


def _recorded(robot: So101, seconds: float, folder: Path) -> tuple[Timing, int]:
    """The same with a recorder, as `trueup record` has it."""
    motion = Multisine(duration_s=seconds, amplitude_rad=(_AMPLITUDE_RAD,))
    with Writer(folder) as writer:
        done = record(robot, motion, world=get("so101/reach"), writer=writer)
    (timing,) = done.timings
    return timing, len(done.episodes)


def _share(timing: Timing) -> float:
    return 100.0 * timing.misses(_LATE_S) / len(timing.late_s)
