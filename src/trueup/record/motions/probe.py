"""Probes: a hand that touches a thing on purpose, from where the thing is seen to be."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.record.motions.excitation import phased, way
from trueup.record.motions.hand import SPARE_RAD, Hand, sideways
from trueup.record.motions.motion import Motion, Phase, Plan, Situation
from trueup.record.motions.rules import Rule, Slipped, Stalled
from trueup.record.motions.smooth import eased

ABOVE_M = 0.05
"""Between a thing's top and the fingertips before they come down, and after."""
_ASIDE_M = 0.008  # further from the fixed finger than from the middle, on the way down
_OPEN_SHARE = 0.48  # of the gripper's range: wide enough for what it can hold
_OVER_TABLE_M = 0.004  # between the fingertips and what the thing stands on
_SPEED_SHARE = 0.85  # of what a servo can do


@dataclass(frozen=True, kw_only=True)
class Probe(Motion):
    """A few waypoints of the hand about a thing that it touches."""

    object: str = "cube"
    """The body of the world that is probed; it must be seen, or told where it is."""

    @property
    def needs(self) -> str:
        return self.object

    @abstractmethod
    def visit(self, course: Course) -> None:
        """Lead the hand through the probe, phase by phase."""

    @abstractmethod
    def found(self, episode: Episode) -> dict[str, float]:
        """What a recording says at a glance, by name with unit; empty where nobody saw it.

        Readings as they were taken, for the operator: an estimate is identification's business.
        """

    def missed(self, episode: Episode) -> bool:
        """Whether a recording shows that the hand did not get hold of what it was to hold."""
        del episode
        return False

    def otherwise(self) -> Probe:
        """How to try it next, where it missed; as before, where no other way is known."""
        return self

    def planned(self, situation: Situation, *, end: np.ndarray | None = None) -> Plan:
        if self.object not in situation.objects:
            raise TrueupError(
                f"The probe {self.title!r} must know where the {self.object} is, and nobody sees "
                "it.",
                fix="Use a robot that observes it, or say where it stands (--object X Y TURN).",
            )
        course = Course(situation, self.object)
        self.visit(course)
        return course.plan(self, situation.start if end is None else end)


