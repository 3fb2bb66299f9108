"""Derivatives through MJX are what finite differences tend to, and are refused where they lie."""

from dataclasses import replace
from importlib.util import find_spec

import mujoco
import numpy as np
import pytest

from trueup.effects import Backlash, LinkInertia, joint_friction, latency, servo
from trueup.episodes import Episode, Take
from trueup.errors import TrueupError
from trueup.identify.descent import descend
from trueup.identify.gradients import MjxProblem, _check_parameters
from trueup.identify.problem import Problem
from trueup.simulate import CpuWorlds
from trueup.worlds import Compiled, Signal, World, get

INSTALLED = find_spec("jax") is not None and find_spec("mujoco.mjx") is not None
needs_mjx = pytest.mark.skipif(not INSTALLED, reason="JAX and MJX are an optional extra")

MJCF = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.005" integrator="implicitfast" cone="elliptic"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 0.1" pos="0 0 -0.42"/>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" damping="0.4" armature="0.02" frictionloss="0.1"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.4" contype="0"/>
      <body name="lower" pos="0.3 0 0">
        <joint name="elbow" axis="0 1 0" damping="0.2" armature="0.01" frictionloss="0.05"/>
        <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.02" mass="0.2"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="shoulder" joint="shoulder" kp="12"/>
    <position name="elbow" joint="elbow" kp="6"/>
  </actuator>
  <sensor>
    <jointpos name="shoulder_position" joint="shoulder"/>
    <jointpos name="elbow_position" joint="elbow"/>
    <jointvel name="shoulder_velocity" joint="shoulder"/>
    <jointvel name="elbow_velocity" joint="elbow"/>
    <actuatorfrc name="shoulder_force" actuator="shoulder"/>
  </sensor>
