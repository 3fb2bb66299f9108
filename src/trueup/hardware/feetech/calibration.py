"""What LeRobot's calibration knows of an SO-101, and how its ticks become radians of our model.

LeRobot calibrates in two acts. The arm is put into the middle of its range, and each servo's homing
offset makes that place read 2047. Then every joint but `wrist_roll` is moved from stop to stop, and
the ends are kept. LeRobot's zero of a joint is the middle between those ends; of the gripper, 0 is
the lower end (closed) and 100 the upper one (open).

Our model has the same middle, up to how far one really moved it: `Scale` puts the middle of the
kept range on the middle of the model's range, and the jaw's ends on the model's ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import mujoco
import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from trueup.errors import TrueupError
from trueup.hardware.feetech.registers import RAD_PER_TICK, TICKS
from trueup.worlds.so101 import JOINTS, TORQUE_LIMIT, so101

FULL_TURN = "wrist_roll"
"""The joint whose range LeRobot does not record: it keeps 0 to 4095."""

GRIPPER = "gripper"

FULL_TORQUE = TORQUE_LIMIT
"""N·m at full drive: what Present_Load = 1000 means in our model."""

_TOLERANCE_RAD = np.radians(12.0)


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What is kept of one servo, in LeRobot's words.

    Attributes:
        id: Its number on the bus.
        drive_mode: Unused by LeRobot's SO-101; 0.
        homing_offset: Ticks that are taken off what the encoder reads.
        range_min: Lowest reading, after that.
        range_max: Highest.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    id: int
    drive_mode: int
    homing_offset: int
    range_min: int
    range_max: int

    @property
    def middle(self) -> float:
        """LeRobot's zero, ticks."""
        return 0.5 * (self.range_min + self.range_max)


Calibrations = Mapping[str, Calibration]
"""By joint."""


@cache
def nominal_model() -> mujoco.MjModel:
    """The arm alone, as everybody knows it."""
    return so101(visual=False).compile()


@cache
def model_ranges() -> np.ndarray:
    """(6, 2) how far each joint of our model goes, rad."""
    ranges = np.array([nominal_model().joint(joint).range for joint in JOINTS])
    ranges.flags.writeable = False
    return ranges


class Scale:
    """Ticks to radians of our model and back, for all six joints.

    Args:
        calibrations: Of each joint.

    Attributes:
        low: (6,) least target that the servos and the model both allow, rad.
        high: (6,) greatest.
    """

    def __init__(self, calibrations: Calibrations) -> None:
        check_complete(calibrations)
        ranges = model_ranges()
        own = [calibrations[joint] for joint in JOINTS]
        self._least = np.array([c.range_min for c in own])
        self._most = np.array([c.range_max for c in own])
        jaw = np.array([joint == GRIPPER for joint in JOINTS])
        width = np.where(jaw, (ranges[:, 1] - ranges[:, 0]) / (self._most - self._least), 0.0)
        self._rad_per_tick = np.where(jaw, width, RAD_PER_TICK)
        self._zero = np.array([c.middle for c in own])
        self._middle = ranges.mean(axis=1)
        self._first = np.maximum(self._least, np.ceil(self._raw(ranges[:, 0]) - 1e-6)).astype(int)
        self._last = np.minimum(self._most, np.floor(self._raw(ranges[:, 1]) + 1e-6)).astype(int)
        self.low, self.high = self.rad(self._first), self.rad(self._last)

    def rad(self, ticks: np.ndarray) -> np.ndarray:
        """(6,) joint positions, rad, from what the position registers read."""
        return self._middle + (np.asarray(ticks) - self._zero) * self._rad_per_tick

    def ticks(self, rad: np.ndarray) -> np.ndarray:
        """(6,) whole ticks nearest to joint positions, inside the limits."""
        return np.clip(np.rint(self._raw(rad)), self._first, self._last).astype(int)

    def rad_per_s(self, ticks_per_s: np.ndarray) -> np.ndarray:
        """(6,) joint velocities from what the velocity registers read."""
        return np.asarray(ticks_per_s) * self._rad_per_tick

    def _raw(self, rad: np.ndarray) -> np.ndarray:
        return self._zero + (rad - self._middle) / self._rad_per_tick


def check_complete(calibrations: Calibrations) -> None:
    """Refuse what cannot be the calibration of an SO-101."""
    missing = [joint for joint in JOINTS if joint not in calibrations]
    if missing:
        raise TrueupError(
            f"The calibration lacks {', '.join(missing)}.",
            fix="Calibrate the whole arm: lerobot-calibrate --robot.type=so101_follower.",
        )
    for joint in JOINTS:
        own = calibrations[joint]
        if not 0 <= own.range_min < own.range_max < TICKS:
            raise TrueupError(
                f"The calibration of {joint!r} has a range from {own.range_min} to "
                f"{own.range_max} ticks.",
                fix=f"A range rises within 0 to {TICKS - 1}: calibrate this arm again.",
            )


def doubts(calibrations: Calibrations) -> list[str]:
    """What makes one doubt a calibration, a sentence for each joint.

    A joint that was not moved from stop to stop has its middle, and so its zero, in the wrong
    place; nothing else shows it until the arm misses what it reaches for.
    """
    found = []
    for joint, (low, high) in zip(JOINTS, model_ranges(), strict=True):
        own = calibrations[joint]
        if joint == FULL_TURN:
            continue
        width = (own.range_max - own.range_min) * RAD_PER_TICK
        if abs(width - (high - low)) > _TOLERANCE_RAD:
            found.append(
                f"{joint!r} was calibrated over {np.degrees(width):.0f}°, but an SO-101 moves it "
                f"over {np.degrees(high - low):.0f}°: its zero may be off by up to "
                f"{np.degrees(abs(width - (high - low))) / 2:.0f}°."
            )
    return found


def read_calibration(path: Path | str) -> dict[str, Calibration]:
    """A calibration file of LeRobot."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TrueupError(
            f"The calibration {file} cannot be read: {error}.",
            fix="Give the JSON file that lerobot-calibrate wrote, or none to use what the servos "
            "themselves keep.",
        ) from error
    try:
        calibrations = TypeAdapter(dict[str, Calibration]).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "all of it"
        raise TrueupError(
            f"{file} is not a calibration of LeRobot: {place}: {first['msg']}.",
            fix="Give the JSON file that lerobot-calibrate wrote.",
        ) from error
    check_complete(calibrations)
    return calibrations


def calibration_json(calibrations: Calibrations) -> str:
    """The text of LeRobot's file."""
    return json.dumps({name: asdict(own) for name, own in calibrations.items()}, indent=4)
