"""Four tasks for the SO-101 on its table: reach, push, lift, place."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
from array_api_compat import array_namespace

from trueup.effects import Array, Effect
from trueup.worlds.registry import register
from trueup.worlds.scene import Readings, Scene
from trueup.worlds.so101 import JOINTS, LINK_CONTACT, REACH, TABLE_CONTACT
from trueup.worlds.tabletop import (
    CUBE_HALF,
    CUBE_IN_HAND,
    CUBE_SIGNALS,
    FINGERS,
    JOINT_SIGNALS,
    PAN_AXIS_X,
    TARGET_FROM_CUBE,
    TARGET_SIGNAL,
    TCP_SIGNAL,
    TRUE_CUBE,
    TRUE_TCP,
    add_cube,
    add_pair,
    add_target,
    cube_effects,
    from_tcp,
    in_hand,
    near_home,
    polar,
    robot_effects,
    tabletop,
    upright,
)
from trueup.worlds.world import World

_NEAR, _FAR = 0.15, 0.24  # m from the shoulder's axis: where a cube can be grasped
_SIDE = 0.75  # rad to either side
_AROUND = 0.15  # rad: the gripper just around a cube
_SHUT_GAP, _GRASP_GAP = 0.011, 0.023  # m between the fingertips' middles
_SEES_CUBE = (*JOINT_SIGNALS, TCP_SIGNAL, *CUBE_SIGNALS, from_tcp("cube"), *CUBE_IN_HAND)


@register
class Reach(World):
    """Bring the fingertips to a point in the air."""

    name = "so101/reach"
    summary = "Bring the fingertips within 2 cm of a target in the air."
    observations = (*JOINT_SIGNALS, TCP_SIGNAL, TARGET_SIGNAL, from_tcp("target"))
    privileged = (TRUE_TCP,)
    episode_s = 2.0
    hold_s = 0.2

    def spec(self) -> mujoco.MjSpec:
        spec = tabletop()
        add_target(spec, radius=0.012)
        return spec

    def effects(self) -> tuple[Effect, ...]:
        return robot_effects()

    def start(self, scene: Scene) -> Mapping[str, np.ndarray]:
        x, y = polar(scene.streams, radius=(0.14, 0.28), angle=(-0.9, 0.9))
        u = scene.streams.uniform(1)[:, 0]
        # from 4 to 11 cm where the hand waits at 15, so that no episode begins at its end
        top = np.where(np.hypot(x - 0.213, y) < 0.06, 0.11, 0.20)
        z = scene.surface("table", x, y) + 0.04 + (top - 0.04) * u
        return {**near_home(scene.streams), "target": np.stack([x, y, z], axis=-1)}

    def reward(self, s: Readings, action: Array) -> Array:
        return _closeness(s["truth/tcp_position"], s["target_position"], 0.1)

    def success(self, s: Readings) -> Array:
        return _distance(s["truth/tcp_position"], s["target_position"]) < 0.02


class _CubeTask(World):
    """What the tasks with a cube share."""

    def effects(self) -> tuple[Effect, ...]:
        return (*robot_effects(), *cube_effects())

    def failure(self, s: Readings) -> Array:
        """The cube left the part of the table the arm can reach."""
        cube = s["truth/cube_position"]
        far = (cube[:, 0] ** 2 + cube[:, 1] ** 2) ** 0.5 > 0.45
        return far | (cube[:, 2] < -0.1)

    def _grasped(self, s: Readings) -> Array:
        """Near 1 where the fingers press on the cube from opposite sides, 0 where they do not.

        Two fingers that press on its top are no grasp, though both touch; and a touch of a few
        tenths of a newton would let it slip.
        """
        grip = self._grip(s)
        return array_namespace(grip).tanh(grip / 2.0)

    def _grip(self, s: Readings) -> Array:
        """The force, N, with which the fingers press against each other through the cube."""
        fixed, moving = s["truth/fixed_grip"], s["truth/moving_grip"]
        xp = array_namespace(fixed)
        return xp.clip(-(fixed * moving).sum(-1), 0.0, None) ** 0.5

    def _astride(self, s: Readings) -> Array:
        """Near 1 where the cube is between the fingertips, its faces square to them.

        It is 0 where the cube is beside or below both, and less than half where they would close on
        its edges, from which it slips.
        """
        cube = s["truth/cube_position"]
        xp = array_namespace(cube)
        fixed, moving = (s[f"truth/fingertip_{name}"] - cube for name in ("fixed", "moving"))
        lengths = [(v**2).sum(-1) ** 0.5 + 1e-6 for v in (fixed, moving)]
        cosine = (fixed * moving).sum(-1) / (lengths[0] * lengths[1])
        near = sum(1.0 - xp.tanh(length / 0.05) for length in lengths)
        square = _squareness(moving - fixed, s["truth/cube_orientation"])
        return 0.5 * near * 0.5 * (1.0 - cosine) * (0.4 + 0.6 * square)

    def _held(self, s: Readings) -> tuple[Array, Array]:
        """How near the hand is to holding the cube, and the grasp alone, near 1 where it holds.

        A hand that is shut on nothing earns nothing by being near, and pays for it, so that it
        opens again and retries. Nor does one earn that points up or ahead, for from there it seldom
        gets a grip; from 30° below the horizontal on, any direction will do.
        """
        xp = array_namespace(s["truth/cube_position"])
        grasped = self._grasped(s)
        near = _closeness(s["truth/tcp_position"], s["truth/cube_position"], 0.1)
        gap = _distance(s["truth/fingertip_fixed"], s["truth/fingertip_moving"])
        open_ = xp.clip((gap - _SHUT_GAP) / (_GRASP_GAP - _SHUT_GAP), 0.0, 1.0)
        down = xp.clip(-2.0 * s["truth/tcp_direction"][:, 2], 0.0, 1.0)
        shut = (1.0 - open_) * (1.0 - grasped)
        ready = open_ * down * (near + 1.5 * self._astride(s))
        return ready + 0.5 * grasped - 0.5 * shut, grasped

    def _risen(self, s: Readings, height: float) -> Array:
        """How much of a height the cube has been raised, 0 to 1."""
        xp = array_namespace(s["truth/cube_position"])
        return xp.clip((s["truth/cube_position"][:, 2] - CUBE_HALF) / height, 0.0, 1.0)

    def _begun(self, scene: Scene, cube: np.ndarray) -> dict[str, np.ndarray]:
        """Where arm and cube begin: the hand at home, or eased towards a cube before it."""
        joints = near_home(scene.streams)
        eased = scene.ease > 0.0
        if eased.any():
            near, place = self._near(scene, cube)
            cube = np.where(eased[:, None], place, cube)
            share = scene.ease[:, None]
            joints = {name: q + share * (near[name] - q) for name, q in joints.items()}
        return {**joints, "cube": cube}

    def _near(self, scene: Scene, cube: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Joints of a hand whose pads are astride a cube in the same direction, and that cube."""
        angle = np.arctan2(cube[:, 1], cube[:, 0] - PAN_AXIS_X)
        reach = 0.22 - PAN_AXIS_X
        x, y = PAN_AXIS_X + reach * np.cos(angle), reach * np.sin(angle)
        half = scene.number("geom", "cube", "geom_size")[:, 2]
        zero = np.zeros_like(x)
        z = scene.surface("table", x, y) + half + 0.0005
        turn = [np.cos(angle / 2), zero, zero, np.sin(angle / 2)]
        pose = dict(zip(JOINTS, (*REACH[:5], _AROUND), strict=True))
        joints = {name: np.full((len(x), 1), q) for name, q in pose.items()}
        joints["shoulder_pan"] = joints["shoulder_pan"] - angle[:, None]
        return joints, np.stack([x, y, z, *turn], axis=-1)

    def _cube(
        self, scene: Scene, *, radius: tuple[float, float], angle: tuple[float, float]
    ) -> np.ndarray:
        """Poses of a cube that stands on the table, whatever its size and the table's tilt."""
        x, y = polar(scene.streams, radius=radius, angle=angle)
        half = scene.number("geom", "cube", "geom_size")[:, 2]
        return upright(scene.streams, x, y, scene.surface("table", x, y) + half + 0.0005)


