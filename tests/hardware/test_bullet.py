"""The second engine: the same robot, moved by PyBullet."""

from __future__ import annotations

import json

import mujoco
import numpy as np
import pytest

pytest.importorskip("pybullet", reason="PyBullet is an optional extra")

from trueup.errors import TrueupError
from trueup.hardware import check_robot, open_robot
from trueup.hardware.bullet import BulletCells, BulletWorlds
from trueup.hardware.bullet.body import Body, timeless_world
from trueup.hardware.bullet.drive import Drive
from trueup.hardware.bullet.frames import from_bullet, to_bullet
from trueup.hardware.bullet.urdf import tree_of
from trueup.hardware.reality import read_reality
from trueup.hardware.rehearsal.cells import MujocoCells
from trueup.simulate import CpuWorlds
from trueup.space import Space
from trueup.worlds import Compiled, get
from trueup.worlds.scripted import ScriptedLift

DELAYED = {"latency/action_delay": 0.05, "latency/encoder_delay": 0.03}
BENT = {
    "actuation/elbow_flex/kp": 9.0,
    "actuation/elbow_flex/kv": 0.5,
    "actuation/shoulder_pan/damping": 1.8,
    "actuation/shoulder_lift/zero_offset": 0.1,
    "actuation/lower_arm/mass": 0.15,
    "actuation/wrist_flex/frictionloss": 0.05,
    "actuation/supply_voltage": 0.9,
}


def compiled(name, values=None):
    world = get(name)
    return Compiled(world, Space(tuple(world.catalogue[n] for n in values or {})))


def begun(kind, made, values=None, *, n=2, seeds=None):
    worlds = kind(made, n, threads=1)
    worlds.reset(made.space.point(values or {}), np.arange(n) if seeds is None else seeds)
    return worlds


def waved(worlds, steps=30, *, size=0.3):
    """Joint positions (steps, n, 6) under a smooth motion about the start."""
    generator, hold = np.random.default_rng(0), worlds.hold
    rate, phase = generator.uniform(1, 6, hold.shape[1]), generator.uniform(0, 6.3, hold.shape[1])
    found = []
    for k in range(steps):
        command = hold + size * (np.sin(0.04 * k * rate + phase) - np.sin(phase))
        found.append(worlds.step(command).observation["joint_position"].copy())
    return np.array(found)


# Conversion -------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [{}, BENT, {"actuation/elbow_flex/backlash": 0.02}], ids=len)
def test_mass_and_gravity_are_those_of_the_model(values):
    worlds = begun(CpuWorlds, compiled("so101/lift", values), values, n=1)
    model = worlds.batch.get_model(0)
    body, data = Body(model, np.zeros(model.nv), timeless_world()), mujoco.MjData(model)
    joints = np.array(tree_of(model).joints)
    at, dofs = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    generator = np.random.default_rng(1)
    for _ in range(5):
        low, high = model.jnt_range[joints].T
        q, v = generator.uniform(low, high), generator.normal(size=len(joints))
        data.qpos[at], data.qvel[:], data.qvel[dofs] = q, 0.0, v
        mujoco.mj_forward(model, data)
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        mass, bias = body.dynamics((q - model.qpos0[at]).tolist(), v.tolist())
        wanted = full[np.ix_(dofs, dofs)] - np.diag(model.dof_armature[dofs])
        # a joint that moves nothing yet needs a crumb of mass
        np.testing.assert_allclose(mass, wanted, atol=2e-6)
        np.testing.assert_allclose(bias, data.qfrc_bias[dofs], atol=2e-5)
    body.close()


def test_frames_there_and_back():
    generator = np.random.default_rng(0)
    quats = generator.normal(size=(2, 4, 4))
    quats /= np.linalg.norm(quats, axis=-1, keepdims=True)
    poses = np.concatenate([generator.normal(size=(4, 3)), quats[0]], axis=1)
    twists, ipos = generator.normal(size=(4, 6)), generator.normal(size=(4, 3))
    back = from_bullet(to_bullet(poses, twists, ipos, quats[1]), ipos, quats[1])
    np.testing.assert_allclose(back[0], poses, atol=1e-12)
    np.testing.assert_allclose(back[1], twists, atol=1e-12)


def test_what_cannot_be_carried_over_is_refused():
    values = {"actuation/elbow_flex/stribeck_torque": 0.1}
    with pytest.raises(TrueupError, match=r"cannot be carried over.*actuators without") as told:
        begun(BulletWorlds, compiled("so101/lift", values), values)
    assert "mujoco" in told.value.fix


