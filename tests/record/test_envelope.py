"""The safe envelope: what it refuses, what it says, and that MuJoCo's own collisions agree."""

from __future__ import annotations

from itertools import pairwise

import mujoco
import numpy as np
import pytest

from tests.record.arm import CENTRE, PERIOD_S, body, envelope, situation, world
from tests.worlds.pendulum import MJCF, Pendulum
from trueup.errors import TrueupError
from trueup.policies import Interface
from trueup.record import (
    Body,
    Chirp,
    Envelope,
    Holds,
    Margins,
    Motion,
    Situation,
    Steps,
    Triangle,
    Unsafe,
)
from trueup.record.motions.excitation import way
from trueup.record.motions.motion import Phase, Plan

ON_THE_TABLE = (0.0, 0.6, 0.6, 0.3, 0.0, 0.6)
INTO_ITSELF = (0.0, -1.6, 1.6, 1.5, 0.0, 0.6)


def refused(motion: Motion, **where) -> Unsafe:
    with pytest.raises(Unsafe) as error:
        envelope().checked(motion, situation(**where))
    return error.value


def plan(*poses: tuple[float, ...]) -> Plan:
    """A slow path through some poses."""
    path = [np.array([poses[0]], float)[None]]
    for start, end in pairwise(poses):
        path.append(way(np.array([start]), np.array([end]), PERIOD_S))
    rows = np.concatenate(path)
    phases = (Phase(name="go", first=0, end=len(rows)),)
    return Plan(motion=Chirp(), period_s=PERIOD_S, path=rows, phases=phases)


def test_the_body_is_read_from_the_model():
    arm = body()
    assert arm.joints == world().commands
    np.testing.assert_allclose(arm.ready, (0.0, -0.65, 0.2, 1.55, 1.62, 0.6), atol=0.011)
    assert arm.speed[:5] == pytest.approx([(3.35 - 0.2) / 1.1] * 5)
    assert arm.speed[5] == pytest.approx((1.5 - 0.2) / 1.1)


def test_a_joint_that_would_leave_its_limits_is_named():
    found = refused(Triangle(joints=("wrist_flex",), amplitude_rad=(0.3,)))
    assert [finding.kind for finding in found.findings] == ["limit"]
    (finding,) = found.findings
    assert finding.who == "wrist_flex"
    assert finding.allowed == pytest.approx(body().high[3] - 0.05)
    assert "'wrist_flex' would be at 1.8" in str(found)
    assert "--scale" in str(found)


def test_a_joint_that_would_be_too_quick_is_named():
    motion = Steps(joints=("gripper",), amplitude_rad=(0.4,), blend_s=0.3, center_rad=CENTRE)
    found = refused(motion)
    kinds = {finding.kind for finding in found.findings}
    assert "speed" in kinds
    speed = next(f for f in found.findings if f.kind == "speed")
    assert speed.who == "gripper"
    assert speed.value == pytest.approx(2 * 0.8 / 0.3, rel=0.1)


def test_a_hand_that_would_meet_the_table_is_told_when_and_how_near():
    found = refused(Holds(center_rad=ON_THE_TABLE, amplitude_rad=(0.01,)))
    table = [finding for finding in found.findings if "table" in finding.who]
    assert table
    assert "inside each other" in str(found) or "would come within" in str(found)
    assert found.scale is None  # its centre is there already


def test_links_that_would_meet_are_named_though_the_world_lets_them_pass():
    found = refused(Holds(center_rad=INTO_ITSELF, amplitude_rad=(0.01,)))
    links = [f.who for f in found.findings if f.kind == "clearance"]
    paired = {
        frozenset((world().model.geom_bodyid[a], world().model.geom_bodyid[b]))
        for a, b in zip(world().model.pair_geom1, world().model.pair_geom2, strict=True)
    }
    bodies = [frozenset(world().model.body(n).id for n in who.split(", ")) for who in links]
    assert any(pair not in paired for pair in bodies)


def test_the_offered_scale_fits_and_a_larger_one_does_not():
    motion = Triangle(amplitude_rad=(0.9,), center_rad=CENTRE, duration_s=20.0)
    scale = refused(motion).scale
    assert scale is not None and 0.1 < scale < 1.0
    envelope().checked(motion.scaled(scale), situation())
    assert envelope().findings(motion.scaled(scale + 0.03).planned(situation()), situation())


def test_a_thing_that_is_seen_is_kept_clear_of():
    low = (0.02, 0.03, 0.495, 1.045, 1.62, 0.9)  # the pads astride a cube at x = 0.22 m
    motion = Holds(center_rad=low, joints=("gripper",), amplitude_rad=(0.05,), poses=2)
    margins = Margins(fixed_m=0.0)
    here = Envelope(world(), margins=margins)
    standing = np.array([0.22, 0.0, 0.0125, 1.0, 0.0, 0.0, 0.0])
    away = np.array([0.22, 0.25, 0.0125, 1.0, 0.0, 0.0, 0.0])
    assert here.findings(motion.planned(situation()), situation()) == []
    seen = situation(cube=away)
    assert here.findings(motion.planned(seen), seen) == []
    seen = situation(cube=standing)
    found = here.findings(motion.planned(seen), seen)
    assert found
    assert all("cube" in finding.who for finding in found)


