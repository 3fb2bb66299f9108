"""A compiled MuJoCo model as URDF: links, inertias, joints, limits and the shapes that may touch.

URDF puts a link's frame into its joint; MuJoCo puts the joint anywhere into the body's frame. So
each link here is its body, moved (never turned) to the anchor of its joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.bullet.frames import matrix

_HINGE, _SLIDE, _FREE = (
    mujoco.mjtJoint.mjJNT_HINGE.value,
    mujoco.mjtJoint.mjJNT_SLIDE.value,
    mujoco.mjtJoint.mjJNT_FREE.value,
)
_SHAPES = {
    mujoco.mjtGeom.mjGEOM_BOX.value: lambda s: f'<box size="{_numbers(2 * s)}"/>',
    mujoco.mjtGeom.mjGEOM_SPHERE.value: lambda s: f'<sphere radius="{_number(s[0])}"/>',
    mujoco.mjtGeom.mjGEOM_CYLINDER.value: (
        lambda s: f'<cylinder radius="{_number(s[0])}" length="{_number(2 * s[1])}"/>'
    ),
    mujoco.mjtGeom.mjGEOM_CAPSULE.value: (
        lambda s: f'<capsule radius="{_number(s[0])}" length="{_number(2 * s[1])}"/>'
    ),
}
_NOTHING = "<inertial><mass value='1e-6'/><inertia ixx='1e-9' iyy='1e-9' izz='1e-9' {}/></inertial>"
_OFF_DIAGONAL = 'ixy="0" ixz="0" iyz="0"'


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The bodies of a model that joints move, as one URDF on a fixed base.

    Attributes:
        text: The URDF.
        joints: (k,) the joints of the model, in the order of the URDF.
        links: The name of the link of each of its bodies, by the number of the body.
        inertias: Principal inertias of each link, to be set once it is loaded: PyBullet refuses to
            read those that no solid has, such as a link with a rotor.
    """

    text: str
    joints: tuple[int, ...]
    links: dict[int, str]
    inertias: dict[str, np.ndarray]


def tree_of(model: mujoco.MjModel, rotors: np.ndarray | None = None) -> Tree:
    """The arm, or whatever stands on the ground and moves in joints.

    Args:
        model: The compiled model.
        rotors: (nv,) inertia to add to each link about the axis of its joint.
    """
    bodies = [body for body in range(1, model.nbody) if _moves(model, body)]
    added = np.zeros(model.nv) if rotors is None else rotors
    parts, joints, links = ['<link name="world"/>'], [], {0: "world"}
    for body in bodies:
        text, of = _body(model, body, links, added)
        parts.append(text)
        joints += of
    return Tree(
        text=f'<robot name="tree">{"".join(parts)}</robot>',
        joints=tuple(joints),
        links=links,
        inertias={
            links[body]: _inertia(model, body, added)[0]
            for body in bodies
            if model.body_mass[body] > 0
        },
    )


def touching(model: mujoco.MjModel) -> set[int]:
    """Geoms that may touch another: those of a pair."""
    return {int(g) for g in (*model.pair_geom1, *model.pair_geom2)}


def free_bodies(model: mujoco.MjModel) -> list[int]:
    """Bodies that float."""
    return [int(model.jnt_bodyid[j]) for j in np.flatnonzero(model.jnt_type == _FREE)]


def check(model: mujoco.MjModel, name: str) -> None:
    """Refuse a model with parts that are not carried over."""
    unknown = {
        "equality constraints": model.neq,
        "tendons": model.ntendon,
        "bodies freed of gravity": model.ngravcomp,
        "actuators without a command": int((model.actuator_ctrlnum == 0).sum()),
        "ball joints": int((model.jnt_type == mujoco.mjtJoint.mjJNT_BALL.value).sum()),
    }
    floating = free_bodies(model)
    links = {g for g in touching(model) if _moves(model, int(model.geom_bodyid[g]))}
    unknown["links that are no boxes, spheres, cylinders or capsules"] = sum(
        int(model.geom_type[g]) not in _SHAPES for g in links
    )
    unknown["several shapes on one thing that floats"] = sum(
        sum(model.geom_bodyid[g] == body for g in touching(model)) > 1 for body in floating
    )
    found = [what for what, count in unknown.items() if count]
    if found:
        raise TrueupError(
            f"The world {name!r} cannot be carried over to PyBullet as it is: it has "
            f"{', '.join(found)}.",
            fix="Leave out the effects that add them, or set the reality's engine to mujoco.",
        )


def _moves(model: mujoco.MjModel, body: int) -> bool:
    """Whether a joint moves this body or one that hangs on it; free bodies are no part of this."""
    root = int(model.body_rootid[body])
    joint = int(model.body_jntadr[root])
    if model.body_mocapid[root] >= 0 or (joint >= 0 and model.jnt_type[joint] == _FREE):
        return False
    below = {int(model.jnt_bodyid[j]) for j in range(model.njnt)}
    return any(_above(model, other, body) for other in below)


def _above(model: mujoco.MjModel, body: int, wanted: int) -> bool:
    """Whether a body hangs on another, or is it."""
    while body and body != wanted:
        body = int(model.body_parentid[body])
    return body == wanted


