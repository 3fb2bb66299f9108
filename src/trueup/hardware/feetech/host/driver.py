"""The wire to six servos, in ticks: through LeRobot's driver, or through Feetech's SDK alone.

LeRobot's bus is built on the same SDK, so what runs at the control rate is one piece of code: all
that a servo senses comes in a single sync read of 15 bytes, the goals go in a single sync write.
"""

from __future__ import annotations

import select
import termios
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.feetech.calibration import Calibration
from trueup.hardware.feetech.host.port import check_port, claim
from trueup.hardware.feetech.host.state import FIRST, LENGTH, State
from trueup.hardware.feetech.registers import (
    MODEL_NUMBER,
    REGISTERS,
    SIGNATURE,
    SIGNATURE_ADDRESS,
    register,
)
from trueup.hardware.robot import RobotLost
from trueup.worlds.so101 import JOINTS

IDS: dict[str, int] = dict(zip(JOINTS, range(1, 7), strict=True))
"""The number of each joint's servo on the bus, as LeRobot gives them."""

_TRIES = 3  # at least, and until so long has passed without an answer
_GIVE_UP_S, _GLANCE_S = 0.5, 0.1
_PATIENCE_S = 0.02  # for answers; the SDK waits a little longer for what is missing then
_QUIET_S = 0.005  # a bus this long without a byte is done
_BYTE_S = 1e-5
_ENVELOPE = 6  # bytes of a status packet around what was read
_GONE = (OSError, termios.error, TypeError)
"""What pyserial raises where a port is unplugged; the last one where it was closed meanwhile."""

_GOAL = register("Goal_Position")

WIRING = (
    "Check that the arm has power and that every cable of the chain sits; servos get their ids "
    "with lerobot-setup-motors."
)
"""What to do where servos were never heard of."""

_LOOK = "Check power and cables; what was recorded until now is kept."