def test_an_arm_that_rests_at_a_limit_may_leave_and_return():
    rest = (*CENTRE[:3], body().high[3], *CENTRE[4:])
    motion = Holds(center_rad=CENTRE, amplitude_rad=(0.1,), poses=2)
    there = situation(rest)
    plan = envelope().checked(motion, there, end=there.start)
    np.testing.assert_allclose(plan.path[0], there.start)
    np.testing.assert_allclose(plan.path[-1], there.start)


def test_an_arm_that_rests_on_the_table_may_rise_but_not_press():
    rest, lower = (0.0, 0.1, 0.6, 1.0, 0.0, 0.6), (0.0, 0.25, 0.6, 1.0, 0.0, 0.6)
    there = situation(rest)
    near = envelope().findings(plan(rest, CENTRE), situation(CENTRE))
    assert any("table" in f.who for f in near)  # it is too near to come to from elsewhere
    assert envelope().findings(plan(rest, CENTRE), there) == []
    assert envelope().findings(plan(rest, lower), there)


def test_mujoco_finds_the_same_contacts():
    """Random poses: a model in which every link collides is the judge."""
    spec = world().spec()
    for geom in spec.geoms:
        if geom.group == 3 or geom.name == "table":
            geom.contype = geom.conaffinity = 1
    for pair in list(spec.pairs):
        spec.delete(pair)
    judge = spec.compile()
    data = mujoco.MjData(judge)
    clearance = envelope()._clearance
    watched = {(p.first, p.second): p for p in clearance.pairs if p.kind in ("self", "fixed")}
    rng = np.random.default_rng(3)
    met = 0
    for _ in range(150):
        pose = rng.uniform(body().low, body().high)
        data.qpos[:6] = pose
        data.qpos[6:9] = 5.0  # the cube is elsewhere
        mujoco.mj_forward(judge, data)
        theirs = {_same(judge, c.geom, watched) for c in data.contact if c.dist < 0} - {None}
        least = clearance.least(pose[None, None], 1.0, {}, within_m=0.02)
        assert theirs <= {pair for pair, near in least.items() if near.distance_m < 1e-3}
        assert {pair for pair, near in least.items() if near.distance_m < -1e-3} <= theirs
        met += bool(theirs)
    assert met > 30


def _same(judge: mujoco.MjModel, geoms, watched):
    """The pair of the nominal model that a contact is between."""
    a, b = (world().model.geom(judge.geom(int(g)).name).id for g in geoms)
    return watched.get((a, b)) or watched.get((b, a))


def test_fast_paths_are_looked_at_between_their_rows():
    """A leap over a cube that stands between two safe poses."""
    left, right = ((turn, 0.03, 0.495, 1.045, 1.62, 0.6) for turn in (-0.5, 0.5))
    cube = {"cube": np.array([[0.22, 0.0, 0.0125, 1.0, 0.0, 0.0, 0.0]])}
    clearance = envelope()._clearance

    def met(*poses: tuple[float, ...]) -> list[float]:
        path = np.array(poses)[:, None]
        least = clearance.least(path, PERIOD_S, cube, within_m=0.005)
        return [near.time_s for pair, near in least.items() if pair.kind == "cube"]

    assert met(left) == met(right) == []
    times = met(left, right)
    assert times and all(0.0 < time_s < PERIOD_S for time_s in times)


def test_a_robot_with_other_joints_is_refused():
    other = Interface(
        observations=(),
        commands=("hip", "knee"),
        unit=("rad", "rad"),
        low=(-1.0, -1.0),
        high=(1.0, 1.0),
        period_s=0.02,
        measured=None,
    )
    with pytest.raises(TrueupError, match="takes hip, knee"):
        body().fitted(other)


def test_the_limits_of_the_robot_count_where_they_are_narrower():
    face = Interface(
        observations=(),
        commands=body().joints,
        unit=("rad",) * 6,
        low=(-0.5,) * 6,
        high=tuple(body().high),
        period_s=0.02,
        measured=None,
    )
    fitted = body().fitted(face)
    assert isinstance(fitted, Body)
    assert fitted.low == (-0.5, -0.5, -0.5, -0.5, -0.5, body().low[5])


WALL = '<geom name="wall" type="box" pos="0.25 0 -0.2" size="0.02 0.1 0.1"/><light'


def test_any_robot_will_do():
    """A pendulum with a wall beside it, no hand, no limits to its commands."""
    pendulum = Pendulum(mjcf=MJCF.replace("<light", WALL, 1))
    envelope = Envelope(pendulum)
    assert envelope.body.joints == ("swing",)
    assert envelope.body.high == (np.inf,)
    assert envelope.body.speed == pytest.approx((9.0 / 0.2,))
    here = Situation(
        world=pendulum,
        body=envelope.body,
        period_s=pendulum.control_period_s,
        start=np.array([envelope.body.ready]),
    )
    motion = Triangle(amplitude_rad=(0.3,), center_rad=(0.0,), cycles=1)
    envelope.checked(motion, here)
    with pytest.raises(Unsafe) as error:
        envelope.checked(motion.scaled(4.0), here)
    (finding,) = error.value.findings
    assert finding.who == "arm, world"
    assert error.value.scale is not None
    # a rod of 2 cm radius must stay 2 cm from the wall: that is where it may swing to
    swing = 4.0 * error.value.scale * 0.3
    assert 0.5 < swing < 0.9
