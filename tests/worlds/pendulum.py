"""A pendulum on a servo: the smallest world, for tests of worlds and of engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.effects import Array, Effect, FieldEffect, Target, Write
from trueup.effects.plausible import Between
from trueup.space import Parameter
from trueup.worlds import Readings, Scene, Signal, World

MJCF = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.005" integrator="implicitfast"/>
  <worldbody>
    <light pos="0 -1 1" dir="0 1 -1"/>
    <camera name="front" pos="0 -1.5 -0.1" xyaxes="1 0 0 0 0 1"/>
    <body name="arm">
      <joint name="swing" axis="0 1 0" damping="0.2"/>
      <geom name="rod" type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5"/>
      <site name="tip" pos="0 0 -0.3"/>
    </body>
    <body name="goal" mocap="true" pos="0.3 0 0"/>
  </worldbody>
  <actuator><position name="swing" joint="swing" kp="20" forcerange="-9 9"/></actuator>
  <sensor>
    <jointpos name="swing_position" joint="swing"/>
    <jointvel name="swing_velocity" joint="swing"/>
    <actuatorfrc name="swing_force" actuator="swing"/>
    <framepos name="truth/tip" objtype="site" objname="tip"/>
    <framepos name="truth/goal" objtype="xbody" objname="goal"/>
  </sensor>
</mujoco>
"""
WELDED = MJCF.replace(
    "<actuator>", '<equality><connect body1="arm" anchor="0 0 0"/></equality><actuator>'
)


class Pendulum(World):
    """Swing beyond half a radian; a start at more than 2 rad is lost."""

    name = "test/pendulum"
    observations = (
        Signal(name="position", unit="rad", sensors=("swing_position",)),
        Signal(name="velocity", unit="rad/s", sensors=("swing_velocity",)),
        Signal(name="force", unit="N·m", sensors=("swing_force",)),
    )
    privileged = (Signal(name="tip", unit="m", sensors=("truth/tip",)),)
    control_period_s = 0.02
    episode_s = 0.4
    hold_s = 0.06

    def __init__(self, *effects: Effect, mjcf: str = MJCF) -> None:
        self._effects, self._mjcf = effects, mjcf

    def spec(self) -> mujoco.MjSpec:
        return mujoco.MjSpec.from_string(self._mjcf)

    def effects(self) -> tuple[Effect, ...]:
        return self._effects

    def start(self, scene: Scene) -> Mapping[str, np.ndarray]:
        return {"swing": 0.4 * scene.streams.uniform(1) - 0.2}

    def reward(self, s: Readings, action: Array) -> Array:
        return -((action[:, 0] - s["swing_position"][:, 0]) ** 2)

    def success(self, s: Readings) -> Array:
        return s["swing_position"][:, 0] > 0.5

    def failure(self, s: Readings) -> Array:
        return s["swing_position"][:, 0] > 2.0


def damping(*, low: float = 0.0, name: str = "damping", match: str = "*") -> FieldEffect:
    """Joint damping; at -1000 N·m·s/rad the physics breaks down within a few steps."""
    return FieldEffect(
        parameter=f"actuation/{{name}}/{name}",
        of="joint",
        match=match,
        targets=(Target("dof_damping"),),
        plausible=Between(low=low, high=10.0, usual=(0.1, 0.3)),
        unit="N·m·s/rad",
        source="a test",
    )


def mass() -> FieldEffect:
    """Mass of the arm."""
    return FieldEffect(
        parameter="object/{name}/mass",
        of="body",
        match="arm",
        targets=(Target("body_mass"),),
        plausible=Between(low=0.1, high=10.0, usual=(0.4, 0.6)),
        unit="kg",
        source="a test",
    )


@dataclass(frozen=True, kw_only=True)
class Refused(Effect):
    """A kind of constraint that MuJoCo does not know: it raises in such a world (WELDED)."""

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        kind = "environment/constraint/kind"
        return (Parameter(name=kind, unit="1", nominal=0.0, low=0.0, high=99.0),)

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        return (
            Write(
                field="eq_type",
                elements=(0,),
                values=lambda p: p["environment/constraint/kind"][:, None],
            ),
        )