@pytest.mark.parametrize("shape", ["ball", "cylinder", "wedge"])
def test_a_cube_that_is_none_is_none_there_either(shape, tmp_path):
    file = tmp_path / "shape.json"
    words = {"trueup_reality": 1, "story": "Not a cube.", "world": "so101/lift", "engine": "bullet"}
    beyond = [{"effect": "undeclared_shape", "shape": shape}]
    file.write_text(json.dumps({**words, "values": {}, "beyond": beyond}))
    cells = BulletCells(read_reality(str(file)), get("so101/lift"), 1)
    cells.reset(np.arange(1), np.zeros(1, np.uint64))
    start = cells.observation["cube_position"].copy()
    for _ in range(10):
        cells.step()
    assert (
        np.abs(cells.observation["cube_position"] - start)[0, 2] < 3e-3
    )  # on the table, not in it


@pytest.mark.parametrize(
    "beyond",
    [
        {"effect": "cable_drag", "joints": "shoulder_pan", "pull": 30.0, "tied_rad": 0.3},
        {"effect": "wobbly_mount", "stiffness": 25.0},
    ],
    ids=lambda b: b["effect"],
)
def test_springs_on_joints_pull_alike(beyond, tmp_path):
    file = tmp_path / "sprung.json"
    words = {"trueup_reality": 1, "story": "Something springs.", "world": "so101/arm", "values": {}}
    found = {}
    for name, extra in (("sprung", [beyond]), ("plain", [])):
        file.write_text(json.dumps({**words, "beyond": extra}))
        for kind in (MujocoCells, BulletCells):
            cells = kind(read_reality(str(file)), get("so101/arm"), 1)
            cells.reset(np.arange(1), np.zeros(1, np.uint64))
            cells.power(True)
            start, track = cells.observation["joint_position"].copy(), []
            for k in range(30):
                cells.command(start + 0.5 * np.sin(0.2 * k))
                cells.step()
                seen = cells._worlds.truth["truth/tcp_position"][0]
                track.append(seen.copy())
            found[name, kind] = np.array(track)
    apart = np.abs(found["sprung", BulletCells] - found["sprung", MujocoCells]).max()
    bent = np.abs(found["sprung", MujocoCells] - found["plain", MujocoCells]).max()
    assert bent > 4e-3
    # MuJoCo's own friction creeps where nobody made it stiff, as in the joints of the mount
    assert apart < (0.2 if beyond["effect"] == "cable_drag" else 0.7) * bent


def test_a_tilted_table_tilts_there_too():
    values = {"environment/table/tilt_x": 0.05, "environment/obstacle/height": 0.05}
    worlds = begun(BulletWorlds, compiled("so101/lift", values), values, n=2)
    start = worlds.truth["truth/cube_position"].copy()
    for _ in range(15):
        worlds.step(worlds.hold)
    np.testing.assert_allclose(worlds.truth["truth/cube_position"], start, atol=2e-3)


# Motion -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [{}, BENT, DELAYED], ids=["nominal", "bent", "delayed"])
def test_free_motion_agrees(values):
    made = compiled("so101/arm", values)
    ours, theirs = (waved(begun(kind, made, values)) for kind in (CpuWorlds, BulletWorlds))
    assert np.ptp(ours, axis=0).min() > 0.05
    assert np.sqrt(np.mean((ours - theirs) ** 2)) < 3e-3


@pytest.mark.parametrize("values", [BENT, DELAYED], ids=["bent", "delayed"])
def test_parameters_matter_there_too(values):
    made = compiled("so101/arm", values)
    bent, nominal = (waved(begun(BulletWorlds, made, v)) for v in (values, {}))
    assert np.sqrt(np.mean((bent - nominal) ** 2)) > 0.02


def test_dry_friction_holds_what_it_can_and_no_more():
    drive = Drive(
        armature=np.full((2, 1), 0.02), damping=np.zeros((2, 1)), friction=np.full((2, 1), 0.2)
    )
    mass, still = np.full((2, 1, 1), 0.01), np.zeros((2, 1))
    pull, step_s = np.array([[0.19], [0.5]]), np.full(2, 0.005)
    found = drive.accelerations(mass, still, still, pull, step_s)
    np.testing.assert_allclose(found, [[0.0], [0.3 / 0.03]], atol=1e-9)
    moving = np.full((2, 1), 1e-4)
    stopped = drive.accelerations(mass, still, moving, 0.0 * pull, step_s)
    np.testing.assert_allclose(moving + 0.005 * stopped, 0.0, atol=1e-12)


