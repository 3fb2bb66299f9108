"""The bus through Feetech's SDK alone."""

from __future__ import annotations

from typing import Any

from trueup.errors import TrueupError
from trueup.hardware.feetech.calibration import GRIPPER, Calibration
from trueup.hardware.feetech.host.driver import IDS, WIRING, Driver
from trueup.worlds.so101 import JOINTS

# What LeRobot's SO-101 class writes before it switches the torque on.
_SETTINGS = {
    "Return_Delay_Time": 0,
    "Maximum_Acceleration": 254,
    "Acceleration": 254,
    "Operating_Mode": 0,
    "P_Coefficient": 16,
    "I_Coefficient": 0,
    "D_Coefficient": 32,
}
_GENTLE = {"Max_Torque_Limit": 500, "Protection_Current": 250, "Overload_Torque": 25}


class SdkDriver(Driver):
    """Feetech's SDK alone: a few kilobytes instead of LeRobot's gigabytes."""

    def _connect(self) -> tuple[Any, Any]:
        import scservo_sdk

        serial = scservo_sdk.PortHandler(self.port)
        if not serial.openPort():
            raise TrueupError(f"The port {self.port} cannot be opened.", fix=WIRING)
        return serial, scservo_sdk.PacketHandler(0)

    def calibrations(self) -> dict[str, Calibration]:
        with self._talking():
            return {
                joint: Calibration(
                    id=IDS[joint],
                    drive_mode=0,
                    homing_offset=self._value("Homing_Offset", joint),
                    range_min=self._value("Min_Position_Limit", joint),
                    range_max=self._value("Max_Position_Limit", joint),
                )
                for joint in JOINTS
            }

    def _configure(self) -> None:
        for joint in JOINTS:
            for name, value in {**_SETTINGS, **(_GENTLE if joint == GRIPPER else {})}.items():
                self._write(name, joint, value)
        self.torque(True)
