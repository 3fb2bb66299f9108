"""A table with an SO-101 on it: the scene its tasks share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import mujoco
import numpy as np
from array_api_compat import array_namespace

from trueup.effects import (
    Array,
    Clutter,
    Effect,
    Obstacle,
    Patch,
    Table,
    Tracker,
    actuation,
    contact,
    latency,
    manipulated,
    operator,
    sensing,
    soft_fingertips,
)
from trueup.streams import Streams
from trueup.worlds.kinematics import ForwardKinematics
from trueup.worlds.so101 import GRASP_CONTACT, HOME, JOINTS, LINK_CONTACT, TABLE_CONTACT, so101
from trueup.worlds.world import Signal, World

PAN_AXIS_X = 0.0388  # m; the shoulder turns about this place
CUBE_HALF = 0.0125  # m
CUBE_MASS = 0.03  # kg, a wooden cube of this size weighs 10-15 g, a printed one 20 g
CAMERA = (0.56, -0.36, 0.42)  # m; where the tracker's camera and the pictures look from

FINGERS = ("fingertip_fixed", "fingertip_moving", "finger_fixed", "finger_moving")
LINKS = ("gripper_body", "wrist_body", "lower_arm_body")

JOINT_SIGNALS = (
    Signal(name="joint_position", unit="rad", sensors=tuple(f"{j}_position" for j in JOINTS)),
    Signal(name="joint_velocity", unit="rad/s", sensors=tuple(f"{j}_velocity" for j in JOINTS)),
    Signal(name="joint_force", unit="N·m", sensors=tuple(f"{j}_force" for j in JOINTS)),
)
TCP_SIGNAL = Signal(
    name="tcp_position",
    unit="m",
    sensors=tuple(f"{j}_position" for j in JOINTS),
    function=lambda world, q, known: tcp_kinematics(world)(q),
)
"""Where the arm believes its fingertips are: nominal kinematics of what its encoders read."""


def from_tcp(thing: str) -> Signal:
    """Where a seen thing is from the fingertips, as the arm believes it; after TCP_SIGNAL."""
    return Signal(
        name=f"{thing}_from_tcp",
        unit="m",
        sensors=(f"{thing}_position",),
        function=lambda world, place, known: place - known["tcp_position"],
    )


def in_hand(thing: str) -> Signal:
    """Where a seen thing is in the frame of the hand, as the arm believes it; after TCP_SIGNAL.

    What the hand should do next depends on this, wherever the arm has turned to.
    """
    return Signal(
        name=f"{thing}_in_hand",
        unit="m",
        sensors=(f"{thing}_position",),
        function=lambda world, place, known: tcp_kinematics(world).into_site(
            known["joint_position"], place - known["tcp_position"]
        ),
    )


def _turn_in_hand(world: World, orientation: Array, known: Mapping[str, Array]) -> Array:
    """How far a cube's faces are turned from the jaw's, as cosine and sine of four times that.

    A cube looks the same after a quarter turn; so do these two numbers.
    """
    xp = array_namespace(orientation)
    w, x, y, z = (orientation[:, i] for i in range(4))
    yaw = xp.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    q, hand = known["joint_position"], tcp_kinematics(world)
    ahead, left = (
        hand.into_site(q, xp.zeros_like(orientation[:, :3]) + xp.asarray(unit, dtype=q.dtype))
        for unit in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    )
    angle = 4.0 * (xp.atan2(left[:, 0], ahead[:, 0]) - yaw)
    return xp.stack([xp.cos(angle), xp.sin(angle)], axis=-1)


CUBE_IN_HAND = (
    in_hand("cube"),
    Signal(
        name="cube_turn_in_hand",
        unit="1",
        sensors=("cube_orientation",),
        function=_turn_in_hand,
    ),
)
CUBE_SIGNALS = (
    Signal(name="cube_position", unit="m", sensors=("cube_position",)),
    Signal(name="cube_orientation", unit="1", sensors=("cube_orientation",)),
)
TARGET_SIGNAL = Signal(name="target_position", unit="m", sensors=("target_position",))
TARGET_FROM_CUBE = Signal(
    name="target_from_cube",
    unit="m",
    sensors=("target_position",),
    function=lambda world, place, known: place - known["cube_position"],
)
TRUE_TCP = Signal(name="true_tcp_position", unit="m", sensors=("truth/tcp_position",))
TRUE_CUBE = (
    Signal(name="true_cube_position", unit="m", sensors=("truth/cube_position",)),
    Signal(name="true_cube_orientation", unit="1", sensors=("truth/cube_orientation",)),
    Signal(name="true_cube_velocity", unit="m/s", sensors=("truth/cube_velocity",)),
    Signal(name="grip_force", unit="N", sensors=("truth/fixed_grip", "truth/moving_grip")),
)


@cache
def tcp_kinematics(world: World) -> ForwardKinematics:
    """The chain from the table to the fingertips in the nominal world."""
    return ForwardKinematics(world.model, "tcp", JOINTS)


def tabletop(*, visual: bool = True) -> mujoco.MjSpec:
    """The arm on a table, its joint sensors, light and cameras; nothing to handle yet."""
    spec = so101(visual=visual)
    spec.option.timestep = 0.005
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10.0
    # one arm and one cube: splitting constraints into islands costs more than it saves
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND.value
    spec.memory = 2**20  # a few dozen contacts; the default of many MB is paid per thread
    _add_look(spec)
    table = spec.worldbody.add_body(name="table")
    table.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0.8, 0.8, 0.02],
        material="table",
        contype=0,
        conaffinity=0,
    )
    for geom in (*FINGERS, *LINKS):
        add_pair(spec, f"robot-table.{geom}", geom, "table", LINK_CONTACT)
    for geom in ("fingertip_fixed", "fingertip_moving", "gripper_body"):
        add_pair(spec, f"self.{geom}", geom, "base_body", LINK_CONTACT)
    for joint in JOINTS:
        _sense(spec, f"{joint}_position", mujoco.mjtSensor.mjSENS_JOINTPOS, joint)
        _sense(spec, f"{joint}_velocity", mujoco.mjtSensor.mjSENS_JOINTVEL, joint)
        _sense(spec, f"{joint}_force", mujoco.mjtSensor.mjSENS_ACTUATORFRC, joint)
    _sense(spec, "truth/tcp_position", mujoco.mjtSensor.mjSENS_FRAMEPOS, "tcp", site=True)
    _sense(spec, "truth/tcp_direction", mujoco.mjtSensor.mjSENS_FRAMEZAXIS, "tcp", site=True)
    return spec


def add_cube(spec: mujoco.MjSpec) -> None:
    """A free cube that fingers can grasp, and the tracker that watches it."""
    body = spec.worldbody.add_body(name="cube", pos=[0.22, 0.0, CUBE_HALF])
    body.add_freejoint(name="cube")
    body.add_geom(
        name="cube",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[CUBE_HALF] * 3,
        mass=CUBE_MASS,
        rgba=[0.75, 0.16, 0.14, 1.0],
        contype=0,
        conaffinity=0,
    )
    for finger in FINGERS:
        add_pair(spec, f"fingertip-object.{finger}", finger, "cube", GRASP_CONTACT)
    for link in ("gripper_body", "base_body"):
        add_pair(spec, f"robot-object.{link}", link, "cube", LINK_CONTACT)
    add_pair(spec, "object-table", "cube", "table", TABLE_CONTACT)
    for prefix in ("", "truth/"):
        _sense(spec, f"{prefix}cube_position", mujoco.mjtSensor.mjSENS_FRAMEPOS, "cube")
        _sense(spec, f"{prefix}cube_orientation", mujoco.mjtSensor.mjSENS_FRAMEQUAT, "cube")
    _sense(spec, "truth/cube_velocity", mujoco.mjtSensor.mjSENS_FRAMELINVEL, "cube")
    for finger, body in (("fixed", "gripper"), ("moving", "moving_jaw_so101_v1")):
        _sense_grip(spec, f"truth/{finger}_grip", body)
        tip = f"fingertip_{finger}"
        _sense(spec, f"truth/{tip}", mujoco.mjtSensor.mjSENS_FRAMEPOS, tip, geom=True)


def add_target(spec: mujoco.MjSpec, *, radius: float, flat: bool = False) -> None:
    """A place to go to: a mark that touches nothing."""
    body = spec.worldbody.add_body(name="target", mocap=True, pos=[0.22, 0.0, 0.1])
    body.add_geom(
        name="target",
        type=mujoco.mjtGeom.mjGEOM_CYLINDER if flat else mujoco.mjtGeom.mjGEOM_SPHERE,
        size=[radius, 0.0008, 0.0] if flat else [radius, 0.0, 0.0],
        rgba=[0.2, 0.55, 0.35, 0.6],
        contype=0,
        conaffinity=0,
    )
    _sense(spec, "target_position", mujoco.mjtSensor.mjSENS_FRAMEPOS, "target")


def robot_effects() -> tuple[Effect, ...]:
    """What can differ about an SO-101 on a table."""
    return (
        *operator(),
        *latency(),
        *actuation(),
        *sensing(),
        Table(),
        Obstacle(touching=(*FINGERS, *LINKS)),
        *contact(pairs="robot-table"),
    )


def cube_effects(*, pairs: tuple[str, ...] = ("object-table",)) -> tuple[Effect, ...]:
    """What can differ about a cube, how it is seen, held and surrounded."""
    touching = ("fingertip-object", *pairs)
    return (
        *(effect for pair in touching for effect in contact(pairs=pair)),
        *soft_fingertips(pairs="fingertip-object"),
        *manipulated(body="cube"),
        Tracker(position="cube_position", orientation="cube_orientation", camera=CAMERA),
        Clutter(touching=("cube", *FINGERS, "gripper_body")),
        Patch(sliding=("cube",)),
    )


def polar(
    streams: Streams, *, radius: tuple[float, float], angle: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Places x, y (n,) spread evenly over a sector around the shoulder's axis."""
    u = streams.uniform(2)
    squared = radius[0] ** 2 + u[:, 0] * (radius[1] ** 2 - radius[0] ** 2)
    r, a = np.sqrt(squared), angle[0] + u[:, 1] * (angle[1] - angle[0])
    return PAN_AXIS_X + r * np.cos(a), r * np.sin(a)


