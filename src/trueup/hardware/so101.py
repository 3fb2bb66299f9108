"""A real SO-101 on a serial port, behind the robot contract.

Everything that LeRobot counts in ticks, degrees or percent becomes radians of our model here, and
nowhere else; `trueup.hardware.feetech.calibration` says how.
"""

from __future__ import annotations

import importlib.util
from contextlib import suppress
from pathlib import Path
from typing import Literal

import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.clock import Clock, WallClock
from trueup.hardware.feetech.calibration import (
    FULL_TORQUE,
    Calibration,
    Calibrations,
    Scale,
    doubts,
    model_ranges,
    nominal_model,
    read_calibration,
)
from trueup.hardware.feetech.host import Driver, LerobotDriver, SdkDriver, State
from trueup.hardware.feetech.packets import Alarm
from trueup.hardware.feetech.registers import (
    AMPERE_PER_COUNT,
    FULL_LOAD,
    TICKS,
    VOLT_PER_COUNT,
)
from trueup.hardware.pace import Pace
from trueup.hardware.robot import Robot
from trueup.policies import Feature, Interface
from trueup.worlds.kinematics import ForwardKinematics
from trueup.worlds.so101 import HOME, JOINTS

DRIVERS = {"lerobot": LerobotDriver, "sdk": SdkDriver}
_NEEDS = {"lerobot": "lerobot", "sdk": "scservo_sdk"}
_HOMING_RAD_S = 0.6
_HOMING_PERIOD_S = 0.02
_UNITS = {"joint_position": "rad", "joint_velocity": "rad/s", "joint_force": "N·m"}


class So101(Robot):
    """One SO-101 follower arm.

    It observes `joint_position`, `joint_velocity` and `joint_force` as the so101 worlds have them,
    `tcp_position` by the model's kinematics, and `joint_current` in ampere. The force is the drive
    that the servo reports, as a share of its stall torque: what the model's servo pulls with before
    friction. It is no measurement of torque.

    Its limits are the model's. A target beyond what was calibrated is sent as far as that goes, and
    `act` returns what was sent.

    Args:
        port: Of the bus, e.g. `/dev/ttyACM0`.
        calibration: LeRobot's calibration file; by default what the servos keep of it.
        driver: `lerobot`, or `sdk` for Feetech's SDK alone; LeRobot's by default, where installed.
        period_s: Time between commands.
    """

    kind = "so101"
    n = 1

    def __init__(
        self,
        port: str,
        *,
        calibration: Path | str | None = None,
        driver: Literal["lerobot", "sdk"] | None = None,
        period_s: float = 0.04,
    ) -> None:
        self.port, self.name, self.real = port, f"SO-101 on {port}", True
        self.clock: Clock = WallClock()
        self.columns = {**dict.fromkeys((*_UNITS, "joint_current"), JOINTS)}
        self.columns["tcp_position"] = ("x", "y", "z")
        self.interface = _interface(period_s)
        self._driver: Driver = _driver(driver)(port)
        self._wanted = None if calibration is None else read_calibration(calibration)
        self._tcp = ForwardKinematics(nominal_model(), "tcp", JOINTS)
        self._scale: Scale | None = None
        self._enabled = False
        self._hold = np.zeros(len(JOINTS))
        self.calibrations: Calibrations = {}

    # The contract ---------------------------------------------------------------------------------

    def connect(self) -> None:
        if self._scale is not None:
            return
        try:
            self._driver.open()
            self.calibrations = self._agreed(self._driver.calibrations())
            self._scale = Scale(self.calibrations)
            self._hold = self._scale.rad(self._driver.read().position)
        except BaseException:
            self._let_go()
            raise
        self.real = not self._driver.emulated
        if self._driver.emulated:
            self.name = f"emulated SO-101 on {self.port} (sim-to-sim)"

    def disconnect(self) -> None:
        self._let_go()

    def enable(self) -> None:
        scale = self._connected()
        if self._enabled:
            return
        goals = scale.ticks(scale.rad(self._driver.read().position))
        try:
            self._driver.hold(goals)
        except BaseException:
            with suppress(TrueupError):
                self._driver.torque(False)
            raise
        self._hold, self._enabled = scale.rad(goals), True

    def disable(self) -> None:
        self._connected()
        self._enabled = False
        self._driver.torque(False)

    def observe(self) -> dict[str, np.ndarray]:
        scale = self._connected()
        state = self._driver.read()
        if self._enabled:
            _refuse_alarms(state)
        position = scale.rad(state.position)
        current = np.sign(state.load) * state.current
        return {
            "joint_position": position[None],
            "joint_velocity": scale.rad_per_s(state.velocity)[None],
            "joint_force": state.load[None] / FULL_LOAD * FULL_TORQUE,
            "joint_current": current[None] * AMPERE_PER_COUNT,
            "tcp_position": self._tcp(position[None]),
        }

    def act(self, commands: np.ndarray) -> np.ndarray:
        scale = self._connected()
        goals = scale.ticks(_checked(commands))
        if not self._enabled:
            raise TrueupError(
                f"The {self.name} has no torque, so that the command was not sent.",
                fix="Call enable first.",
            )
        self._driver.send(goals)
        self._hold = scale.rad(goals)
        return self._hold[None].copy()

    def reset(self, seeds: np.ndarray | None = None, rows: np.ndarray | None = None) -> None:
        self._connected()
        if not self._enabled:
            return
        start, pace = self._hold.copy(), Pace(self.clock, _HOMING_PERIOD_S)
        away = np.abs(np.array(HOME) - start).max()
        turns = max(1, int(np.ceil(away / _HOMING_RAD_S / _HOMING_PERIOD_S)))
        for k in range(1, turns + 1):
            share = k / turns
            eased = share * share * (3.0 - 2.0 * share)
            pace.wait()
            self.act((start + eased * (np.array(HOME) - start))[None])

    @property
    def hold(self) -> np.ndarray:
        return self._hold[None].copy()

    # What else a person at the arm wants to know --------------------------------------------------

    @property
    def doubts(self) -> list[str]:
        """What makes one doubt the calibration, a sentence each; none before it is connected."""
        return doubts(self.calibrations) if self.calibrations else []

    def health(self) -> dict[str, dict[str, float]]:
        """Supply voltage (V) and temperature (°C) of each servo, by joint."""
        self._connected()
        state = self._driver.read()
        return {
            joint: {
                "voltage_v": float(state.voltage[i]) * VOLT_PER_COUNT,
                "temperature_c": float(state.temperature[i]),
            }
            for i, joint in enumerate(JOINTS)
        }

    # ----------------------------------------------------------------------------------------------

    def _connected(self) -> Scale:
        if self._scale is None:
            raise TrueupError(f"The {self.name} is not connected.", fix="Call connect first.")
        return self._scale

    def _let_go(self) -> None:
        self._enabled, self._scale = False, None
        self._driver.close()

    def _agreed(self, kept: Calibrations) -> Calibrations:
        """The calibration to go by: the servos must hold what the file says."""
        if all(
            c.homing_offset == 0 and c.range_max - c.range_min == TICKS - 1 for c in kept.values()
        ):
            raise TrueupError(
                f"The servos on {self.port} are not calibrated.",
                fix="Run: lerobot-calibrate --robot.type=so101_follower "
                f"--robot.port={self.port} --robot.id=my_arm",
            )
        for joint in JOINTS if self._wanted is not None else ():
            assert self._wanted is not None
            if kept[joint] != self._wanted[joint]:
                raise TrueupError(
                    f"The servo of {joint!r} on {self.port} keeps {_shown(kept[joint])}, but the "
                    f"calibration file says {_shown(self._wanted[joint])}.",
                    fix="This is another arm, or it was calibrated since: give its own file, or "
                    "none to use what the servos keep.",
                )
        return kept