</mujoco>
"""
BOTH = ("shoulder", "elbow")
SMOOTH = (
    "actuation/*/kp",
    "actuation/elbow/damping",
    "actuation/elbow/frictionloss",
    "actuation/shoulder/armature",
    "actuation/lower/mass",
)


class TwoLinks(World):
    """An arm held out straight, over a floor that it reaches only where its servos are weak."""

    name = "test/two-links"
    observations = (
        Signal(name="joint_position", unit="rad", sensors=tuple(f"{j}_position" for j in BOTH)),
        Signal(name="joint_velocity", unit="rad/s", sensors=tuple(f"{j}_velocity" for j in BOTH)),
        Signal(name="force", unit="N·m", sensors=("shoulder_force",)),
    )
    control_period_s = 0.02

    def spec(self):
        return mujoco.MjSpec.from_string(MJCF)

    def effects(self):
        return (*servo(), *joint_friction(), *latency(), Backlash(), LinkInertia())

    def start(self, scene):
        return {name: np.zeros((scene.n, 1)) for name in BOTH}

    def reward(self, s, action):
        return s.time * 0.0

    def success(self, s):
        return s.time != s.time


WORLD = TwoLinks()
SPACE = WORLD.catalogue.select(*SMOOTH)
PLANTED = {"actuation/shoulder/kp": 14.0, "actuation/elbow/damping": 0.25}


def recorded(truth, *, seconds=1.5) -> Episode:
    """Swings of both joints."""
    space = WORLD.catalogue.select(*truth)
    worlds = CpuWorlds(Compiled(WORLD, space), 1)
    worlds.reset(space.point(truth), seeds=0)
    take = Take(WORLD.control_period_s, origin={"real": False, "world": WORLD.name})
    for name, unit in (("command", "rad"), ("joint_position", "rad"), ("joint_velocity", "rad/s")):
        take.declare(name, unit, BOTH)
    for _ in range(round(seconds / WORLD.control_period_s)):
        now = float(worlds.time_s[0])
        for name in ("joint_position", "joint_velocity"):
            take.add(name, now, worlds.observation[name][0])
        command = 0.3 * np.sin(2 * np.pi * np.array([1.1, 1.7]) * now)
        take.add("command", now, command)
        worlds.step(command[None])
    return take.episode()


@pytest.fixture(scope="module")
def problem() -> MjxProblem:
    """Readings fall between physics steps here, and one of them was lost."""
    episode = recorded(PLANTED)
    joints = episode["joint_position"]
    values = np.array(joints.values)
    values[20, 1] = np.nan
    late = replace(joints, values=values, time_s=joints.time_s + 0.0013)
    episode = replace(episode, signals={**episode.signals, "joint_position": late})
    return MjxProblem(WORLD, [episode], SPACE, window_s=0.5, threads=1)


def fine(problem: Problem) -> Problem:
    """The same problem by finite differences in small steps."""
    replayer = problem.replayer
    same = Problem(
        WORLD, replayer.episodes, SPACE, signals=problem.signals, window_s=0.5, threads=1
    )
    same.steps = np.full(len(SPACE), 1e-4)
    return same


@needs_mjx
def test_slopes_are_what_finite_differences_tend_to(problem):
    u = np.linspace(0.45, 0.6, len(SPACE))
    here, slopes = problem.jacobian(u)
    again, differences = fine(problem).jacobian(u, exact=True)
    assert problem.notes == []
    assert np.array_equal(here.values, again.values)
    for i, name in enumerate(SPACE.names):
        size = np.abs(differences[:, i]).max()
        assert np.abs(slopes[:, i] - differences[:, i]).max() < 0.01 * size, name


@needs_mjx
def test_a_descent_takes_it_and_finds_what_was_planted(problem):
    u = SPACE.encode(SPACE.nominal())[0]
    found = descend(problem, u, centre=u, pull=np.full(len(u), 1e-12))
    point = next(iter(SPACE.decode(found.u[None])))
    for name, value in PLANTED.items():
        assert point[name] == pytest.approx(value, rel=0.02), name


@needs_mjx
def test_where_the_arm_touches_something_finite_differences_take_over(problem):
    """At a quarter of its gain the arm sags on the floor, which MJX here does not know."""
    u = SPACE.encode(SPACE.nominal())[0]
    u[[SPACE.names.index(f"actuation/{joint}/kp") for joint in BOTH]] = 0.0
    before = len(problem.notes)
    _, slopes = problem.jacobian(u, exact=True)
    same = fine(problem)
    same.steps = problem.steps
    _, differences = same.jacobian(u, exact=True)
    (note,) = problem.notes[before:]
    assert "episode 0" in note
    assert "joint_position/" in note
    assert np.array_equal(slopes, differences)


@needs_mjx
def test_what_mjx_cannot_simulate_is_a_sentence(monkeypatch):
    odd = MJCF.replace('integrator="implicitfast"', 'integrator="implicit"')
    monkeypatch.setattr(TwoLinks, "spec", lambda self: mujoco.MjSpec.from_string(odd))
    world = TwoLinks()
    space = world.catalogue.select("actuation/elbow/kp")
    with pytest.raises(TrueupError, match="MJX cannot simulate the world 'test/two-links'"):
        MjxProblem(world, [recorded({})], space, threads=1)


@pytest.mark.skipif(INSTALLED, reason="JAX and MJX are installed")
def test_without_the_extra_it_says_what_to_install():
    with pytest.raises(TrueupError, match=r"pip install 'trueup\[mjx\]'"):
        MjxProblem(WORLD, [recorded({})], SPACE, threads=1)


@pytest.mark.parametrize("name", ["latency/action_delay", "actuation/elbow/backlash"])
def test_parameters_that_are_not_smooth_are_refused_by_name(name):
    space = WORLD.catalogue.select("actuation/elbow/kp", name)
    with pytest.raises(TrueupError, match=rf"^{name}: not smooth"):
        MjxProblem(WORLD, [recorded({})], space, threads=1)


def test_a_world_with_things_in_it_is_refused():
    table = get("so101/lift")
    space = table.catalogue.select("actuation/elbow_flex/kp")
    compiled = Compiled(table, space)
    with pytest.raises(TrueupError, match="'so101/lift' has more in it than a robot's joints"):
        _check_parameters(table, space, compiled)


def test_signals_of_other_sensors_than_joints_are_refused():
    episode = recorded({})
    joints = episode["joint_position"]
    force = replace(joints, values=joints.values[:, :1], unit="N·m", names=("shoulder",))
    episode = replace(episode, signals={**episode.signals, "force": force})
    with pytest.raises(TrueupError, match="'force' is not read from joints"):
        MjxProblem(WORLD, [episode], SPACE, signals=["force"], threads=1)
