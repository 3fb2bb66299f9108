"""The memory of an STS3215 servo: names, places, sizes, signs and what a new one holds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trueup.errors import TrueupError, UnknownName

TICKS = 4096
"""Encoder steps of one turn."""

RAD_PER_TICK = 2.0 * math.pi / TICKS

HALF_TURN = 2047
"""Where LeRobot's calibration puts the middle of a joint's range."""

SPEED_STEP = 50
"""Present_Velocity counts ticks/s, in steps of this many."""

AMPERE_PER_COUNT = 0.0065
"""Present_Current counts 6.5 mA."""

FULL_LOAD = 1000
"""Present_Load and the torque limits count thousandths of full drive."""

VOLT_PER_COUNT = 0.1
RETURN_DELAY_S = 2e-6  # of each count of Return_Delay_Time

MODEL_NUMBER = 777
"""What an STS3215 calls itself."""

BAUD_RATES = (1_000_000, 500_000, 250_000, 128_000, 115_200, 57_600, 38_400, 19_200)
"""By the value of Baud_Rate."""

SIGNATURE_ADDRESS, SIGNATURE = 240, b"trueup"
"""What our emulated servos answer where real ones hold nothing: no arm is behind them."""

_SRAM, _FACTORY = 40, 80


@dataclass(frozen=True, kw_only=True)
class Register:
    """One number in a servo's memory.

    Attributes:
        name: As LeRobot calls it.
        address: Of its first byte.
        size: 1 or 2 bytes, the low one first.
        initial: What a new servo holds.
        sign_bit: The bit that says minus, where the number may be below 0; the others are then
            its magnitude.
        writable: Whether a host may change it.
    """

    name: str
    address: int
    size: int = 1
    initial: int = 0
    sign_bit: int | None = None
    writable: bool = True

    @property
    def kept(self) -> bool:
        """Whether it outlives a loss of power."""
        return self.address < _SRAM or self.address >= _FACTORY

    def encoded(self, value: int) -> bytes:
        """The bytes of a value."""
        limit = 1 << (8 * self.size if self.sign_bit is None else self.sign_bit)
        low = 0 if self.sign_bit is None else 1 - limit
        if not low <= value < limit:
            raise TrueupError(
                f"{self.name} cannot hold {value}.", fix=f"Give {low} to {limit - 1}."
            )
        if value < 0:
            value = -value | limit
        return value.to_bytes(self.size, "little")

    def decoded(self, data: bytes) -> int:
        """The value of some bytes."""
        value = int.from_bytes(data[: self.size], "little")
        if self.sign_bit is None:
            return value
        magnitude = value & ((1 << self.sign_bit) - 1)
        return -magnitude if value >> self.sign_bit & 1 else magnitude


def _fixed(name: str, address: int, size: int = 1, initial: int = 0, sign_bit: int | None = None):
    return Register(
        name=name, address=address, size=size, initial=initial, sign_bit=sign_bit, writable=False
    )


def _free(name: str, address: int, size: int = 1, initial: int = 0, sign_bit: int | None = None):
    return Register(name=name, address=address, size=size, initial=initial, sign_bit=sign_bit)


_TABLE = (
    _fixed("Firmware_Major_Version", 0, 1, 3),
    _fixed("Firmware_Minor_Version", 1, 1, 10),
    _fixed("Model_Number", 3, 2, MODEL_NUMBER),
    _free("ID", 5, 1, 1),
    _free("Baud_Rate", 6),
    _free("Return_Delay_Time", 7, 1, 250),
    _free("Response_Status_Level", 8, 1, 1),
    _free("Min_Position_Limit", 9, 2, 0),
    _free("Max_Position_Limit", 11, 2, TICKS - 1),
    _free("Max_Temperature_Limit", 13, 1, 70),
    _free("Max_Voltage_Limit", 14, 1, 140),
    _free("Min_Voltage_Limit", 15, 1, 40),
    _free("Max_Torque_Limit", 16, 2, FULL_LOAD),
    _free("Phase", 18, 1, 12),
    _free("Unloading_Condition", 19, 1, 44),
    _free("LED_Alarm_Condition", 20, 1, 47),
    _free("P_Coefficient", 21, 1, 32),
    _free("D_Coefficient", 22, 1, 32),
    _free("I_Coefficient", 23),
    _free("Minimum_Startup_Force", 24, 2, 16),
    _free("CW_Dead_Zone", 26, 1, 1),
    _free("CCW_Dead_Zone", 27, 1, 1),
    _free("Protection_Current", 28, 2, 500),
    _free("Angular_Resolution", 30, 1, 1),
    _free("Homing_Offset", 31, 2, 0, 11),
    _free("Operating_Mode", 33),
    _free("Protective_Torque", 34, 1, 20),
    _free("Protection_Time", 35, 1, 200),
    _free("Overload_Torque", 36, 1, 80),
    _free("Velocity_closed_loop_P_proportional_coefficient", 37, 1, 10),
    _free("Over_Current_Protection_Time", 38, 1, 200),
    _free("Velocity_closed_loop_I_integral_coefficient", 39, 1, 200),
    _free("Torque_Enable", 40),
    _free("Acceleration", 41),
    _free("Goal_Position", 42, 2, 0, 15),
    _free("Goal_Time", 44, 2),
    _free("Goal_Velocity", 46, 2, 0, 15),
    _free("Torque_Limit", 48, 2, FULL_LOAD),
    _free("Lock", 55, 1, 1),
    _fixed("Present_Position", 56, 2, 0, 15),
    _fixed("Present_Velocity", 58, 2, 0, 15),
    _fixed("Present_Load", 60, 2, 0, 10),
    _fixed("Present_Voltage", 62, 1, 120),
    _fixed("Present_Temperature", 63, 1, 25),
    _fixed("Status", 65),
    _fixed("Moving", 66),
    _fixed("Present_Current", 69, 2),
    _fixed("Goal_Position_2", 71, 2, 0, 15),
    _free("Moving_Velocity_Threshold", 80, 1, 1),
    _free("DTs", 81, 1, 10),
    _free("Velocity_Unit_factor", 82, 1, 50),
    _free("Hts", 83),
    _free("Maximum_Velocity_Limit", 84, 1, 254),
    _free("Maximum_Acceleration", 85, 1, 254),
    _free("Acceleration_Multiplier", 86, 1, 1),
)

REGISTERS = {register.name: register for register in _TABLE}
"""All of them, by name."""


def register(name: str) -> Register:
    """The register of a name."""
    if name not in REGISTERS:
        raise UnknownName("servo register", name, REGISTERS)
    return REGISTERS[name]