class Driver(ABC):
    """Six servos on one port.

    Args:
        port: The serial port.

    Attributes:
        emulated: Whether the servos say that no arm is behind them; known once it is open.
    """

    def __init__(self, port: str) -> None:
        self.port, self.emulated = port, False
        self._ready = False
        self._turn = threading.RLock()  # a watchdog may let go while another thread waits
        self._serial: Any = None  # the SDK's port and packet handlers, once it is open
        self._packets: Any = None
        self._reader: Any = None
        self._writer: Any = None

    @abstractmethod
    def _connect(self) -> tuple[Any, Any]:
        """Open the port; the SDK's port handler and packet handler."""

    @abstractmethod
    def calibrations(self) -> dict[str, Calibration]:
        """What the servos keep of the last calibration."""

    @abstractmethod
    def _configure(self) -> None:
        """Set gains, limits and delays as LeRobot does, then switch the torque on."""

    def open(self) -> None:
        """Open the port and see that all six servos are there. Torque goes off."""
        check_port(self.port)
        try:
            self._serial, self._packets = self._connect()
        except OSError as error:
            raise TrueupError(
                f"The port {self.port} cannot be opened: {' '.join(str(error).split())}",
                fix=WIRING,
            ) from error
        with self._talking():
            claim(self._serial.ser.fileno(), self.port)
            self._serial.ser.reset_input_buffer()
            self._check_servos()
            self._prepare()
            self.torque(False)

    def close(self) -> None:
        """Torque off as far as that can be, then let the port go."""
        with self._turn:
            if self._serial is None:
                return
            with suppress(TrueupError):
                self.torque(False)
            with suppress(*_GONE):
                self._serial.closePort()
            self._serial, self._ready = None, False

    def hold(self, goals: np.ndarray) -> None:
        """Torque on at these goals (6,), which should be where the joints are.

        Goals are sent first: what a servo was told long ago would make it jump.
        """
        self.send(goals)
        if self._ready:
            self.torque(True)
        else:
            self._configure()
            self._ready = True

    def torque(self, on: bool) -> None:
        """Switch the torque of all servos; their memory is locked while it is on.

        One that does not answer keeps none of the others from being let go.
        """
        lost = None
        for joint in JOINTS:
            try:
                self._write("Torque_Enable", joint, int(on))
                self._write("Lock", joint, int(on))
            except RobotLost as error:
                if on:
                    raise
                lost = error
        if lost is not None:
            raise lost

    def read(self) -> State:
        """What all servos sense, in one exchange; a lost answer is asked for again."""
        with self._talking():
            for _ in _tries(_GIVE_UP_S):
                # what came too late for its own question would be taken for the answer to this one
                self._serial.ser.reset_input_buffer()
                if self._reader.txPacket() == 0 and self._answered():
                    return State.of(self._reader, list(IDS.values()))
                self._hush()
            raise RobotLost(f"{self._silence(self._models(_GLANCE_S))}.", fix=_LOOK)

    def send(self, goals: np.ndarray) -> None:
        """Send all servos to whole ticks (6,), in one packet that nobody answers."""
        with self._talking():
            self._writer.clearParam()
            for joint, goal in zip(JOINTS, goals, strict=True):
                self._writer.addParam(IDS[joint], list(_GOAL.encoded(int(goal))))
            if self._writer.txPacket() != 0:
                raise RobotLost(f"A command could not be sent on {self.port}.", fix=_LOOK)

    def _answered(self) -> bool:
        """Whether all servos answered; the processor is left to others until they have.

        The SDK alone would spin, and on a busy computer that delays the very bytes it waits for.
        """
        serial, expected = self._serial.ser, len(JOINTS) * (LENGTH + _ENVELOPE)
        latest = time.perf_counter() + _PATIENCE_S
        while (missing := expected - serial.in_waiting) > 0 and time.perf_counter() < latest:
            if missing == expected:
                select.select([serial.fileno()], [], [], _PATIENCE_S)
            else:
                time.sleep(missing * _BYTE_S)
        return self._reader.rxPacket() == 0

    def _hush(self) -> None:
        """Wait until nothing more comes of a failed exchange, but not for long."""
        serial, latest = self._serial.ser, time.perf_counter() + _PATIENCE_S
        while time.perf_counter() < latest:
            serial.reset_input_buffer()
            if not select.select([serial.fileno()], [], [], _QUIET_S)[0]:
                return

    # One servo ------------------------------------------------------------------------------------

    def _value(self, name: str, joint: str, patience_s: float = _GIVE_UP_S) -> int:
        known = REGISTERS[name]
        for _ in _tries(patience_s):
            self._serial.ser.reset_input_buffer()
            data, result, _ = self._packets.readTxRx(
                self._serial, IDS[joint], known.address, known.size
            )
            if result == 0 and len(data) == known.size:
                return known.decoded(bytes(data))
        raise RobotLost(f"The servo of {joint!r} on {self.port} does not answer.", fix=_LOOK)

    def _write(self, name: str, joint: str, value: int) -> None:
        known = REGISTERS[name]
        with self._talking():
            for _ in _tries(_GLANCE_S):
                self._serial.ser.reset_input_buffer()
                result, _ = self._packets.writeTxRx(
                    self._serial, IDS[joint], known.address, known.size, list(known.encoded(value))
                )
                if result == 0:
                    return
            raise RobotLost(f"The servo of {joint!r} on {self.port} does not answer.", fix=_LOOK)

    # ----------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        import scservo_sdk

        self._reader = scservo_sdk.GroupSyncRead(self._serial, self._packets, FIRST, LENGTH)
        self._writer = scservo_sdk.GroupSyncWrite(
            self._serial, self._packets, _GOAL.address, _GOAL.size
        )
        for joint in JOINTS:
            self._reader.addParam(IDS[joint])
        data, result, _ = self._packets.readTxRx(
            self._serial, IDS[JOINTS[0]], SIGNATURE_ADDRESS, len(SIGNATURE)
        )
        self.emulated = result == 0 and bytes(data) == SIGNATURE

    def _models(self, patience_s: float) -> dict[str, int]:
        """The model number of each servo that answers, by joint."""
        found = {}
        for joint in JOINTS:
            with suppress(RobotLost):
                found[joint] = self._value("Model_Number", joint, patience_s)
        return found

    def _check_servos(self) -> None:
        found = self._models(_GIVE_UP_S)
        if len(found) < len(JOINTS):
            raise TrueupError(self._silence(found) + ".", fix=WIRING)
        others = {joint: model for joint, model in found.items() if model != MODEL_NUMBER}
        if others:
            listed = ", ".join(
                f"{joint!r} (model number {model})" for joint, model in others.items()
            )
            raise TrueupError(
                f"On {self.port} these servos are no STS3215: {listed}.",
                fix="An SO-101 follower has six of them; check which arm this port is.",
            )

    def _silence(self, found: dict[str, int]) -> str:
        """Which servos do not answer, as a sentence without its end."""
        silent = [f"{IDS[joint]} ({joint})" for joint in JOINTS if joint not in found]
        if len(silent) == len(JOINTS):
            return f"No servo answers on {self.port}"
        if not silent:
            return f"The servos on {self.port} answer one by one, but not together"
        told = "servo {} does" if len(silent) == 1 else "servos {} do"
        return f"On {self.port} the {told.format(', '.join(silent))} not answer, the others do"

    @contextmanager
    def _talking(self) -> Iterator[None]:
        """One exchange at a time; what a broken port raises becomes what is true of the robot."""
        try:
            with self._turn:
                if self._serial is None:
                    raise RobotLost(f"The port {self.port} is closed.", fix="Connect again.")
                self._serial.is_using = False  # an interrupted exchange left it so
                yield
        except TrueupError:
            raise
        except _GONE as error:
            raise RobotLost(
                f"The port {self.port} is gone: {error}.",
                fix="Check the USB cable; what was recorded until now is kept.",
            ) from error
        except RuntimeError as error:  # LeRobot, where a servo answers with an alarm
            raise TrueupError(
                f"The servos on {self.port} refuse: {' '.join(str(error).split())}",
                fix="Switch the arm off, free or cool the joint, and begin again.",
            ) from error


def _tries(patience_s: float) -> Iterator[int]:
    """Attempts at one exchange: a few, and more while a computer may just have been busy."""
    latest, count = time.perf_counter() + patience_s, 0
    while count < _TRIES or time.perf_counter() < latest:
        yield count
        count += 1