class Course:
    """The way of a hand past a thing, as it is being laid.

    Attributes:
        hand: What is led.
        thing: (n, 3) where the thing stands.
        across: (n, 3) along which of its faces the jaw opens.
        foot: (3,) where the robot's first joint stands.
        away: (n, 3) level, from there to the thing.
        half: (3,) half its size along its own axes.
        opened: The gripper's angle when open.
        shut: The gripper's angle when closed on nothing.
        signal: The observation that holds the joints' positions.
    """

    def __init__(self, situation: Situation, name: str) -> None:
        body, pose = situation.body, situation.objects[name]
        self._situation, self._name = situation, name
        self._n = len(situation.start)
        self.hand = Hand(situation.world, body, self._n)
        self.thing = pose[:, :3]
        self.half = half_size(situation.world.model, name)
        self.foot = _foot(situation.world.model, body.joints[0])
        self.away = self.thing * [1.0, 1.0, 0.0] - self.foot * [1.0, 1.0, 0.0]
        self.away /= np.linalg.norm(self.away, axis=1, keepdims=True)
        self.across = sideways(pose[:, 3:], self.away[:, :2])
        low, high = body.low[self.hand.grip], body.high[self.hand.grip]
        self.opened = low + _OPEN_SHARE * (high - low)
        self.shut = low + SPARE_RAD
        self.signal = joint_signal(situation)
        self._pose = np.array(situation.start, float)
        self._parts: list[np.ndarray] = [self._pose[None]]
        self._phases: list[Phase] = []

    def settle(self) -> None:
        """Believe of the height of the thing what is drawn: an eye that leans sees it higher."""
        self.thing = self.thing * [1.0, 1.0, 0.0] + [0.0, 0.0, self._drawn_m]

    def go(
        self,
        name: str,
        *places: np.ndarray,
        seconds: float,
        grip: float | None = None,
        until: Rule | None = None,
        relative: bool = False,
    ) -> None:
        """Lead the hand through places (n, 3) one after the other; without any it stays.

        Args:
            name: Of the phase.
            places: Where the site `tcp` goes.
            seconds: For all of them, at rest at both ends; longer where a servo is too slow.
            grip: The gripper's angle at the end; by default as it is.
            until: What ends the movement early.
            relative: Go as far from wherever the last movement really ended.
        """
        poses = [self._pose]
        for place in places:
            poses.append(self.hand.reached(place, self.across, poses[-1]))
        if not places:
            poses.append(self._pose.copy())
        if grip is not None:
            first, count = self._pose[:, self.hand.grip], len(poses) - 1
            for k in range(1, len(poses)):
                poses[k][:, self.hand.grip] = first + (k / count) * (grip - first)
        self._follow(name, poses, seconds, until, relative)

    def turn(
        self,
        name: str,
        joint: str,
        angle_rad: float,
        *,
        seconds: float,
        until: Rule | None = None,
    ) -> None:
        """Turn one joint by an angle, as far as its limits let it."""
        body = self._situation.body
        (column,) = body.columns((joint,))
        pose = self._pose.copy()
        low, high = body.low[column] + SPARE_RAD, body.high[column] - SPARE_RAD
        pose[:, column] = np.clip(pose[:, column] + angle_rad, low, high)
        self._follow(name, [self._pose, pose], seconds, until)

    def grasp(self, press_rad: float) -> None:
        """Come down over the thing with open fingers and close them on it."""
        aside = self.beside(-_ASIDE_M * self.across)  # the moving finger brings it to the fixed one
        self.go("above", self.over(aside), seconds=1.2, grip=self.opened)
        self.go("down", *_line(self.over(aside), aside, 4), seconds=0.8)
        stalled = Stalled(column=self.hand.grip, signal=self.signal, error_rad=press_rad)
        self.go("close", seconds=1.2, grip=self.shut, until=stalled)

    def beside(self, offset: np.ndarray) -> np.ndarray:
        """(n, 3) that far from the thing's middle, and no lower than the fingertips may come."""
        place = self.thing + offset
        ground = self.thing[:, 2] - self.half[2]
        place[:, 2] = np.maximum(place[:, 2], ground + self.hand.tip_m + _OVER_TABLE_M)
        return place

    def over(self, place: np.ndarray) -> np.ndarray:
        """(n, 3) above a place, the fingertips clear of the thing."""
        return raised(place, self.half[2] + ABOVE_M + self.hand.tip_m)

    def along(self, place: np.ndarray, direction: np.ndarray, distance_m: float) -> list:
        """A straight line of places (n, 3) from one on."""
        return _line(place, place + distance_m * direction, max(4, round(distance_m / 0.01)))

    def slipped(self, distance_m: float) -> Rule:
        """Holds when the thing has moved in the hand."""
        return Slipped(
            hand=self.hand.place,
            signal=self.signal,
            place=f"{self._name}_position",
            distance_m=distance_m,
        )

    def plan(self, probe: Probe, end: np.ndarray) -> Plan:
        """All that was laid, and the way back."""
        period_s = self._situation.period_s
        self._parts.append(way(self._pose, end, period_s))
        rows = sum(map(len, self._parts))
        back = phased([("", rows - len(self._parts[-1])), ("back", len(self._parts[-1]))])[1:]
        first = replace(self._phases[0], first=0)
        return Plan(
            motion=probe,
            period_s=period_s,
            path=np.concatenate(self._parts),
            phases=(first, *self._phases[1:], *back),
            touched=self._name,
            sunk_m=self._sunk_m(),
        )

    def _sunk_m(self) -> float:
        return max(0.0, self._drawn_m - float(self.thing[:, 2].min()))

    @property
    def _drawn_m(self) -> float:
        """How high the middle of the thing is in the model as drawn."""
        model = self._situation.world.model
        joint = int(model.body_jntadr[model.body(self._name).id])
        return float(model.qpos0[model.jnt_qposadr[joint] + 2])

    def _follow(
        self,
        name: str,
        poses: list[np.ndarray],
        seconds: float,
        until: Rule | None,
        relative: bool = False,
    ) -> None:
        stack, k = np.stack(poses), max(1, round(seconds / self._situation.period_s))
        path = _along(stack, k)
        rate = np.abs(np.diff(path, axis=0)).max(axis=(0, 1)) / self._situation.period_s
        slower = float((rate / (_SPEED_SHARE * np.array(self._situation.body.speed))).max())
        if slower > 1.0:
            k = int(np.ceil(slower * k))
            path = _along(stack, k)
        self._parts.append(path[1:])
        first = sum(map(len, self._parts[:-1]))
        phase = Phase(name=name, first=first, end=first + k, until=until, relative=relative)
        self._phases.append(phase)
        self._pose = poses[-1].copy()


def _along(poses: np.ndarray, k: int) -> np.ndarray:
    """(k + 1, n, nu) from the first of some poses to the last, at rest at both ends."""
    share = eased(np.arange(k + 1) / k) * (len(poses) - 1)
    low = np.minimum(share.astype(int), len(poses) - 2)
    return poses[low] + (share - low)[:, None, None] * (poses[low + 1] - poses[low])


def raised(place: np.ndarray, height_m: float) -> np.ndarray:
    """Places (n, 3) that much higher."""
    return place + np.array([0.0, 0.0, height_m])


def joint_signal(situation: Situation) -> str:
    """The observation of a world that holds the commanded joints' positions."""
    size = situation.body.size
    for signal in situation.world.observations:
        if signal.unit == "rad" and len(signal.sensors) == size:
            return signal.name
    raise TrueupError(
        f"World {situation.world.name!r} observes no positions of its {size} joints.",
        fix="Probes need them: add a signal of the joints' positions, in rad.",
    )


def half_size(model: mujoco.MjModel, name: str) -> np.ndarray:
    """(3,) half the size of a body's first geom along its own axes."""
    geom = int(model.body_geomadr[model.body(name).id])
    x, y, z = model.geom_size[geom]
    kind = mujoco.mjtGeom(model.geom_type[geom])
    round_sizes: Mapping[mujoco.mjtGeom, tuple[float, float, float]] = {
        mujoco.mjtGeom.mjGEOM_SPHERE: (x, x, x),
        mujoco.mjtGeom.mjGEOM_CYLINDER: (x, x, y),
        mujoco.mjtGeom.mjGEOM_CAPSULE: (x, x, x + y),
    }
    return np.array(round_sizes.get(kind, (x, y, z)))


def _line(start: np.ndarray, end: np.ndarray, k: int) -> list[np.ndarray]:
    return [start + share * (end - start) for share in np.arange(1, k + 1) / k]


def _foot(model: mujoco.MjModel, joint: str) -> np.ndarray:
    """Where the first joint's axis stands in the model as drawn."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return data.xanchor[model.joint(joint).id].copy()
