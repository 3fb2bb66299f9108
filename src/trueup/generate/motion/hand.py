"""Many hands at once: where they are, and which joint positions bring them somewhere."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import TrueupError
from trueup.worlds import World, sensor_slots

SITE = "tcp"
_TIPS = ("truth/fingertip_fixed", "truth/fingertip_moving")
_DAMPING = 0.02
_JAW_WEIGHT, _DOWN_WEIGHT = 0.05, 0.01  # m per rad: how much place yields to orientation


@dataclass(frozen=True, kw_only=True)
class Pose:
    """Where n hands are.

    Attributes:
        place: (n, 3) of the fingertips, m.
        jaw: (n, 3) the direction in which the jaw opens.
        down: (n, 3) the direction in which the fingers point.
    """

    place: np.ndarray
    jaw: np.ndarray
    down: np.ndarray


class Hand:
    """The chain of hinges from the table to the fingertips in the nominal world.

    Written as array expressions over all hands: a forward pass of the whole model would take ten
    times as long, for it also looks for contacts.

    Args:
        world: A world with a site `tcp`; its nominal model is what a controller believes.
    """

    def __init__(self, world: World) -> None:
        model = world.model
        if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE.value, SITE) < 0:
            raise NoHand(world)
        self.joints = [int(j) for j in model.actuator_trnid[:, 0]]
        at = model.site(SITE)
        body, bodies = int(model.site_bodyid[at.id]), []
        while body:
            bodies.append(body)
            body = int(model.body_parentid[body])
        self._bodies = [_Body.of(model, b, self.joints) for b in reversed(bodies)]
        self._site = (at.pos.copy(), _matrix(at.quat))
        self.arm = [body.column for body in self._bodies if body.column >= 0]
        self._low, self._high = model.jnt_range[[self.joints[i] for i in self.arm]].T

    def pose(self, q: np.ndarray) -> Pose:
        """Where hands are whose servos stand at q (n, nu)."""
        place, frame, _, _ = self._forward(q)
        return Pose(place=place, jaw=frame[:, :, 0], down=frame[:, :, 2])

    def towards(
        self, q: np.ndarray, wanted: Pose, *, iterations: int = 2
    ) -> tuple[np.ndarray, np.ndarray]:
        """Servo positions (n, nu) that bring the hands closer to where they are wanted.

        Damped least squares from q on. The place counts most, then the jaw's direction, which
        either way round is the same, then where the fingers point: an arm of five joints cannot
        have all three. Returns also the distances (n,) that were left to the places, m.
        """
        q, columns = q.copy(), self.arm
        left = np.zeros(len(q))
        for _ in range(iterations):
            place, frame, anchors, axes = self._forward(q)
            jaw, down = frame[:, :, 0], frame[:, :, 2]
            left = np.linalg.norm(wanted.place - place, axis=1)
            error = np.concatenate(
                [
                    wanted.place - place,
                    _JAW_WEIGHT * np.cross(jaw, wanted.jaw),
                    _DOWN_WEIGHT * np.cross(down, wanted.down),
                ],
                axis=1,
            )
            moves = np.cross(axes, place[:, None] - anchors)
            rows = np.concatenate([moves, _JAW_WEIGHT * axes, _DOWN_WEIGHT * axes], axis=2)
            normal = rows @ np.swapaxes(rows, 1, 2) + _DAMPING**2 * np.eye(len(columns))
            step = np.linalg.solve(normal, rows @ error[:, :, None])[:, :, 0]
            q[:, columns] = np.clip(q[:, columns] + step, self._low, self._high)
        return q, left

    def _forward(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Place (n, 3) and frame (n, 3, 3) of the hands; anchors and axes (n, arm, 3) of joints."""
        n = len(q)
        place, frame = np.zeros((n, 3)), np.broadcast_to(np.eye(3), (n, 3, 3))
        anchors, axes = [], []
        for body in self._bodies:
            place = place + frame @ body.place
            frame = frame @ body.turn
            if body.column < 0:
                continue
            anchor, axis = place + frame @ body.anchor, frame @ body.axis
            frame = frame @ _rotations(body.axis, q[:, body.column] - body.rest)
            place = anchor - frame @ body.anchor
            anchors.append(anchor)
            axes.append(axis)
        place = place + frame @ self._site[0]
        return place, frame @ self._site[1], np.stack(anchors, axis=1), np.stack(axes, axis=1)


def jaw_middle(world: World, q: np.ndarray) -> float | None:
    """How far from the fingertips' place the middle of the jaw is that stands so, m along the jaw.

    None where a world does not tell where its two fingertips are.
    """
    model = world.model
    slots = sensor_slots(model)
    if not all(name in slots for name in _TIPS):
        return None
    hand, data = Hand(world), mujoco.MjData(model)
    data.qpos[model.jnt_qposadr[hand.joints]] = q
    mujoco.mj_forward(model, data)
    middle = np.mean([data.sensordata[slots[name]] for name in _TIPS], axis=0)
    pose = hand.pose(q[None])
    return float((middle - pose.place[0]) @ pose.jaw[0])


class NoHand(TrueupError):
    """A world whose robot has no hand that we know."""

    def __init__(self, world: World) -> None:
        super().__init__(
            f"World {world.name!r} has no site {SITE!r}: where its fingertips are is not known.",
            fix="Add that site to its model, or let a trained policy be the source.",
        )


@dataclass(frozen=True, kw_only=True)
class _Body:
    """A link: how it sits on the one before, and the hinge between them (column -1: none)."""

    place: np.ndarray
    turn: np.ndarray
    column: int
    axis: np.ndarray
    anchor: np.ndarray
    rest: float

    @classmethod
    def of(cls, model: mujoco.MjModel, body: int, joints: list[int]) -> _Body:
        first = int(model.body_jntadr[body])
        known = first in joints and model.jnt_type[first] == mujoco.mjtJoint.mjJNT_HINGE
        joint = first if known else 0
        return cls(
            place=model.body_pos[body].copy(),
            turn=_matrix(model.body_quat[body]),
            column=joints.index(first) if known else -1,
            axis=model.jnt_axis[joint].copy(),
            anchor=model.jnt_pos[joint].copy(),
            rest=float(model.qpos0[model.jnt_qposadr[joint]]),
        )


def _rotations(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """(n, 3, 3) turns about one axis, after Rodrigues."""
    x, y, z = axis
    across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    c, s = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    return c * np.eye(3) + s * across + (1.0 - c) * np.outer(axis, axis)


def _matrix(quat: np.ndarray) -> np.ndarray:
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, quat)
    return flat.reshape(3, 3)