@register
class Push(_CubeTask):
    """Slide the cube to a mark on the table."""

    name = "so101/push"
    summary = "Slide the cube to within 2.5 cm of a mark on the table."
    observations = (*_SEES_CUBE, TARGET_SIGNAL, TARGET_FROM_CUBE, in_hand("target"))
    privileged = (TRUE_TCP, *TRUE_CUBE)
    episode_s = 5.0
    hold_s = 0.2

    def spec(self) -> mujoco.MjSpec:
        spec = tabletop()
        add_cube(spec)
        add_target(spec, radius=0.025, flat=True)
        return spec

    def start(self, scene: Scene) -> Mapping[str, np.ndarray]:
        cube = self._cube(scene, radius=(_NEAR, 0.22), angle=(-0.5, 0.5))
        u = scene.streams.uniform(2)
        turn, far = 2.0 * np.pi * u[:, 0], 0.06 + 0.06 * u[:, 1]
        x, y = (cube[:, i] + far * f(turn) for i, f in ((0, np.cos), (1, np.sin)))
        # a mark out of reach moves to the other side of the cube, as far from it as before
        radius = np.hypot(x - PAN_AXIS_X, y)
        flip = (radius < 0.13) | (radius > 0.27) | (np.abs(y) > 0.18)
        x, y = (np.where(flip, 2.0 * cube[:, i] - v, v) for i, v in ((0, x), (1, y)))
        mark = np.stack([x, y, scene.surface("table", x, y) + 0.001], axis=-1)
        return {**self._begun(scene, cube), "target": mark}

    def reward(self, s: Readings, action: Array) -> Array:
        """For taking hold of the cube, then for its way to the mark.

        A cube that is pinched follows anywhere. One that is only knocked about ends up beside the
        mark as often as on it, so the way there counts in a grasp, and the mark itself always.
        """
        xp = array_namespace(action)
        cube, mark = s["truth/cube_position"], s["target_position"]
        left = _distance(cube[:, :2], mark[:, :2])
        held, grasped = self._held(s)
        counted = xp.where(left < 0.02, 1.0, grasped)
        return held + 4.0 * counted * (1.0 - xp.tanh(left / 0.08))

    def success(self, s: Readings) -> Array:
        left = _distance(s["truth/cube_position"][:, :2], s["target_position"][:, :2])
        return left < 0.025


