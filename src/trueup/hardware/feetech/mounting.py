"""How the servos sit in an emulated arm: what an encoder reads where a joint stands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.feetech.calibration import FULL_TURN, GRIPPER, Calibration
from trueup.hardware.feetech.registers import FULL_LOAD, HALF_TURN, RAD_PER_TICK, TICKS
from trueup.hardware.feetech.servo import Servo
from trueup.worlds.so101 import JOINTS


@dataclass(frozen=True, kw_only=True)
class Mounting:
    """Servos in their places. Nobody at the other end of the bus knows these numbers.

    Attributes:
        ids: Each servo's number on the bus.
        encoder_at_zero: What each encoder reads where the model's joint is at 0, ticks.
        direction: 1 where an encoder counts up as the model's joint does, -1 where it counts down.
        calibrated: Whether LeRobot's calibration was done; new servos otherwise.
        calibration_error: By how much each reading is too high since, rad: a middle that was
            missed, or a horn that slipped by a tooth.
    """

    ids: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    encoder_at_zero: tuple[int, ...] = (1890, 2210, 2390, 1920, 2100, 1410)
    direction: tuple[int, ...] = (1, 1, 1, 1, 1, 1)
    calibrated: bool = True
    calibration_error: tuple[float, ...] = (0.0,) * 6

    def __post_init__(self) -> None:
        for name in ("ids", "encoder_at_zero", "direction", "calibration_error"):
            if len(getattr(self, name)) != len(JOINTS):
                raise TrueupError(
                    f"A mounting has {len(getattr(self, name))} {name}.",
                    fix=f"Give one for each of {', '.join(JOINTS)}.",
                )
        if any(sign not in (-1, 1) for sign in self.direction):
            raise TrueupError(f"Directions are {self.direction}.", fix="Each is 1 or -1.")

    def encoder(self, joints: np.ndarray) -> np.ndarray:
        """(6,) what the encoders read, 0 to 4095, where the joints stand at these angles, rad."""
        turned = np.array(self.direction) * joints / RAD_PER_TICK
        return np.rint(np.array(self.encoder_at_zero) + turned).astype(int) % TICKS

    def calibrations(self, ranges: np.ndarray) -> dict[str, Calibration]:
        """What LeRobot's calibration of this arm finds, where its joints go this far (6, 2)."""
        error = np.rint(np.array(self.calibration_error) / RAD_PER_TICK).astype(int)
        homing = self.encoder(ranges.mean(axis=1)) - HALF_TURN - error
        span = np.rint(0.5 * (ranges[:, 1] - ranges[:, 0]) / RAD_PER_TICK).astype(int)
        whole = [joint == FULL_TURN for joint in JOINTS]
        least = np.where(whole, 0, HALF_TURN - span)
        most = np.where(whole, TICKS - 1, HALF_TURN + span)
        return {
            joint: Calibration(
                id=self.ids[i],
                drive_mode=0,
                homing_offset=int(np.clip(homing[i], -HALF_TURN, HALF_TURN)),
                range_min=int(least[i]),
                range_max=int(most[i]),
            )
            for i, joint in enumerate(JOINTS)
        }

    def servos(self, ranges: np.ndarray) -> list[Servo]:
        """The six servos as they come: new, or as LeRobot's calibration left them."""
        if not self.calibrated:
            return [Servo(ID=id_) for id_ in self.ids]
        return [
            Servo(
                ID=own.id,
                Homing_Offset=own.homing_offset,
                Min_Position_Limit=own.range_min,
                Max_Position_Limit=own.range_max,
                Return_Delay_Time=0,
                P_Coefficient=16,
                Max_Torque_Limit=FULL_LOAD // 2 if joint == GRIPPER else FULL_LOAD,
            )
            for joint, own in self.calibrations(ranges).items()
        ]
