"""What a motion must know of the robot it is for, read from the nominal model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import mujoco
import numpy as np

from trueup.errors import TrueupError, UnknownName
from trueup.policies import Interface
from trueup.streams import Streams
from trueup.worlds import Scene, World
from trueup.worlds.answers import start_of

_STARTS = 64  # episodes whose mean start is the ready pose
_DECIMALS = 2


@dataclass(frozen=True, kw_only=True)
class Body:
    """The servos of a robot: names, limits, and how quick the nominal model is.

    Attributes:
        joints: Commanded joints, in order.
        low: Smallest target of each, rad.
        high: Largest.
        speed: The speed that each servo reaches with nothing in its way, rad/s: where its force
            is used up by friction and damping.
        acceleration: What its force gives the joint's own inertia, rad/s².
        ready: The pose in which episodes of the world begin, and motions by default.
    """

    joints: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    speed: tuple[float, ...]
    acceleration: tuple[float, ...]
    ready: tuple[float, ...]

    @classmethod
    def of(cls, world: World) -> Self:
        """The robot of a world."""
        model = world.model
        servos = np.flatnonzero(model.actuator_ctrlnum)
        joint = model.actuator_trnid[servos, 0]
        dof = model.jnt_dofadr[joint]
        limited = model.actuator_ctrllimited[servos].astype(bool)[:, None]
        low, high = np.where(limited, model.actuator_ctrlrange[servos], [-np.inf, np.inf]).T
        force = _force(model, servos) - model.dof_frictionloss[dof]
        damping = model.dof_damping[dof] - model.actuator_biasprm[servos, 2]
        with np.errstate(divide="ignore"):
            speed = np.where(damping > 0, force / damping, np.inf)
        return cls(
            joints=world.commands,
            low=_floats(low),
            high=_floats(high),
            speed=_floats(speed),
            acceleration=_floats(force / model.dof_M0[dof]),
            ready=_floats(_ready(world, joint)),
        )

    @property
    def size(self) -> int:
        """How many servos."""
        return len(self.joints)

    def columns(self, joints: tuple[str, ...]) -> list[int]:
        """Where some joints stand among the commands; all of them where none are named."""
        for name in joints:
            if name not in self.joints:
                raise UnknownName("joint", name, self.joints)
        return [self.joints.index(name) for name in joints or self.joints]

    def fitted(self, interface: Interface, *, name: str = "the robot") -> Body:
        """The same servos within the limits that a robot declares, if it is such a robot."""
        if interface.commands != self.joints:
            raise TrueupError(
                f"The model has the joints {', '.join(self.joints)}, but {name} takes "
                f"{', '.join(interface.commands)}.",
                fix="Name the world whose model describes this robot (--world).",
            )
        return replace(
            self,
            low=_floats(np.maximum(self.low, interface.low)),
            high=_floats(np.minimum(self.high, interface.high)),
        )


def _force(model: mujoco.MjModel, servos: np.ndarray) -> np.ndarray:
    """Largest force of each servo at its joint."""
    limited = model.actuator_forcelimited[servos].astype(bool)
    force = np.abs(model.actuator_forcerange[servos]).max(axis=1)
    return np.where(limited, force * np.abs(model.actuator_gear[servos, 0]), np.inf)


def _ready(world: World, joints: np.ndarray) -> np.ndarray:
    model = world.model
    streams = Streams(np.arange(_STARTS))

    def field(name: str) -> np.ndarray:
        value = np.asarray(getattr(model, name)).reshape(1, -1)
        return np.broadcast_to(value, (_STARTS, value.shape[1]))

    start = start_of(world, model, Scene(model, streams, field))
    drawn = {model.joint(i).name: float(model.qpos0[model.jnt_qposadr[i]]) for i in joints}
    means = [start[name].mean() if name in start else drawn[name] for name in drawn]
    return np.round(means, _DECIMALS)


def _floats(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
