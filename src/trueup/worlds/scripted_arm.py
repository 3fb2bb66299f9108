"""An arm as its controller believes it: where it is, how it moves, and what its weight asks for."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

_DAMPING = 0.02
_JAW_WEIGHT, _DOWN_WEIGHT = 0.05, 0.01  # m per rad: how much place yields to orientation


@dataclass(frozen=True, kw_only=True)
class _Link:
    """A body of the chain, and the joint that moves it, if any."""

    place: np.ndarray
    turn: np.ndarray
    mass: float
    centre: np.ndarray
    axis: np.ndarray | None = None
    anchor: np.ndarray | None = None
    column: int = -1
    rest: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Posture:
    """Where n arms are.

    Attributes:
        place: (n, 3) of the site at their end, m.
        turn: (n, 3, 3) its orientation: the columns are its axes.
        axes: (n, k, 3) the joints' axes.
        anchors: (n, k, 3) where those pass.
        torque: (n, k) what holds the arm against its weight, N m.
    """

    place: np.ndarray
    turn: np.ndarray
    axes: np.ndarray
    anchors: np.ndarray
    torque: np.ndarray


class Arm:
    """The hinges from the table to a site, read from the nominal model, as array expressions.

    Args:
        model: The nominal model; bodies beyond the site's, such as a jaw, weigh where they are
            drawn.
        site: The site at the end.
        joints: Its hinges, from the table on.
    """

    def __init__(self, model: mujoco.MjModel, site: str, joints: tuple[str, ...]) -> None:
        at = model.site(site)
        self._site = at.pos.copy(), _matrix(at.quat)
        self._gravity = model.opt.gravity.copy()
        ids = [model.joint(joint).id for joint in joints]
        self.low, self.high = model.jnt_range[ids].T
        self._links = tuple(_links(model, int(model.site_bodyid[at.id]), ids))

    def posture(self, q: np.ndarray) -> Posture:
        """Where arms with joint positions (n, k) are."""
        n, k = len(q), len(self.low)
        turn, place = np.tile(np.eye(3), (n, 1, 1)), np.zeros((n, 3))
        axes, anchors = np.zeros((n, k, 3)), np.zeros((n, k, 3))
        mass, moment = np.zeros(k), np.zeros((n, k, 3))  # of all that each joint carries
        carrying = 0  # joints so far
        for link in self._links:
            place = place + turn @ link.place
            turn = turn @ link.turn
            if link.axis is not None and link.anchor is not None:
                i = link.column
                anchors[:, i], axes[:, i] = place + turn @ link.anchor, turn @ link.axis
                turn = turn @ _turns(link.axis, q[:, i] - link.rest)
                place = anchors[:, i] - turn @ link.anchor
                carrying = i + 1
            mass[:carrying] += link.mass
            moment[:, :carrying] += link.mass * (place + turn @ link.centre)[:, None]
        arms = np.cross(moment - mass[:, None] * anchors, self._gravity)
        return Posture(
            place=place + turn @ self._site[0],
            turn=turn @ self._site[1],
            axes=axes,
            anchors=anchors,
            torque=-(axes * arms).sum(-1),
        )

    def moved(self, at: Posture, place: np.ndarray, jaw: np.ndarray) -> np.ndarray:
        """(n, k) how joints move to bring the site nearer, by damped least squares.

        Args:
            at: Where the arms are.
            place: (n, 3) how far the site shall move, m.
            jaw: (n, 3) unit vectors along which the site's x axis shall lie; its z axis shall
                point down, where the rest allows it.
        """
        error = np.concatenate(
            [
                place,
                _JAW_WEIGHT * np.cross(at.turn[:, :, 0], jaw),
                _DOWN_WEIGHT * np.cross(at.turn[:, :, 2], [0.0, 0.0, -1.0]),
            ],
            axis=1,
        )
        moving = np.cross(at.axes, at.place[:, None] - at.anchors)
        rows = (moving, _JAW_WEIGHT * at.axes, _DOWN_WEIGHT * at.axes)
        jacobian = np.concatenate(rows, axis=2)  # transposed: (n, k, 9)
        normal = jacobian @ np.swapaxes(jacobian, 1, 2) + _DAMPING**2 * np.eye(len(self.low))
        return np.linalg.solve(normal, jacobian @ error[:, :, None])[:, :, 0]


def _links(model: mujoco.MjModel, last: int, joints: list[int]) -> list[_Link]:
    chain = [last]
    while model.body_parentid[chain[-1]]:
        chain.append(int(model.body_parentid[chain[-1]]))
    links = []
    for body in reversed(chain):
        mass, centre = float(model.body_mass[body]), model.body_ipos[body].copy()
        if body == last:
            mass, centre = _with_children(model, body)
        own = [j for j in joints if model.jnt_bodyid[j] == body]
        joint = (
            dict(
                axis=model.jnt_axis[own[0]].copy(),
                anchor=model.jnt_pos[own[0]].copy(),
                column=joints.index(own[0]),
                rest=float(model.qpos0[model.jnt_qposadr[own[0]]]),
            )
            if own
            else {}
        )
        links.append(
            _Link(
                place=model.body_pos[body].copy(),
                turn=_matrix(model.body_quat[body]),
                mass=mass,
                centre=centre,
                **joint,
            )
        )
    return links


def _with_children(model: mujoco.MjModel, body: int) -> tuple[float, np.ndarray]:
    """Mass and centre of a body with those that hang on it, as drawn, in its own frame."""
    parts = [(float(model.body_mass[body]), model.body_ipos[body].copy())]
    for child in np.flatnonzero(model.body_parentid == body):
        if child != body:
            centre = (
                model.body_pos[child] + _matrix(model.body_quat[child]) @ model.body_ipos[child]
            )
            parts.append((float(model.body_mass[child]), centre))
    mass = sum(part[0] for part in parts)
    return mass, sum((m * centre for m, centre in parts), np.zeros(3)) / max(mass, 1e-12)


def _turns(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """(n, 3, 3) turns about one axis by angles (n,), after Rodrigues."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    c, s = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    return c * np.eye(3) + s * cross + (1.0 - c) * np.outer(axis, axis)


def _matrix(quat: np.ndarray) -> np.ndarray:
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, quat)
    return flat.reshape(3, 3)
