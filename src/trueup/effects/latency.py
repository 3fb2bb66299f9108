"""Latency: when does a command act, and when is a reading from?

Delays use MuJoCo's own history buffers, so they are part of the physics state, differ between
worlds and may be fractions of a step. MuJoCo reads a buffer before it writes it: the shortest delay
above zero is one physics step, so anything below half a step counts as none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import ceil
from typing import ClassVar

import mujoco
import numpy as np
from array_api_compat import array_namespace

from trueup.effects import anatomy
from trueup.effects.effect import Draws, Effect, Filter, Values, Write, measuring
from trueup.effects.plausible import Around, UpTo
from trueup.space import Parameter, Space

_LINEAR = 1  # interpolation between the samples of a history buffer
_HALF_NORMAL_STD = 0.6028  # of the absolute value of a standard normal
_SHORTEST_STEP = 0.65  # the control period may shrink the physics step by this factor

_ENCODERS = (mujoco.mjtSensor.mjSENS_JOINTPOS, mujoco.mjtSensor.mjSENS_JOINTVEL)
_CURRENTS = (mujoco.mjtSensor.mjSENS_ACTUATORFRC, mujoco.mjtSensor.mjSENS_JOINTACTFRC)


def latency(*, sensors: str = "*") -> tuple[Effect, ...]:
    """All latency effects of a robot whose servos and joint sensors share one bus."""
    return (
        ActionDelay(),
        JointDelay(),
        SensorDelay(name="latency/encoder_delay", types=_ENCODERS, sensors=sensors),
        SensorDelay(name="latency/current_delay", types=_CURRENTS, sensors=sensors),
        LostCommands(),
        ControlPeriod(),
    )


@dataclass(frozen=True, kw_only=True)
class ActionDelay(Effect):
    """Time from sending a command until the servo acts on it, and how much that varies.

    Jitter only ever adds: each command is late by the delay and some more.
    """

    delay: ClassVar[str] = "latency/action_delay"
    jitter: ClassVar[str] = "latency/action_jitter"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return (
            UpTo(limit=0.15, usual=0.05).parameter(
                name=self.delay,
                unit="s",
                nominal=0.0,
                source="65 ms from command to motion measured on an SO-101; USB bus alone 5-20 ms",
            ),
            UpTo(limit=0.03, usual=0.005).parameter(
                name=self.jitter,
                unit="s",
                nominal=0.0,
                source="standard deviation of the extra delay; a busy host adds 1-30 ms",
            ),
        )

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        _buffer_commands(spec, space)

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        elements, step = _servos(model), model.opt.timestep
        own = JointDelay.names(model)

        def delays(p: Values) -> np.ndarray:
            return _delays(p[self.delay], step, len(elements))

        def late(p: Values, draws: Draws, time_s: np.ndarray) -> np.ndarray:
            spread = np.minimum(np.abs(draws.normal[:, 0]), 3.0) / _HALF_NORMAL_STD
            shared = p[self.delay] + p[self.jitter] * spread
            return _counted(shared[:, None] + _own(p, own), step)

        return (
            Write(field="actuator_delay", elements=elements, values=delays),
            Write(
                field="actuator_delay", elements=elements, values=late, each_step=True, normals=1
            ),
        )


@dataclass(frozen=True, kw_only=True)
class JointDelay(Effect):
    """A delay of each servo's own, on top of what all share.

    A bus asks and tells its servos one after the other, so that the time between a command and the
    reading that first shows it differs from joint to joint.
    """

    optional: ClassVar[bool] = True

    @staticmethod
    def names(model: mujoco.MjModel) -> list[str]:
        """Its parameters, servo by servo."""
        joints = [model.joint(int(model.actuator_trnid[i, 0])).name for i in _servos(model)]
        return [f"latency/{joint}/delay" for joint in joints]

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return tuple(
            UpTo(limit=0.06, usual=0.02).parameter(
                name=name,
                unit="s",
                nominal=0.0,
                source="six servos on one bus: up to a control period between first and last",
            )
            for name in self.names(model)
        )

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        _buffer_commands(spec, space)

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        step, own = model.opt.timestep, self.names(model)

        def more(p: Values) -> np.ndarray:
            shared = np.broadcast_to(p.get(ActionDelay.delay, 0.0), (p.n,))[:, None]
            return _counted(shared + _own(p, own), step) - _counted(shared, step)

        return (Write(field="actuator_delay", elements=_servos(model), values=more, op="add"),)


@dataclass(frozen=True, kw_only=True)
class SensorDelay(Effect):
    """Age of a reading when it arrives.

    Attributes:
        name: The parameter.
        types: Kinds of MuJoCo sensors that share this delay.
        sensors: Which of them, by name.
        limit_s: Longest delay possible.
        usual_s: Longest delay randomized by default.
        source: Where the bounds come from.
    """

    name: str
    types: tuple[mujoco.mjtSensor, ...]
    sensors: str = "*"
    limit_s: float = 0.1
    usual_s: float = 0.02
    source: str = "a Feetech bus answers in 2-20 ms for six servos; hubs and drivers add the rest"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        if not self._sensors(model):
            return ()
        return (
            UpTo(limit=self.limit_s, usual=self.usual_s).parameter(
                name=self.name, unit="s", nominal=0.0, source=self.source
            ),
        )

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        longest = _highest(space, self.name)
        kinds = {int(t) for t in self.types}
        for sensor in spec.sensors:
            measures = int(sensor.type) in kinds and not sensor.name.startswith(anatomy.TRUTH)
            if measures and fnmatchcase(sensor.name, self.sensors):
                sensor.nsample = _samples(spec, longest)
                sensor.interp = _LINEAR

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        elements = tuple(anatomy.identity(model, "sensor", name) for name in self._sensors(model))
        step = model.opt.timestep
        write = Write(
            field="sensor_delay",
            elements=elements,
            values=lambda p: _delays(p[self.name], step, len(elements)),
        )
        return (write,) if elements else ()

    def _sensors(self, model: mujoco.MjModel) -> list[str]:
        return measuring(self, model, self.types, self.sensors)


@dataclass(frozen=True, kw_only=True)
class LostCommands(Effect):
    """Commands that never arrive, and old ones that arrive once more."""

    drop: ClassVar[str] = "latency/drop_probability"
    repeat: ClassVar[str] = "latency/repeat_probability"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        rule = UpTo(limit=0.5, usual=0.02)
        return (
            rule.parameter(
                name=self.drop,
                unit="1",
                nominal=0.0,
                source="per command; a half-duplex bus without retries loses up to a few per cent",
            ),
            rule.parameter(
                name=self.repeat,
                unit="1",
                nominal=0.0,
                source="per command; a late host sends the last frame again",
            ),
        )

    def action(self, model: mujoco.MjModel, period_s: float) -> Filter:
        return _Lossy(self.drop, self.repeat)


class _Lossy(Filter):
    """A dropped command leaves the servo where it was; a repeated one is the one sent before."""

    uniforms = 2

    def __init__(self, drop: str, repeat: str) -> None:
        self.drop, self.repeat = drop, repeat

    def start(self, x, p):
        return {"sent": x, "applied": x}

    def apply(self, x, p, memory, draws):
        xp = array_namespace(x)
        repeated = draws.uniform[:, 0] < p[self.repeat]
        dropped = draws.uniform[:, 1] < p[self.drop]
        applied = xp.where(repeated[:, None], memory["sent"], x)
        applied = xp.where(dropped[:, None], memory["applied"], applied)
        return applied, {"sent": x, "applied": applied}


@dataclass(frozen=True, kw_only=True)
class ControlPeriod(Effect):
    """A control loop slower or faster than it says: every step of the world lasts that much longer.

    Written into the physics step, so that more (or less) simulated time passes per command.
    """

    name: ClassVar[str] = "latency/control_period_error"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return (
            Around(limit=0.3, usual=0.03).parameter(
                name=self.name,
                unit="1",
                nominal=0.0,
                source="relative; loops meant for 15 Hz were found running at 12 Hz",
            ),
        )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        return (
            Write(
                field="opt.timestep",
                elements=(0,),
                values=lambda p: 1.0 + p[self.name][:, None],
                op="scale",
            ),
        )


class HeldCommand(Filter):
    """Commands as they were some time ago, between samples of the control loop."""

    def __init__(self, name: str, longest_s: float, period_s: float) -> None:
        self.name, self.period_s = name, period_s
        self.depth = ceil(longest_s / period_s) + 2

    def start(self, x, p):
        xp = array_namespace(x)
        return {"past": xp.stack([x] * self.depth, axis=1)}

    def apply(self, x, p, memory, draws):
        xp = array_namespace(x)
        past = xp.concat([x[:, None], memory["past"][:, :-1]], axis=1)
        age = p[self.name] / self.period_s
        newer = xp.clip(xp.astype(xp.floor(age), xp.int64), 0, self.depth - 2)
        blend = (age - newer)[:, None]
        rows = xp.arange(x.shape[0])
        late = past[rows, newer] * (1.0 - blend) + past[rows, newer + 1] * blend
        return xp.where((age > 0)[:, None], late, x), {"past": past}


def _delays(delay_s: np.ndarray, step_s: float, k: int) -> np.ndarray:
    return np.repeat(_counted(delay_s, step_s)[:, None], k, axis=1)


def _counted(delay_s: np.ndarray, step_s: float) -> np.ndarray:
    """Delays as MuJoCo can have them."""
    return np.where(delay_s < 0.5 * step_s, 0.0, delay_s)


def _own(p: Values, names: list[str]) -> np.ndarray:
    """(n, servos) what each servo adds, where that is in the space at all."""
    return np.stack([np.broadcast_to(p.get(name, 0.0), (p.n,)) for name in names], axis=-1)


def _servos(model: mujoco.MjModel) -> tuple[int, ...]:
    """Actuators that are told something: a device without control inputs has nothing to delay."""
    return tuple(int(i) for i in np.flatnonzero(model.actuator_ctrlnum))


def _buffer_commands(spec: mujoco.MjSpec, space: Space) -> None:
    """Room for commands as late as they can be."""
    longest = _highest(space, ActionDelay.delay)
    longest += 3.0 / _HALF_NORMAL_STD * _highest(space, ActionDelay.jitter)
    own = [p.high for p in space if p.name.startswith("latency/") and p.name.endswith("/delay")]
    for actuator in spec.actuators:
        if actuator.name and not actuator.name.endswith("_lugre"):
            actuator.nsample = _samples(spec, longest + max(own, default=0.0))
            actuator.interp = _LINEAR


def _samples(spec: mujoco.MjSpec, longest_s: float) -> int:
    return ceil(longest_s / (_SHORTEST_STEP * spec.option.timestep)) + 2


def _highest(space: Space, name: str) -> float:
    return space[name].high if name in space else 0.0
