"""Worlds of a few lines of MJCF, in which physics is simple enough to be known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import mujoco
import numpy as np

from trueup.effects import Effect
from trueup.simulate import CpuWorlds
from trueup.space import Space
from trueup.worlds import Compiled, Signal, World

GRAVITY = 9.81


class Rig(World):
    """Some MJCF, the effects under test, and where its joints start.

    Every sensor is a signal of its own name: those of the truth are privileged.
    """

    name = "test/rig"
    episode_s = 1e6

    def __init__(
        self,
        xml: str,
        *effects: Effect,
        period_s: float = 0.002,
        start: Mapping[str, list[float]] | None = None,
    ) -> None:
        self._xml, self._effects, self._start = xml, effects, start or {}
        self.control_period_s = period_s  # pyright: ignore[reportAttributeAccessIssue]
        sensors = [sensor.name for sensor in self.spec().sensors]
        signals = [Signal(name=name, unit="1", sensors=(name,)) for name in sensors]
        self.observations = tuple(  # pyright: ignore[reportAttributeAccessIssue]
            s for s in signals if not s.name.startswith("truth/")
        )
        self.privileged = tuple(  # pyright: ignore[reportAttributeAccessIssue]
            s for s in signals if s.name.startswith("truth/")
        )

    def spec(self):
        return mujoco.MjSpec.from_string(self._xml)

    def effects(self):
        return self._effects

    def start(self, scene):
        return {
            name: np.tile(np.array(at, float), (scene.n, 1)) for name, at in self._start.items()
        }

    def reward(self, s, action):
        return s.time * 0.0

    def success(self, s):
        return s.time != s.time


class Trace(dict[str, np.ndarray]):
    """Readings over time: one column per world for each sensor of one number, else (T, n, dim).

    The first row is the observation of the reset. `time` is (T, n).
    """


def worlds_at(world: World, *points: Mapping[str, float], seeds=None, threads: int = 1):
    """A batch with one world per point, in the space of the named parameters alone."""
    names = dict.fromkeys(name for point in points for name in point)
    space = Space(tuple(world.catalogue[name] for name in names))
    worlds = CpuWorlds(Compiled(world, space), len(points), threads=threads)
    seeds = np.zeros(len(points), int) if seeds is None else seeds
    worlds.reset(space.points([space.point(point) for point in points]), seeds)
    return worlds


def run(
    world: World,
    *points: Mapping[str, float],
    steps: int,
    command: Callable[[float], float | list[float]] | np.ndarray | float = 0.0,
    seeds=None,
) -> Trace:
    """Step worlds, equal but for their points, through one series of commands.

    Args:
        world: The rig.
        points: What each world has different; at least one parameter must be named.
        steps: Control steps.
        command: A constant, a (steps, nu) array, or a function of the nominal time.
        seeds: One per world; all 0 by default.
    """
    worlds = worlds_at(world, *points, seeds=seeds)
    rows = [_row(worlds)]
    for k in range(steps):
        if callable(command):
            wanted = command(k * world.control_period_s)
        else:
            wanted = command[k] if isinstance(command, np.ndarray) else command
        shape = (worlds.n, worlds.compiled.model.nu)
        worlds.step(np.broadcast_to(np.asarray(wanted, float), shape))
        rows.append(_row(worlds))
    assert not worlds.divergences
    return Trace({name: np.array([row[name] for row in rows]) for name in rows[0]})


def _row(worlds: CpuWorlds) -> dict[str, np.ndarray]:
    read = {**worlds.observation, **worlds.privileged}
    row = {k: np.array(v[:, 0] if v.shape[1] == 1 else v) for k, v in read.items()}
    return {**row, "time": worlds.time_s.copy()}


# A level beam on one servo -----------------------------------------------------------------------

ARM_MASS, ARM_HALF, ARM_KP, ARM_ARMATURE = 0.2, 0.15, 10.0, 0.01
ARM_INERTIA = ARM_MASS * ((2 * ARM_HALF) ** 2 / 3 + 0.02**2 / 12)
ARM_TORQUE = ARM_MASS * GRAVITY * ARM_HALF  # N·m, of gravity on the level beam


def arm(*effects: Effect, period_s: float = 0.002, **changed) -> Rig:
    """A uniform beam of 0.3 m on a hinge; a positive angle is downwards."""
    numbers = {
        "timestep": 0.002,
        "gravity": GRAVITY,
        "damping": 0.5,
        "frictionloss": 0.0,
        "armature": ARM_ARMATURE,
        "kp": ARM_KP,
        "kv": 0.0,
        "limit": 5.0,
        **changed,
    }
    xml = """
    <mujoco>
      <compiler angle="radian"/>
      <option timestep="{timestep}" gravity="0 0 {down}" integrator="implicitfast"/>
      <worldbody>
        <body name="arm">
          <joint name="hinge" axis="0 1 0" range="-2 2" damping="{damping}"
                 frictionloss="{frictionloss}" armature="{armature}"
                 solreffriction="0.01 1" solimpfriction="0.999 0.9999 0.001 0.5 2"/>
          <geom type="box" pos="0.15 0 0" size="0.15 0.01 0.01" mass="0.2"
                contype="0" conaffinity="0"/>
          <site name="tip" pos="0.3 0 0"/>
        </body>
      </worldbody>
      <actuator>
        <position name="servo" joint="hinge" kp="{kp}" kv="{kv}" forcerange="-{limit} {limit}"/>
      </actuator>
      <sensor>
        <jointpos name="angle" joint="hinge"/>
        <jointvel name="speed" joint="hinge"/>
        <actuatorfrc name="force" actuator="servo"/>
        <jointpos name="truth/angle" joint="hinge"/>
        <framepos name="truth/tip" objtype="site" objname="tip"/>
      </sensor>
    </mujoco>
    """
    return Rig(xml.format(down=-numbers["gravity"], **numbers), *effects, period_s=period_s)


def link_angle(trace: Trace) -> np.ndarray:
    """Where the beam itself stands, rad downwards, whatever its encoder says."""
    tip = trace["truth/tip"]
    return np.arctan2(-tip[..., 2], tip[..., 0])


# Two servos that cannot move: their force is the command they act on -----------------------------

WALL_KP = 10.0


def wall(*effects: Effect, period_s: float = 0.002, timestep: float = 0.002) -> Rig:
    """Two joints far too heavy to move: `force` / kp is the command that reached the servo."""
    joint = '<body><joint name="{0}" axis="0 0 1" armature="1e9"/><geom size="0.1"/></body>'
    servo = f'<position name="{{0}}" joint="{{0}}" kp="{WALL_KP}"/>'
    sensor = '<actuatorfrc name="{0}_force" actuator="{0}"/>'
    parts = {
        key: "".join(text.format(side) for side in ("left", "right"))
        for key, text in (("joints", joint), ("servos", servo), ("sensors", sensor))
    }
    xml = """
    <mujoco>
      <option timestep="{timestep}" gravity="0 0 0" integrator="implicitfast"/>
      <worldbody>{joints}</worldbody>
      <actuator>{servos}</actuator>
      <sensor>{sensors}</sensor>
    </mujoco>
    """
    return Rig(xml.format(timestep=timestep, **parts), *effects, period_s=period_s)


def arrived(trace: Trace, side: str = "left") -> np.ndarray:
    """The commands (steps, n) on which the servo of the wall acted."""
    return trace[f"{side}_force"][1:] / WALL_KP


# Something on a table ----------------------------------------------------------------------------


def tabletop(
    *effects: Effect,
    geom: str = 'type="box" size="0.02 0.02 0.02"',
    slope_rad: float = 0.0,
    friction: str = "0.3 0.3 0.002 0.002 0.002",
    solref: str = "0.01 1",
    solimp: str = "0.95 0.99 0.001 0.5 2",
    condim: int = 4,
    joints: str = '<freejoint name="cube"/>',
    extra: str = "",
    pair: str = "object-table",
    period_s: float = 0.01,
    timestep: float = 0.002,
    start: Mapping[str, list[float]] | None = None,
) -> Rig:
    """A body of 0.1 kg on a table; on a slope, gravity leans towards +x."""
    down = GRAVITY * np.array([np.sin(slope_rad), 0.0, -np.cos(slope_rad)])
    xml = f"""
    <mujoco>
      <option timestep="{timestep}" gravity="{down[0]} {down[1]} {down[2]}" cone="elliptic"
              impratio="10" integrator="implicitfast"/>
      <worldbody>
        <body name="table">
          <geom name="table" type="plane" size="2 2 0.1" contype="0" conaffinity="0"/>
        </body>
        <body name="cube" pos="0 0 0.02">
          {joints}
          <geom name="cube" {geom} mass="0.1" contype="0" conaffinity="0"/>
        </body>
      </worldbody>
      <contact>
        <pair name="{pair}" geom1="cube" geom2="table" condim="{condim}" friction="{friction}"
              solref="{solref}" solimp="{solimp}"/>
      </contact>
      {extra}
      <sensor>
        <framepos name="place" objtype="xbody" objname="cube"/>
        <framequat name="turn" objtype="xbody" objname="cube"/>
        <framepos name="truth/place" objtype="xbody" objname="cube"/>
        <framequat name="truth/turn" objtype="xbody" objname="cube"/>
        <framelinvel name="truth/velocity" objtype="xbody" objname="cube"/>
      </sensor>
    </mujoco>
    """
    return Rig(xml, *effects, period_s=period_s, start=start)


def acceleration(trace: Trace, after_s: float = 0.1) -> np.ndarray:
    """Mean acceleration (n, 3) of the body from `after_s` on."""
    first = int(np.searchsorted(trace["time"][:, 0], after_s))
    v, t = trace["truth/velocity"], trace["time"]
    return (v[-1] - v[first]) / (t[-1] - t[first])[:, None]