def _driver(word: str | None) -> type[Driver]:
    """The driver of a name; by default the first one whose package is installed."""
    if word is not None and word not in DRIVERS:
        raise TrueupError(f"There is no driver {word!r}.", fix=f"Choose {' or '.join(DRIVERS)}.")
    for name in (word,) if word else DRIVERS:
        if importlib.util.find_spec(_NEEDS[name]) is not None:
            return DRIVERS[name]
    raise TrueupError(
        "An SO-101 is driven through LeRobot, which is not installed.",
        fix="Run: pip install 'trueup[lerobot]'",
    )


def _interface(period_s: float) -> Interface:
    ranges = model_ranges()
    joints = [Feature(name=name, size=len(JOINTS), unit=unit) for name, unit in _UNITS.items()]
    return Interface(
        observations=(
            *joints,
            Feature(name="tcp_position", size=3, unit="m"),
            Feature(name="joint_current", size=len(JOINTS), unit="A"),
        ),
        commands=JOINTS,
        unit=("rad",) * len(JOINTS),
        low=tuple(ranges[:, 0].tolist()),
        high=tuple(ranges[:, 1].tolist()),
        period_s=period_s,
        measured="joint_position",
    )


def _checked(commands: np.ndarray) -> np.ndarray:
    given = np.asarray(commands, float)
    if given.shape != (1, len(JOINTS)):
        raise TrueupError(
            f"A command of shape {given.shape} was given to an SO-101.",
            fix=f"Give one of shape (1, {len(JOINTS)}): {', '.join(JOINTS)}.",
        )
    if not np.isfinite(given).all():
        joint = JOINTS[int(np.flatnonzero(~np.isfinite(given[0]))[0])]
        raise TrueupError(
            f"The command for {joint!r} is not finite.", fix="Check the policy's output."
        )
    return given[0]


class ServoAlarm(TrueupError):
    """A servo that protects itself: it has cut its torque, or soon will."""


def _refuse_alarms(state: State) -> None:
    for joint, bits in zip(JOINTS, state.status, strict=True):
        causes = [alarm.name.lower() for alarm in Alarm if int(bits) & alarm]
        if causes:
            raise ServoAlarm(
                f"The servo of {joint!r} reports {' and '.join(causes)}.",
                fix="Switch the arm off, free or cool the joint, and begin again.",
            )


def _shown(calibration: Calibration) -> str:
    return (
        f"offset {calibration.homing_offset}, range {calibration.range_min} to "
        f"{calibration.range_max}"
    )
