"""Visual: does the camera see what is there?

For worlds without pixels this is an object tracker: a pose that arrives late, off and sometimes not
at all. Effects on pixels go through `Effect.image`, which the renderer applies to frames.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
from array_api_compat import array_namespace

from trueup.effects import anatomy
from trueup.effects.effect import Array, Effect, Filter, NothingMatches, Values, Write
from trueup.effects.latency import SensorDelay
from trueup.effects.plausible import Around, UpTo
from trueup.space import Parameter, Space


@dataclass(frozen=True, kw_only=True)
class Tracker(Effect):
    """A tracked object's pose, from a position sensor and an orientation sensor.

    Attributes:
        position: Name of the `framepos` sensor.
        orientation: Name of the `framequat` sensor; empty where only the position is tracked.
        camera: Where the camera stands, m in the world frame. Extrinsics errors turn about it.
    """

    position: str
    orientation: str = ""
    camera: tuple[float, float, float] = (0.5, 0.0, 0.6)

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        known = anatomy.names(model, "sensor")
        for sensor in filter(None, (self.position, self.orientation)):
            if sensor not in known:
                raise NothingMatches(self, "sensor", sensor, known)
        marker, shift, turn = Around(0.03, 0.003), Around(0.05, 0.004), Around(0.15, 0.005)
        rows = [
            *((f"tracker/bias_{a}", "m", marker, "marker off the object's centre") for a in "xyz"),
            *((f"camera/shift_{a}", "m", shift, "extrinsics by hand: 2-10 mm") for a in "xyz"),
            *(
                (f"camera/turn_{a}", "rad", turn, "extrinsics by hand: 0.5-3° about the camera")
                for a in "xyz"
            ),
            ("tracker/noise", "m", UpTo(0.02, 0.002), "AprilTag at 0.6 m: 1-3 mm"),
            ("tracker/angle_noise", "rad", UpTo(0.3, 0.02), "AprilTag at 0.6 m: 1-3°"),
            ("tracker/dropout", "1", UpTo(0.9, 0.05), "occlusion by the gripper; per frame"),
        ]
        if not self.orientation:
            rows = [row for row in rows if row[0] != "tracker/angle_noise"]
        return (
            *(
                rule.parameter(name=f"visual/{name}", unit=unit, nominal=0.0, source=source)
                for name, unit, rule, source in rows
            ),
            *self._delay.parameters(model),
        )

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        if self._delay.name in space.active:
            for delay in self._delays():
                delay.edit(spec, space)

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        return tuple(write for delay in self._delays() for write in delay.writes(model))

    def observation(self, model: mujoco.MjModel, period_s: float) -> Filter:
        sensors = [name for name in (self.position, self.orientation) if name]
        return _Tracked(anatomy.readings(model, sensors), self.camera)

    @property
    def _delay(self) -> SensorDelay:
        return SensorDelay(
            name="visual/tracker/delay",
            types=(mujoco.mjtSensor.mjSENS_FRAMEPOS,),
            sensors=self.position,
            limit_s=0.25,
            usual_s=0.06,
            source="30 Hz camera, exposure, transfer and detection: 40-150 ms",
        )

    def _delays(self) -> list[SensorDelay]:
        if not self.orientation:
            return [self._delay]
        turned = replace(
            self._delay, types=(mujoco.mjtSensor.mjSENS_FRAMEQUAT,), sensors=self.orientation
        )
        return [self._delay, turned]


class _Tracked(Filter):
    """Position (3) and, where tracked, orientation (4, w first) of one object."""

    uniforms = 1

    def __init__(self, columns: tuple[int, ...], camera: tuple[float, float, float]) -> None:
        self.columns, self.camera = columns, camera
        self.turns = len(columns) == 7
        self.normals = 6 if self.turns else 3

    def start(self, x: Array, p: Values) -> dict[str, Array]:
        return {"last": x, "fresh": x[:, 0] == x[:, 0]}

    def apply(self, x, p, memory, draws):
        xp = array_namespace(x)
        place = x[:, :3]
        marker = _columns(xp, p, "visual/tracker/bias_{}")
        marker = _rotated(xp, x[:, 3:], marker) if self.turns else marker
        place = place + marker
        turn = _columns(xp, p, "visual/camera/turn_{}")
        arm = place - xp.asarray(self.camera, dtype=x.dtype)
        # small angles: turning about the camera moves a point by turn × arm
        place = place + xp.linalg.cross(turn, arm) + _columns(xp, p, "visual/camera/shift_{}")
        place = place + p["visual/tracker/noise"][:, None] * draws.normal[:, :3]
        seen = place
        if self.turns:
            wobble = p["visual/tracker/angle_noise"][:, None] * draws.normal[:, 3:]
            seen = xp.concat([place, _turned(xp, x[:, 3:], turn + wobble)], axis=1)
        hidden = (draws.uniform[:, 0] < p["visual/tracker/dropout"]) & ~memory["fresh"]
        seen = xp.where(hidden[:, None], memory["last"], seen)
        return seen, {"last": seen, "fresh": xp.zeros_like(memory["fresh"])}


def _columns(xp, p: Values, pattern: str) -> Array:
    return xp.stack([p[pattern.format(axis)] for axis in "xyz"], axis=-1)


def _rotated(xp, quat: Array, vector: Array) -> Array:
    """Vectors turned by unit quaternions (w, x, y, z)."""
    w, axis = quat[:, :1], quat[:, 1:]
    t = 2.0 * xp.linalg.cross(axis, vector)
    return vector + w * t + xp.linalg.cross(axis, t)


def _turned(xp, quat: Array, angles: Array) -> Array:
    """Quaternions turned further by small rotation vectors, in the world frame."""
    angle = xp.linalg.vector_norm(angles, axis=-1, keepdims=True)
    still = angle == 0
    half = 0.5 * angle
    axis = angles * (xp.sin(half) / xp.where(still, 1.0, angle))
    w, v = quat[:, :1], quat[:, 1:]
    c = xp.cos(half)
    real = c * w - xp.sum(axis * v, axis=-1, keepdims=True)
    imaginary = c * v + w * axis + xp.linalg.cross(axis, v)
    return xp.where(still, quat, xp.concat([real, imaginary], axis=-1))
