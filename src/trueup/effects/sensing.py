"""Sensing: do encoders and current readings tell the truth?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import mujoco
from array_api_compat import array_namespace

from trueup.effects import anatomy
from trueup.effects.effect import Array, Effect, Filter, Values, measuring
from trueup.effects.plausible import Around, Factor, UpTo, declared
from trueup.space import Parameter


def sensing(*, sensors: str = "*") -> tuple[Effect, ...]:
    """All sensing effects of joint encoders, their speeds and motor currents."""
    return (Encoder(sensors=sensors), Speed(sensors=sensors), Current(sensors=sensors))


@dataclass(frozen=True, kw_only=True)
class _Reading(Effect):
    """An effect on all sensors of some types."""

    sensors: str = "*"
    types: ClassVar[tuple[mujoco.mjtSensor, ...]]

    def _sensors(self, model: mujoco.MjModel) -> list[str]:
        return measuring(self, model, self.types, self.sensors)


@dataclass(frozen=True, kw_only=True)
class Encoder(_Reading):
    """Joint positions as read: biased, drifting, noisy, in ticks, sometimes stale.

    The servo's own loop is not affected: that is `actuation/JOINT/zero_offset`.
    """

    types = (mujoco.mjtSensor.mjSENS_JOINTPOS,)

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        sensors = self._sensors(model)
        shared = (
            ("quantum", "rad", 0.0, UpTo(0.02, 0.0016), "12-bit encoder of the STS3215: 2π/4096"),
            ("noise", "rad", 0.0, UpTo(0.02, 0.002), "white; logs of a resting SO-101: ±1 tick"),
            ("drift", "rad/√s", 0.0, UpTo(0.01, 0.0005), "random walk; magnets warm, belts creep"),
            ("dropout", "1", 0.0, UpTo(0.5, 0.01), "chance that a reading is the last one again"),
        )
        own = "a reading off by up to a few ticks, or by a calibration gone wrong"
        biases = [
            (f"{_joint(model, sensor)}/bias", "rad", 0.0, Around(0.3, 0.005), own)
            for sensor in sensors
        ]
        return (
            *declared("sensing/encoder", shared if sensors else ()),
            *declared("sensing", biases),
        )

    def observation(self, model: mujoco.MjModel, period_s: float) -> Filter | None:
        sensors = self._sensors(model)
        biases = tuple(f"sensing/{_joint(model, sensor)}/bias" for sensor in sensors)
        columns = anatomy.readings(model, sensors)
        return _Noisy("sensing/encoder", columns, period_s, biases=biases) if sensors else None


@dataclass(frozen=True, kw_only=True)
class Speed(_Reading):
    """Joint velocities as read: noisy and coarse."""

    types = (mujoco.mjtSensor.mjSENS_JOINTVEL,)

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        rows = (
            ("quantum", "rad/s", 0.0, UpTo(0.5, 0.08), "speed register of the STS3215: 0.0767"),
            ("noise", "rad/s", 0.0, UpTo(0.5, 0.05), "white; ticks at 50 Hz, differentiated: 0.05"),
        )
        return declared("sensing/speed", rows if self._sensors(model) else ())

    def observation(self, model: mujoco.MjModel, period_s: float) -> Filter | None:
        columns = anatomy.readings(model, self._sensors(model))
        return _Noisy("sensing/speed", columns, period_s) if columns else None


@dataclass(frozen=True, kw_only=True)
class Current(_Reading):
    """Motor force or current as read: wrong gain, an offset that drifts, noise, stale values."""

    types = (mujoco.mjtSensor.mjSENS_ACTUATORFRC, mujoco.mjtSensor.mjSENS_JOINTACTFRC)

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        if not self._sensors(model):
            return ()
        rows = (
            ("gain", "1", 1.0, Factor(3.0, 1.3), "published torque constants differ by 2.5"),
            ("offset", "N·m", 0.0, Around(0.5, 0.05), "idle current reads up to a few counts"),
            ("drift", "N·m/√s", 0.0, UpTo(0.1, 0.005), "random walk of the offset with warmth"),
            ("noise", "N·m", 0.0, UpTo(0.5, 0.03), "white; one count of 6.5 mA is about 0.01 N·m"),
            ("dropout", "1", 0.0, UpTo(0.5, 0.01), "chance that a reading is the last one again"),
        )
        return declared("sensing/current", rows)

    def observation(self, model: mujoco.MjModel, period_s: float) -> Filter | None:
        columns = anatomy.readings(model, self._sensors(model))
        return _Noisy("sensing/current", columns, period_s) if columns else None


class _Noisy(Filter):
    """Gain, offset, bias, drift, white noise, quantization and dropout, each if it is declared.

    A dropout repeats the whole reading of these sensors, as one packet carries them all.
    """

    def __init__(
        self, stem: str, columns: tuple[int, ...], period_s: float, *, biases: tuple[str, ...] = ()
    ) -> None:
        self.stem, self.columns, self.biases = stem, columns, biases
        self.period_s = period_s
        self.width = k = len(columns)
        self.drifts = stem != "sensing/speed"
        self.scales = stem == "sensing/current"
        self.quantizes = stem != "sensing/current"
        self.normals = 2 * k if self.drifts else k
        self.uniforms = 1 if self.drifts else 0

    def start(self, x: Array, p: Values) -> dict[str, Array]:
        return {"walk": x * 0.0, "last": x, "fresh": x[:, 0] == x[:, 0]} if self.drifts else {}

    def apply(self, x, p, memory, draws):
        xp = array_namespace(x)
        k = self.width
        memory = dict(memory)
        if self.scales:
            x = x * p[f"{self.stem}/gain"][:, None] + p[f"{self.stem}/offset"][:, None]
        if self.biases:
            x = x + xp.stack([p[name] for name in self.biases], axis=-1)
        if self.drifts:
            rate = p[f"{self.stem}/drift"] * self.period_s**0.5
            memory["walk"] = memory["walk"] + rate[:, None] * draws.normal[:, k:]
            x = x + memory["walk"]
        x = x + p[f"{self.stem}/noise"][:, None] * draws.normal[:, :k]
        if self.quantizes:
            quantum = p[f"{self.stem}/quantum"][:, None]
            coarse = xp.where(quantum > 0, quantum, 1.0)
            x = xp.where(quantum > 0, xp.round(x / coarse) * coarse, x)
        if self.drifts:
            stale = (draws.uniform[:, 0] < p[f"{self.stem}/dropout"]) & ~memory["fresh"]
            x = xp.where(stale[:, None], memory["last"], x)
            memory["last"], memory["fresh"] = x, xp.zeros_like(memory["fresh"])
        return x, memory


def _joint(model: mujoco.MjModel, sensor: str) -> str:
    return model.joint(int(model.sensor_objid[anatomy.identity(model, "sensor", sensor)])).name