def test_a_body_depends_on_itself_alone():
    made = compiled("so101/lift")
    many, alone = (begun(BulletWorlds, made, n=n, seeds=np.arange(7, 7 + n)) for n in (3, 1))
    np.testing.assert_array_equal(waved(many, 12)[:, 0], waved(alone, 12)[:, 0])
    again = begun(BulletWorlds, made, n=3, seeds=np.array([1, 7, 9]))
    np.testing.assert_array_equal(waved(again, 12)[:, 1], waved(alone_again(made), 12)[:, 0])


def alone_again(made):
    """A cell that has lived an episode before."""
    worlds = begun(BulletWorlds, made, n=1, seeds=np.array([3]))
    waved(worlds, 5)
    worlds.reset(made.space.point({}), np.array([7]))
    return worlds


# Contact ----------------------------------------------------------------------------------------


def test_the_script_lifts_and_holds_with_the_same_force():
    made, forces = compiled("so101/lift"), {}
    for kind in (CpuWorlds, BulletWorlds):
        worlds = begun(kind, made, n=2)
        hand = ScriptedLift(made.world, worlds.observation)
        lifted = np.zeros(2, bool)
        for k in range(100):
            lifted |= worlds.step(hand(k, worlds.observation)).success
        assert lifted.all(), kind
        assert not worlds.divergences
        forces[kind] = np.linalg.norm(worlds.privileged["grip_force"].reshape(2, 2, 3), axis=2)
    np.testing.assert_allclose(forces[BulletWorlds], forces[CpuWorlds], rtol=0.4)


@pytest.mark.slow
def test_a_slippery_cube_is_lost_there_too():
    values = {"contact/fingertip-object/sliding": 0.3, "object/cube/mass": 0.1}
    values["actuation/gripper/force_limit"] = 0.55
    made = compiled("so101/lift", values)
    worlds = begun(BulletWorlds, made, values, n=2)
    hand = ScriptedLift(made.world, worlds.observation)
    heights = [
        worlds.step(hand(k, worlds.observation)).privileged["true_cube_position"][:, 2].copy()
        for k in range(90)
    ]
    assert np.max(heights, axis=0).min() < 0.06


def test_a_cube_rests_on_the_table():
    worlds = begun(BulletWorlds, compiled("so101/lift"), n=2)
    start = worlds.truth["truth/cube_position"].copy()
    for _ in range(25):
        worlds.step(worlds.hold)
    moved = worlds.truth["truth/cube_position"] - start
    assert np.abs(moved).max() < 1.5e-3
    assert np.abs(worlds.truth["truth/cube_velocity"]).max() < 5e-3


def test_an_arm_pressed_onto_the_table_stays_put():
    worlds = begun(BulletWorlds, compiled("so101/reach"), n=1)
    down = worlds.hold + np.array([[0.0, 0.9, 0.3, 0.3, 0.0, -0.5]])
    for k in range(75):
        worlds.step(worlds.hold + min(1.0, k / 40) * (down - worlds.hold))
    assert np.abs(worlds.observation["joint_velocity"]).max() < 0.3
    assert worlds.privileged["true_tcp_position"][0, 2] > -0.03


# Cells and processes ----------------------------------------------------------------------------


@pytest.fixture
def reality(tmp_path):
    file = tmp_path / "other.json"
    words = {
        "trueup_reality": 1,
        "story": "Another engine, and nothing else.",
        "world": "so101/reach",
        "engine": "bullet",
        "values": {"latency/action_delay": 0.02},
    }
    file.write_text(json.dumps(words))
    return file


def test_without_torque_both_fall_alike(reality):
    world, fallen = get("so101/reach"), []
    for kind in (MujocoCells, BulletCells):
        cells = kind(read_reality(str(reality)), world, 1)
        cells.reset(np.arange(1), np.zeros(1, np.uint64))
        cells.power(False)
        for _ in range(20):
            cells.step()
        fallen.append(cells.observation["joint_position"][0])
    start = np.array(fallen[0])
    np.testing.assert_allclose(fallen[1], start, atol=0.03)
    assert np.abs(fallen[1][1:3] - cells.hold[0, 1:3]).max() > 0.02


@pytest.mark.slow
def test_it_is_a_robot_like_any_other(reality):
    with open_robot(f"rehearsal:{reality}", cells=2) as robot:
        robot.reset(np.array([0, 1]))
        robot.enable()
        before = robot.observe()["joint_position"].copy()
        robot.act(before + 0.1)
        robot.clock.wait_until(robot.clock.now_s() + 0.4)
        assert (robot.observe()["joint_position"] - before).mean() > 0.04
    check_robot(open_robot(f"rehearsal:{reality}", cells=2))


def test_too_many_cells_are_refused():
    with pytest.raises(TrueupError, match="2000 cells do not fit"):
        BulletWorlds(compiled("so101/reach"), 2000)