def _body(
    model: mujoco.MjModel, body: int, links: dict[int, str], rotors: np.ndarray
) -> tuple[str, list[int]]:
    """A link for each joint of a body, one after the other; the last one carries the body."""
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    joints = list(range(first, first + count)) if count else []
    parent, parts = links[int(model.body_parentid[body])], []
    place = model.body_pos[body] - _anchor(model, int(model.body_parentid[body]))
    turn = _euler(model.body_quat[body])
    rotation = matrix(model.body_quat[body])
    at = np.zeros(3)  # the anchor that was reached, in the body's frame
    for k, joint in enumerate(joints or [-1]):
        last = k == max(len(joints), 1) - 1
        link = f"b{body}" if last else f"b{body}_{k}"
        anchor = model.jnt_pos[joint] if joint >= 0 else np.zeros(3)
        step = place + rotation @ anchor if k == 0 else anchor - at
        parts.append(_joint(model, joint, parent, link, step, turn if k == 0 else "0 0 0"))
        parts.append(_link(model, body, link, anchor, rotors) if last else _empty(link))
        parent, at = link, anchor
    links[body] = parent
    return "".join(parts), joints


def _anchor(model: mujoco.MjModel, body: int) -> np.ndarray:
    """Where the frame of a body's link lies in the body's frame."""
    count = int(model.body_jntnum[body])
    return model.jnt_pos[int(model.body_jntadr[body]) + count - 1] if count else np.zeros(3)


def _joint(
    model: mujoco.MjModel, joint: int, parent: str, link: str, place: np.ndarray, turn: str
) -> str:
    ends = f'<parent link="{parent}"/><child link="{link}"/>'
    ends += f'<origin xyz="{_numbers(place)}" rpy="{turn}"/>'
    if joint < 0:
        return f'<joint name="{link}_fixed" type="fixed">{ends}</joint>'
    kind = "revolute" if model.jnt_type[joint] == _HINGE else "prismatic"
    low, high = model.jnt_range[joint] - model.qpos0[model.jnt_qposadr[joint]]
    if not model.jnt_limited[joint]:
        kind, low, high = ("continuous" if kind == "revolute" else kind), -1e3, 1e3
    limit = f'<limit lower="{_number(low)}" upper="{_number(high)}" effort="1e6" velocity="1e6"/>'
    axis = f'<axis xyz="{_numbers(model.jnt_axis[joint])}"/>'
    return f'<joint name="j{joint}" type="{kind}">{ends}{axis}{limit}</joint>'


def _link(
    model: mujoco.MjModel, body: int, link: str, anchor: np.ndarray, rotors: np.ndarray
) -> str:
    touch = touching(model)
    shapes = "".join(
        _collision(model, geom, anchor)
        for geom in np.flatnonzero(model.geom_bodyid == body).tolist()
        if geom in touch
    )
    mass = float(model.body_mass[body])
    if mass <= 0:
        return f'<link name="{link}">{_NOTHING.format(_OFF_DIAGONAL)}{shapes}</link>'
    inertia, turn = _inertia(model, body, rotors)
    place = _numbers(model.body_ipos[body] - anchor)
    any_solid = _number(inertia.max())
    diagonal = " ".join(f'i{a}{a}="{any_solid}"' for a in "xyz")
    return (
        f'<link name="{link}"><inertial><origin xyz="{place}" rpy="{turn}"/>'
        f'<mass value="{mass!r}"/><inertia {diagonal} {_OFF_DIAGONAL}/></inertial>{shapes}</link>'
    )


def _inertia(model: mujoco.MjModel, body: int, rotors: np.ndarray) -> tuple[np.ndarray, str]:
    """Principal inertia of a body with its rotors, and how its axes are turned."""
    joints = np.arange(model.body_jntnum[body]) + model.body_jntadr[body]
    turning = [j for j in joints if model.jnt_type[j] == _HINGE]
    added = [rotors[model.jnt_dofadr[j]] for j in turning]
    if not any(added):
        return model.body_inertia[body], _euler(model.body_iquat[body])
    axes = matrix(model.body_iquat[body])
    tensor = axes @ np.diag(model.body_inertia[body]) @ axes.T
    for joint, inertia in zip(turning, added, strict=True):
        tensor += inertia * np.outer(model.jnt_axis[joint], model.jnt_axis[joint])
    inertia, axes = np.linalg.eigh(tensor)
    axes[:, 2] *= np.linalg.det(axes)  # no mirror
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, axes.ravel())
    return inertia, _euler(quat)


def _empty(link: str) -> str:
    return f'<link name="{link}">{_NOTHING.format(_OFF_DIAGONAL)}</link>'


def _collision(model: mujoco.MjModel, geom: int, anchor: np.ndarray) -> str:
    shape = _SHAPES[int(model.geom_type[geom])](model.geom_size[geom].astype(float))
    place, turn = _numbers(model.geom_pos[geom] - anchor), _euler(model.geom_quat[geom])
    return (
        f'<collision><origin xyz="{place}" rpy="{turn}"/><geometry>{shape}</geometry></collision>'
    )


def _number(value: float) -> str:
    return repr(float(value))


def _numbers(values: np.ndarray) -> str:
    return " ".join(_number(v) for v in values)


def _euler(quat: np.ndarray) -> str:
    """Roll, pitch and yaw, as URDF has them."""
    m = matrix(quat)
    pitch = np.arcsin(np.clip(-m[2, 0], -1.0, 1.0))
    if abs(m[2, 0]) < 1.0 - 1e-12:
        roll, yaw = np.arctan2(m[2, 1], m[2, 2]), np.arctan2(m[1, 0], m[0, 0])
    else:  # straight up or down: only the sum of the two counts
        roll, yaw = np.arctan2(-m[1, 2], m[1, 1]), 0.0
    return _numbers(np.array([roll, pitch, yaw]))
