"""The bus through LeRobot."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from trueup.hardware.feetech.calibration import Calibration
from trueup.hardware.feetech.host.driver import Driver
from trueup.worlds.so101 import JOINTS


class LerobotDriver(Driver):
    """LeRobot's own SO-101 class: it opens the port, reads the calibration, sets the servos up."""

    def _connect(self) -> tuple[Any, Any]:
        from lerobot.robots.so_follower import (  # pyright: ignore[reportMissingImports]
            SO101Follower,
            SO101FollowerConfig,
        )

        with tempfile.TemporaryDirectory() as nowhere:  # it would make a folder in the user's home
            config = SO101FollowerConfig(port=self.port, calibration_dir=Path(nowhere))
            self._follower = SO101Follower(config)
        self._follower.bus.connect(handshake=False)  # we check the servos, and say it better
        return self._follower.bus.port_handler, self._follower.bus.packet_handler

    def calibrations(self) -> dict[str, Calibration]:
        with self._talking():
            kept = self._follower.bus.read_calibration()
            return {joint: Calibration(**vars(kept[joint])) for joint in JOINTS}

    def _configure(self) -> None:
        with self._talking():
            self._follower.configure()