def upright(streams: Streams, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Poses (n, 7) at these places, turned by any angle about the vertical."""
    half = 0.5 * (streams.uniform(1)[:, 0] - 0.5) * np.pi / 2  # a cube repeats every 90°
    zero = np.zeros_like(x)
    return np.stack([x, y, z, np.cos(half), zero, zero, np.sin(half)], axis=-1)


def near_home(
    streams: Streams, *, spread: float = 0.03, gripper: float = HOME[5]
) -> dict[str, np.ndarray]:
    """Joint positions (n, 1) about the ready pose."""
    shift = spread * (2.0 * streams.uniform(len(JOINTS)) - 1.0)
    pose = (*HOME[:5], gripper)
    return {joint: pose[i] + shift[:, i : i + 1] for i, joint in enumerate(JOINTS)}


def add_pair(spec: mujoco.MjSpec, name: str, first: str, second: str, numbers: dict) -> None:
    """Let two geoms touch, as members of the surface pair before the dot."""
    spec.add_pair(name=name, geomname1=first, geomname2=second, **numbers)


def _sense(
    spec: mujoco.MjSpec,
    name: str,
    kind: mujoco.mjtSensor,
    on: str,
    *,
    site: bool = False,
    geom: bool = False,
) -> None:
    kinds = {
        mujoco.mjtSensor.mjSENS_JOINTPOS: mujoco.mjtObj.mjOBJ_JOINT,
        mujoco.mjtSensor.mjSENS_JOINTVEL: mujoco.mjtObj.mjOBJ_JOINT,
        mujoco.mjtSensor.mjSENS_ACTUATORFRC: mujoco.mjtObj.mjOBJ_ACTUATOR,
    }
    frame = mujoco.mjtObj.mjOBJ_XBODY
    if site or geom:
        frame = mujoco.mjtObj.mjOBJ_SITE if site else mujoco.mjtObj.mjOBJ_GEOM
    spec.add_sensor(name=name, type=kind, objtype=kinds.get(kind, frame), objname=on)


def _sense_grip(spec: mujoco.MjSpec, name: str, body: str) -> None:
    """The net force between a finger and the cube."""
    net_force, one_slot = 3, 1
    spec.add_sensor(
        name=name,
        type=mujoco.mjtSensor.mjSENS_CONTACT,
        objtype=mujoco.mjtObj.mjOBJ_BODY,
        objname=body,
        reftype=mujoco.mjtObj.mjOBJ_BODY,
        refname="cube",
        intprm=[1 << mujoco.mjtConDataField.mjCONDATA_FORCE.value, net_force, one_slot],
    )


def _add_look(spec: mujoco.MjSpec) -> None:
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.93, 0.95, 0.97],
        rgb2=[0.72, 0.77, 0.82],
        width=64,
        height=384,
    )
    spec.add_texture(
        name="table",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.80, 0.78, 0.74],
        rgb2=[0.76, 0.74, 0.70],
        width=64,
        height=64,
    )
    table = spec.add_material(name="table", texrepeat=[8, 8], reflectance=0.0)
    table.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "table"
    spec.visual.headlight.ambient = [0.45, 0.45, 0.45]
    spec.visual.headlight.diffuse = [0.35, 0.35, 0.35]
    spec.visual.headlight.specular = [0.0, 0.0, 0.0]
    spec.visual.map.znear = 0.02
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 1920, 1440
    spec.stat.center, spec.stat.extent = [0.2, 0.0, 0.1], 0.6
    spec.worldbody.add_light(
        name="sun",
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[0.3, -0.3, 1.5],
        dir=[-0.2, 0.3, -1.0],
        diffuse=[0.5, 0.5, 0.48],
        castshadow=False,
    )
    for name, place, fovy in (("front", CAMERA, 48.0), ("top", (0.2, 0.0, 0.75), 45.0)):
        spec.worldbody.add_camera(
            name=name, pos=place, quat=_looking(place, (0.17, 0.0, 0.11)), fovy=fovy
        )


def _looking(eye: tuple[float, ...], at: tuple[float, ...]) -> np.ndarray:
    """Orientation of a camera (which looks along -z) from one place to another, z up."""
    backward = np.subtract(eye, at) / np.linalg.norm(np.subtract(eye, at))
    up = np.array([0.0, 0.0, 1.0]) if abs(backward[2]) < 0.99 else np.array([1.0, 0.0, 0.0])
    right = np.cross(up, backward)
    right /= np.linalg.norm(right)
    matrix = np.stack([right, np.cross(backward, right), backward], axis=-1)
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, matrix.ravel())
    return quat
