"""Four tasks that can be started, solved and lost, on numpy and on torch alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from trueup import worlds
from trueup.simulate import CpuWorlds, Step
from trueup.worlds import Compiled, Readings, World, sensor_slots
from trueup.worlds.kinematics import ForwardKinematics
from trueup.worlds.scripted import _Kinematics
from trueup.worlds.so101 import JOINTS
from trueup.worlds.tabletop import CUBE_HALF, PAN_AXIS_X

EXAMPLE = Path(__file__).parents[2] / "examples" / "planar_sweep" / "world.py"
SO101 = worlds.names()
WITH_CUBE = ("so101/push", "so101/lift", "so101/place")
N = 64

_UNITS = {
    "joint_position": ("rad", 6),
    "joint_velocity": ("rad/s", 6),
    "joint_force": ("N·m", 6),
    "tcp_position": ("m", 3),
    "cube_position": ("m", 3),
    "cube_orientation": ("1", 4),
    "cube_from_tcp": ("m", 3),
    "target_position": ("m", 3),
    "target_from_tcp": ("m", 3),
    "target_from_cube": ("m", 3),
    "cube_in_hand": ("m", 3),
    "cube_turn_in_hand": ("1", 2),
    "target_in_hand": ("m", 3),
}


def started(name: str, *, random: bool, n: int = N) -> CpuWorlds:
    world = worlds.get(name)
    batch = CpuWorlds(Compiled(world), n)
    if random:
        batch.resample(np.random.default_rng(1))
    else:
        batch.reset(world.space.nominal(), np.arange(n))
    return batch


def held(batch: CpuWorlds, steps: int) -> Step:
    """The last answer of worlds that were told to stay where they are."""
    return [batch.step(batch.hold) for _ in range(steps)][-1]


class Made:
    """Readings of one world, made by hand: what is not named is zero."""

    def __init__(self, world: World, **given: tuple[float, ...]) -> None:
        slots = sensor_slots(world.model)
        data = np.zeros((1, world.model.nsensordata))
        for name, values in given.items():
            sensor = name.replace("__", "/")
            if sensor in slots:
                data[:, slots[sensor]] = values
        self.readings = Readings(slots, data, np.zeros(1))
        self.world = world

    @property
    def success(self) -> bool:
        return bool(self.world.success(self.readings)[0])

    @property
    def failure(self) -> bool:
        return bool(self.world.failure(self.readings)[0])


class TestObservations:
    @pytest.mark.parametrize("name", SO101)
    def test_have_their_shapes_and_units(self, name):
        batch = started(name, random=False, n=3)
        signals = {signal.name: signal for signal in batch.world.observations}
        assert signals.keys() <= _UNITS.keys()
        assert batch.observation.keys() == signals.keys()
        for key, values in batch.observation.items():
            unit, width = _UNITS[key]
            assert signals[key].unit == unit
            assert values.shape == (3, width)
            assert np.isfinite(values).all()

    @pytest.mark.parametrize("name", SO101)
    def test_are_free_of_truth(self, name):
        for signal in worlds.get(name).observations:
            assert not any(sensor.startswith("truth/") for sensor in signal.sensors)

    def test_agree_with_the_truth_in_the_nominal_world(self):
        batch = started("so101/lift", random=False)
        step = held(batch, 3)
        for seen, true in (
            ("cube_position", "true_cube_position"),
            ("tcp_position", "true_tcp_position"),
        ):
            np.testing.assert_allclose(
                step.observation[seen], step.privileged[true], rtol=0, atol=1e-12
            )

    def test_of_the_hand_follow_the_encoders_not_the_truth(self):
        world = worlds.get("so101/reach")
        batch = CpuWorlds(Compiled(world), 1)
        batch.reset(world.space.point({"actuation/shoulder_pan/zero_offset": 0.1}), 0)
        step = batch.step(batch.hold)
        off = np.linalg.norm(
            step.observation["tcp_position"] - step.privileged["true_tcp_position"]
        )
        assert off == pytest.approx(0.1 * 0.17, rel=0.1)  # the hand is 17 cm from the shoulder


class TestStart:
    @pytest.mark.parametrize("name", WITH_CUBE)
    @pytest.mark.parametrize("random", [False, True], ids=["nominal", "random"])
    def test_the_cube_stands_still_on_the_table(self, name, random):
        batch = started(name, random=random)
        before = batch.truth["truth/cube_position"].copy()
        step = held(batch, 13)  # half a second
        moved = np.linalg.norm(batch.truth["truth/cube_position"] - before, axis=1)
        assert moved.max() < 0.003
        assert not step.diverged.any()
        assert not step.failure.any()

    @pytest.mark.parametrize("name", WITH_CUBE)
    def test_the_cube_is_neither_in_the_table_nor_above_it(self, name):
        batch = started(name, random=True)
        for i in range(N):
            model, data = batch.snapshot(i)
            cube, table = model.geom("cube").id, model.geom("table").id
            corners = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, 8).T * model.geom_size[cube]
            places = corners @ data.geom_xmat[cube].reshape(3, 3).T + data.geom_xpos[cube]
            normal = data.geom_xmat[table].reshape(3, 3)[:, 2]
            lowest = ((places - data.geom_xpos[table]) @ normal).min()
            assert -0.0005 < lowest < 0.001

    @pytest.mark.parametrize("name", WITH_CUBE)
    def test_the_cube_is_within_reach(self, name):
        batch = started(name, random=False)
        cube = batch.truth["truth/cube_position"].copy()
        sideways = np.arctan2(cube[:, 1], cube[:, 0] - PAN_AXIS_X) + np.pi / 2
        across = np.stack([np.cos(sideways), np.sin(sideways), 0 * sideways], axis=-1)
        _, left = _Kinematics(batch.world, N).solve(cube, across)
        assert left.max() < 0.004

    def test_targets_in_the_air_are_within_reach(self):
        batch = started("so101/reach", random=False)
        target = batch.truth["target_position"].copy()
        sideways = np.arctan2(target[:, 1], target[:, 0] - PAN_AXIS_X) + np.pi / 2
        across = np.stack([np.cos(sideways), np.sin(sideways), 0 * sideways], axis=-1)
        _, left = _Kinematics(batch.world, N).solve(target, across)
        assert left.max() < 0.015  # success is within 2 cm

    @pytest.mark.parametrize("name", SO101)
    def test_joints_are_near_the_ready_pose_and_within_limits(self, name):
        batch = started(name, random=False)
        q = batch.observation["joint_position"]
        low, high = batch.compiled.model.jnt_range[:6].T
        assert ((q > low) & (q < high)).all()
        assert np.ptp(q, axis=0).max() < 0.07

    @pytest.mark.parametrize("name", SO101)
    def test_no_episode_starts_solved_or_lost(self, name):
        batch = started(name, random=False, n=2048)
        assert not batch.world.failure(batch.truth).any()
        assert batch.world.success(batch.truth).sum() == 0

    @pytest.mark.parametrize("name", [name for name in SO101 if name != "so101/arm"])
    def test_is_spread_and_depends_on_the_seed_alone(self, name):
        one, two = started(name, random=False), started(name, random=False)
        for key in one.observation:
            np.testing.assert_array_equal(one.observation[key], two.observation[key])
        where = "cube_position" if name in WITH_CUBE else "target_position"
        assert np.ptp(one.observation[where][:, :2], axis=0).min() > 0.04


class TestSolved:
    def test_reach(self):
        world = worlds.get("so101/reach")
        at = dict(target_position=(0.2, 0.0, 0.1))
        assert Made(world, truth__tcp_position=(0.2, 0.015, 0.1), **at).success
        assert not Made(world, truth__tcp_position=(0.2, 0.025, 0.1), **at).success

    def test_push(self):
        world = worlds.get("so101/push")
        at = dict(target_position=(0.2, 0.1, 0.001))
        assert Made(world, truth__cube_position=(0.2, 0.08, CUBE_HALF), **at).success
        assert not Made(world, truth__cube_position=(0.2, 0.07, CUBE_HALF), **at).success

    def test_lift(self):
        world = worlds.get("so101/lift")
        hand = dict(truth__tcp_position=(0.2, 0.0, 0.08))
        assert Made(world, truth__cube_position=(0.2, 0.0, 0.08), **hand).success
        assert not Made(world, truth__cube_position=(0.2, 0.0, 0.07), **hand).success
        thrown = Made(
            world, truth__cube_position=(0.2, 0.0, 0.2), truth__tcp_position=(0.2, 0.0, 0.1)
        )
        assert not thrown.success

    def test_place(self):
        world = worlds.get("so101/place")
        done = dict(
            truth__cube_position=(0.21, -0.12, CUBE_HALF),
            truth__cube_velocity=(0.0, 0.0, 0.0),
            truth__tcp_position=(0.2, -0.13, 0.1),
            target_position=(0.2, -0.13, 0.0),
        )
        assert Made(world, **done).success
        for missing in (
            dict(truth__cube_position=(0.26, -0.13, CUBE_HALF)),
            dict(truth__cube_position=(0.2, -0.13, 0.05)),
            dict(truth__cube_velocity=(0.0, 0.0, -0.2)),
            dict(truth__tcp_position=(0.21, -0.12, 0.03)),
        ):
            assert not Made(world, **{**done, **missing}).success

    def test_a_cube_in_the_bin_stays_there(self):
        world = worlds.get("so101/place")
        assert isinstance(world, World)
        batch = CpuWorlds(Compiled(world), 8)
        batch.reset(world.space.nominal(), np.arange(8))
        at = batch.compiled.model.joint("cube").qposadr[0]
        qpos = batch.batch.bind("qpos")
        qpos[:, at : at + 2] = batch.truth["target_position"][:, :2]
        qpos[:, at + 2] = 0.03  # let it drop
        assert held(batch, 20).success.all()

    @pytest.mark.parametrize("name", WITH_CUBE)
    def test_a_cube_that_leaves_is_lost(self, name):
        world = worlds.get(name)
        assert not Made(world, truth__cube_position=(0.3, 0.2, CUBE_HALF)).failure
        assert Made(world, truth__cube_position=(0.4, 0.3, CUBE_HALF)).failure
        assert Made(world, truth__cube_position=(0.2, 0.0, -0.2)).failure


def reward(name: str, **readings: tuple[float, ...]) -> float:
    world = worlds.get(name)
    return float(world.reward(Made(world, **readings).readings, np.zeros((1, 6)))[0])


GRIPPED = dict(truth__fixed_grip=(0.0, 4.0, 0.0), truth__moving_grip=(0.0, -4.0, 0.0))


class TestReward:
    @pytest.mark.parametrize(
        ("name", "worse", "better"),
        [
            ("so101/reach", {}, dict(truth__tcp_position=(0.2, 0.0, 0.1))),
            ("so101/push", {}, dict(truth__cube_position=(0.2, 0.0, CUBE_HALF))),
            ("so101/lift", {}, dict(truth__tcp_position=(0.2, 0.1, CUBE_HALF))),
            ("so101/lift", {}, GRIPPED),
            ("so101/lift", GRIPPED, dict(GRIPPED, truth__cube_position=(0.2, 0.1, 0.07))),
            ("so101/place", GRIPPED, dict(GRIPPED, truth__cube_position=(0.2, 0.0, 0.07))),
        ],
    )
    def test_rises_towards_the_goal(self, name, worse, better):
        start = dict(
            truth__tcp_position=(0.2, -0.1, 0.15),
            truth__cube_position=(0.2, 0.1, CUBE_HALF),
            truth__cube_velocity=(0.0, 0.0, 0.0),
            truth__tcp_direction=(0.0, 0.0, -1.0),
            truth__fingertip_moving=(0.06, 0.0, 0.0),  # open: as far from the other, at zero
            target_position=(0.2, 0.0, 0.1) if name == "so101/reach" else (0.2, 0.0, 0.0),
        )
        low, high = (reward(name, **{**start, **change}) for change in (worse, better))
        assert high > low + 0.05

    def test_only_a_grasp_earns_the_height(self):
        hand = dict(truth__tcp_position=(0.2, 0.1, 0.07))
        low, high = (
            reward("so101/lift", truth__cube_position=(0.2, 0.1, z), **hand) for z in (0.06, 0.07)
        )
        assert high - low < 0.2


@pytest.mark.parametrize("name", [*SO101, f"{EXAMPLE}:PlanarSweep"], ids=lambda n: n.split(":")[-1])
def test_numpy_and_torch_give_the_same_numbers(name):
    world = worlds.get(name)
    compiled = Compiled(world)
    batch = CpuWorlds(compiled, N)
    batch.resample(np.random.default_rng(2))
    rng = np.random.default_rng(3)
    low, high = compiled.model.actuator_ctrlrange.T
    limited = high > low
    for _ in range(20):  # anywhere but at the start
        swing = np.where(limited, rng.uniform(low, high, (N, compiled.model.nu)), 0.5)
        batch.step(0.5 * batch.hold + 0.5 * swing)
    slots, data, time = batch._slots, batch._sensordata.copy(), batch.time_s.copy()
    action = batch.hold
    on_numpy = Readings(slots, data, time)
    on_torch = Readings(slots, torch.from_numpy(data), torch.from_numpy(time))
    for numbers, tensors in (
        (world.success(on_numpy), world.success(on_torch)),
        (world.failure(on_numpy), world.failure(on_torch)),
        (world.reward(on_numpy, action), world.reward(on_torch, torch.from_numpy(action))),
    ):
        assert isinstance(tensors, torch.Tensor)
        assert numbers.shape == (N,)
        assert str(tensors.dtype).removeprefix("torch.") == str(numbers.dtype)
        np.testing.assert_allclose(tensors.numpy(), numbers, rtol=1e-12, atol=1e-12)


def test_the_hand_is_where_mujoco_has_it_on_numpy_and_torch():
    batch = started("so101/reach", random=False)
    q, tcp = batch.observation["joint_position"], batch.truth["truth/tcp_position"]
    chain = ForwardKinematics(batch.world.model, "tcp", JOINTS)
    np.testing.assert_allclose(chain(q), tcp, rtol=0, atol=1e-12)
    np.testing.assert_allclose(chain(torch.from_numpy(q)).numpy(), tcp, rtol=0, atol=1e-12)


class TestInHand:
    def test_is_the_frame_of_the_hand(self):
        batch = started("so101/push", random=False)
        sway = 0.3 * np.random.default_rng(0).standard_normal(batch.hold.shape)
        for _ in range(10):
            batch.step(batch.hold + sway)
        seen = batch.observation
        for i in range(0, N, 16):
            _, data = batch.snapshot(i)
            frame = data.site("tcp").xmat.reshape(3, 3)
            for thing in ("cube", "target"):
                away = seen[f"{thing}_position"][i] - seen["tcp_position"][i]
                np.testing.assert_allclose(seen[f"{thing}_in_hand"][i], frame.T @ away, atol=1e-6)

    def test_a_quarter_turn_of_the_cube_is_no_turn(self):
        batch = started("so101/lift", random=False, n=2)
        signal = next(s for s in batch.world.observations if s.name == "cube_turn_in_hand")
        half = np.array([0.1, 0.1 + np.pi / 4])  # half of the yaw
        quat = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=-1)
        known = {"joint_position": batch.observation["joint_position"][[0, 0]]}
        assert signal.function is not None
        turns = signal.function(batch.world, quat, known)
        np.testing.assert_allclose(turns[0], turns[1], atol=1e-9)


class TestEase:
    @pytest.mark.parametrize("name", WITH_CUBE)
    def test_nothing_is_eased_unless_asked(self, name):
        plain, some = (started(name, random=False, n=8) for _ in range(2))
        some.ease[4:] = 0.7
        for batch in (plain, some):
            batch.reset(batch.world.space.nominal(), np.arange(8))
        for signal in plain.observation:
            same = plain.observation[signal] == some.observation[signal]
            assert same[:4].all()
        assert (plain.truth["truth/tcp_position"] != some.truth["truth/tcp_position"])[4:].any()

    @pytest.mark.parametrize("name", WITH_CUBE)
    def test_the_hand_begins_around_the_cube(self, name):
        batch = started(name, random=False, n=16)
        batch.ease[:] = 1.0
        batch.reset(batch.world.space.nominal(), np.arange(16))
        truth = batch.truth
        away = truth["truth/tcp_position"] - truth["truth/cube_position"]
        assert np.linalg.norm(away, axis=1).max() < 0.01
        shut = batch.hold
        shut[:, 5] = -0.15
        for _ in range(20):
            batch.step(shut)
        shut[:, 1] -= 0.5
        for _ in range(25):
            batch.step(shut)
        assert (batch.truth["truth/cube_position"][:, 2] > 0.05).all()


def test_only_square_fingers_are_astride():
    tips = dict(truth__cube_position=(0.2, 0.0, CUBE_HALF))
    square, askew = (
        reward(
            "so101/lift",
            truth__fingertip_fixed=(0.2, -0.02, CUBE_HALF),
            truth__fingertip_moving=(0.2, 0.02, CUBE_HALF),
            truth__tcp_position=(0.2, 0.0, CUBE_HALF),
            truth__tcp_direction=(0.0, 0.0, -1.0),
            truth__cube_orientation=(np.cos(half), 0.0, 0.0, np.sin(half)),
            **tips,
        )
        for half in (0.0, np.pi / 8)
    )
    beside = reward(
        "so101/lift",
        truth__fingertip_fixed=(0.2, 0.02, CUBE_HALF),
        truth__fingertip_moving=(0.2, 0.05, CUBE_HALF),
        truth__tcp_position=(0.2, 0.0, CUBE_HALF),
        truth__tcp_direction=(0.0, 0.0, -1.0),
        truth__cube_orientation=(1.0, 0.0, 0.0, 0.0),
        **tips,
    )
    assert beside < askew - 0.1 < square - 0.3
