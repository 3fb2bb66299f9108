"""Frames, hands and legs: the geometry that carries a demonstration elsewhere."""

import mujoco
import numpy as np
import pytest

from trueup.generate.motion.frames import azimuth, eased, face_yaw, nearest_quarter, turned
from trueup.generate.motion.hand import Hand, NoHand, Pose
from trueup.generate.motion.legs import Frame, Leg, Library, in_frame
from trueup.generate.motion.scripts import scripted
from trueup.generate.motion.senses import Things
from trueup.worlds import World, get
from trueup.worlds.so101 import HOME, REACH
from trueup.worlds.tabletop import tcp_kinematics

QUARTER = np.pi / 2


def quat(axis, angle):
    found = np.zeros(4)
    mujoco.mju_axisAngle2Quat(found, np.array(axis, float), angle)
    return found


def product(a, b):
    found = np.zeros(4)
    mujoco.mju_mulQuat(found, a, b)
    return found


@pytest.fixture(scope="module")
def world():
    return get("so101/lift")


def poses(n):
    rng = np.random.default_rng(0)
    return np.array(HOME) + rng.uniform(-0.4, 0.4, (n, 6))


@pytest.mark.parametrize("yaw", [-0.7, 0.0, 0.3])
def test_a_box_is_turned_alike_whichever_face_it_lies_on(yaw):
    upright = quat([0, 0, 1], yaw)
    for axis in ([1, 0, 0], [0, 1, 0], [0, 0, 1]):
        for quarters in range(4):
            laid = product(upright, quat(axis, quarters * QUARTER))
            assert nearest_quarter(face_yaw(laid), np.array(yaw)) == pytest.approx(yaw, abs=1e-9)


def test_the_nearest_quarter_turn_is_near_and_the_same_box():
    yaw, near = np.linspace(-9, 9, 101), np.linspace(3, -3, 101)
    found = nearest_quarter(yaw, near)
    assert (np.abs(found - near) <= QUARTER / 2 + 1e-9).all()
    quarters = (found - yaw) / QUARTER
    assert np.allclose(quarters, np.round(quarters))


def test_a_place_comes_back_from_its_frame():
    rng = np.random.default_rng(1)
    place, way = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    origin, yaw = np.array([0.2, 0.1, 0.01]), 0.6
    there, along = in_frame(place, (way,), origin, yaw)
    assert np.allclose(origin + turned(there, yaw), place)
    assert np.allclose(turned(along, yaw), way)


def test_turning_about_the_shoulder_turns_the_azimuth():
    place = np.array([0.25, 0.05, 0.0])
    pan = np.array([0.0388, 0.0, 0.0])
    assert azimuth(pan + turned(place - pan, 0.4)) == pytest.approx(azimuth(place) + 0.4)


def test_easing_rests_at_both_ends():
    shares = eased(np.array([-1.0, 0.0, 1e-4, 0.5, 1.0, 2.0]))
    assert shares.tolist() == pytest.approx([0.0, 0.0, 3e-8, 0.5, 1.0, 1.0], abs=1e-9)


def test_a_hand_is_where_mujoco_has_it(world):
    q = poses(7)
    pose, data = Hand(world).pose(q), mujoco.MjData(world.model)
    assert np.allclose(pose.place, tcp_kinematics(world)(q))
    for i in range(len(q)):
        data.qpos[:6] = q[i]
        mujoco.mj_kinematics(world.model, data)
        frame = data.site("tcp").xmat.reshape(3, 3)
        assert np.allclose(pose.place[i], data.site("tcp").xpos)
        assert np.allclose(pose.jaw[i], frame[:, 0])
        assert np.allclose(pose.down[i], frame[:, 2])


def test_a_hand_finds_back_to_where_it_was(world):
    hand, q = Hand(world), np.tile(REACH, (4, 1))
    wanted = hand.pose(q)
    q[:, :5] += np.random.default_rng(2).uniform(-0.2, 0.2, (4, 5))
    found, left = hand.towards(q, wanted, iterations=60)
    assert (left < 1e-4).all()
    assert np.allclose(hand.pose(found).place, wanted.place, atol=1e-4)


def test_a_place_beyond_the_arm_is_told_as_a_distance(world):
    hand, q = Hand(world), np.array([REACH])
    pose = hand.pose(q)
    far = Pose(place=pose.place + np.array([0.5, 0.0, 0.0]), jaw=pose.jaw, down=pose.down)
    _, left = hand.towards(q, far, iterations=60)
    assert left[0] > 0.1


def test_a_leg_is_read_between_its_rows():
    place = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.2], [0.3, 0.0, 0.4]])
    ways = np.tile([0.0, 1.0, 0.0], (3, 1))
    short = Leg(
        name="reach", frame=Frame.OBJECT, place=place, jaw=ways, down=ways, grip=np.arange(3.0)
    )
    longer = Leg(
        name="carry",
        frame=Frame.TARGET,
        place=np.ones((5, 3)),
        jaw=np.ones((5, 3)),
        down=np.ones((5, 3)),
        grip=np.zeros(5),
    )
    library = Library([short, longer])
    which, step = np.array([0, 0, 0, 1]), np.array([0.5, 1.25, 9.0, 4.5])
    found, _, _ = library.at(which, step)
    assert found[:, 0].tolist() == pytest.approx([0.05, 0.15, 0.3, 1.0])
    assert library.gripper(which, step).tolist() == [0.0, 1.0, 2.0, 0.0]


@pytest.mark.parametrize("name", ["so101/reach", "so101/push", "so101/lift", "so101/place"])
def test_every_task_has_a_script_that_fits_into_an_episode(name):
    world = get(name)
    assert scripted(world).steps < world.steps


def test_things_are_found_by_the_names_of_signals(world):
    assert Things.of(world) == Things(thing="cube", target=False)
    assert Things.of(get("so101/place")) == Things(thing="cube", target=True)
    assert Things.of(get("so101/reach")) == Things(thing=None, target=True)


class Handless(World):
    name = "hand/less"

    def spec(self):
        return mujoco.MjSpec.from_string(
            "<mujoco><worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody>"
            "<actuator><position joint='j'/></actuator></mujoco>"
        )

    def effects(self):
        return ()

    def start(self, scene):
        return {}

    def reward(self, s, action):
        return s.time

    def success(self, s):
        return s.time > 0


def test_a_world_without_a_hand_is_told():
    with pytest.raises(NoHand, match="no site 'tcp'"):
        Hand(Handless())