@register
class Lift(_CubeTask):
    """Pick the cube up and hold it."""

    name = "so101/lift"
    summary = "Pick the cube up, at least 6 cm, and hold it for half a second."
    observations = _SEES_CUBE
    privileged = (TRUE_TCP, *TRUE_CUBE)
    episode_s = 4.0
    hold_s = 0.5
    scripted = True
    height = 0.06

    def spec(self) -> mujoco.MjSpec:
        spec = tabletop()
        add_cube(spec)
        return spec

    def start(self, scene: Scene) -> Mapping[str, np.ndarray]:
        cube = self._cube(scene, radius=(_NEAR, _FAR), angle=(-_SIDE, _SIDE))
        return self._begun(scene, cube)

    def reward(self, s: Readings, action: Array) -> Array:
        held, grasped = self._held(s)
        return held + 6.0 * grasped * self._risen(s, self.height)

    def success(self, s: Readings) -> Array:
        cube = s["truth/cube_position"]
        held = _distance(s["truth/tcp_position"], cube) < 0.05
        return (cube[:, 2] > CUBE_HALF + self.height) & held


@register
class Place(_CubeTask):
    """Put the cube into a bin and let go."""

    name = "so101/place"
    summary = "Put the cube into an open bin and let go of it."
    observations = (*_SEES_CUBE, TARGET_SIGNAL, TARGET_FROM_CUBE, in_hand("target"))
    privileged = (TRUE_TCP, *TRUE_CUBE)
    episode_s = 6.0
    hold_s = 0.2
    bin_at = (0.20, -0.13)
    bin_half = 0.045
    bin_wall = 0.03

    def spec(self) -> mujoco.MjSpec:
        spec = tabletop()
        add_cube(spec)
        self._add_bin(spec)
        return spec

    def effects(self) -> tuple[Effect, ...]:
        return (*robot_effects(), *cube_effects(pairs=("object-table", "object-bin")))

    def start(self, scene: Scene) -> Mapping[str, np.ndarray]:
        cube = self._cube(scene, radius=(_NEAR, _FAR), angle=(0.0, _SIDE))
        return self._begun(scene, cube)

    def reward(self, s: Readings, action: Array) -> Array:
        xp = array_namespace(action)
        cube, tcp, bin_place = (
            s[name] for name in ("truth/cube_position", "truth/tcp_position", "target_position")
        )
        across = _distance(cube[:, :2], bin_place[:, :2])
        over = across < 0.03
        held, grasped = self._held(s)
        # each part of the way earns more than the one before: up, across, down, let go, leave
        raised = grasped * xp.where(over, 1.0, self._risen(s, 0.06))
        lowered = 1.0 - xp.clip((cube[:, 2] - bin_place[:, 2] - CUBE_HALF) / 0.15, 0.0, 1.0)
        carried = held + raised * (3.0 + 3.0 * (1.0 - xp.tanh(across / 0.2)))
        carried = carried + xp.where(over, 2.0 * grasped * lowered, 0.0)
        loose = 1.0 - xp.tanh(self._grip(s) / 8.0)
        away = xp.tanh(_distance(tcp, cube) / 0.05)
        return xp.where(self._inside(s), 11.0 + 1.5 * loose + 2.0 * away, carried)

    def success(self, s: Readings) -> Array:
        slow = (s["truth/cube_velocity"] ** 2).sum(-1) ** 0.5 < 0.05
        let_go = _distance(s["truth/tcp_position"], s["truth/cube_position"]) > 0.04
        return self._inside(s) & slow & let_go

    def _inside(self, s: Readings) -> Array:
        off = s["truth/cube_position"] - s["target_position"]
        within = (abs(off[:, 0]) < self.bin_half) & (abs(off[:, 1]) < self.bin_half)
        return within & (off[:, 2] < self.bin_wall)

    def _add_bin(self, spec: mujoco.MjSpec) -> None:
        x, y = self.bin_at
        body = spec.body("table").add_body(name="bin", pos=[x, y, 0.0])
        thick, half, tall = 0.002, self.bin_half, self.bin_wall / 2
        walls = {
            "left": ((0.0, half, tall), (half, thick, tall)),
            "right": ((0.0, -half, tall), (half, thick, tall)),
            "front": ((half, 0.0, tall), (thick, half, tall)),
            "back": ((-half, 0.0, tall), (thick, half, tall)),
        }
        for name, (place, size) in walls.items():
            wall = f"bin_{name}"
            body.add_geom(
                name=wall,
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=place,
                size=size,
                rgba=[0.3, 0.45, 0.6, 1.0],
                contype=0,
                conaffinity=0,
            )
            add_pair(spec, f"object-bin.{name}", wall, "cube", TABLE_CONTACT)
            for finger in FINGERS:
                add_pair(spec, f"self.{finger}.{name}", wall, finger, LINK_CONTACT)
        spec.add_sensor(
            name="target_position",
            type=mujoco.mjtSensor.mjSENS_FRAMEPOS,
            objtype=mujoco.mjtObj.mjOBJ_XBODY,
            objname="bin",
        )


def _distance(a: Array, b: Array) -> Array:
    return ((a - b) ** 2).sum(-1) ** 0.5


def _closeness(a: Array, b: Array, scale: float) -> Array:
    """1 where two places meet, falling to 0 over a few `scale`."""
    xp = array_namespace(a)
    return 1.0 - xp.tanh(_distance(a, b) / scale)


def _squareness(direction: Array, orientation: Array) -> Array:
    """1 where a direction is square to faces of a cube that stands, 0 where it meets its edges."""
    xp = array_namespace(direction)
    w, x, y, z = (orientation[:, i] for i in range(4))
    ahead = (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z))
    length = _distance(direction, 0.0 * direction) + 1e-6
    along = abs(direction[:, 0] * ahead[0] + direction[:, 1] * ahead[1]) / length
    across = abs(direction[:, 1] * ahead[0] - direction[:, 0] * ahead[1]) / length
    half = 0.5**0.5
    return xp.clip((xp.maximum(along, across) - half) / (1.0 - half), 0.0, 1.0)
