"""The kinds of probe. A new one is a class here: a name, a few numbers, and where the hand goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trueup.episodes import Episode
from trueup.record.motions.probe import ABOVE_M, Course, Probe, raised

_LOOSE_RAD = 0.12  # beyond where the fingers touched: their own friction holds them that long
_FORCE, _JOINTS = "joint_force", "joint_position"


@dataclass(frozen=True, kw_only=True)
class _Holding(Probe):
    """Probes that take hold of the thing."""

    press_rad: float = 0.2
    """How far the gripper is told to close beyond where it stops. A servo answers with its
    stiffness times this, up to its force limit."""

    def __post_init__(self) -> None:
        self._check(
            0.02 <= self.press_rad <= 0.6, f"a press of {self.press_rad} rad", "Give 0.02 to 0.6."
        )


@dataclass(frozen=True, kw_only=True)
class Squeeze(_Holding):
    """Close on the thing and press: grip force, and how the fingers give way."""

    kind = "squeeze"
    _sizes: ClassVar[tuple[str, ...]] = ("press_rad",)

    hold_s: float = 1.2
    """How long to press."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(0 < self.hold_s <= 10, f"{self.hold_s} s to hold", "Give up to 10 s.")

    def visit(self, course: Course) -> None:
        course.grasp(self.press_rad)
        course.go("squeeze", seconds=self.hold_s)
        course.go("let go", seconds=0.5, grip=course.opened)
        course.go("up", course.over(course.thing), seconds=0.8)

    def found(self, episode: Episode) -> dict[str, float]:
        press = _during(episode, "squeeze", last_s=0.5)
        return {
            **_column(episode, _FORCE, -1, press, "grip_torque_n_m"),
            **_column(episode, _JOINTS, -1, press, "grip_angle_rad"),
        }


@dataclass(frozen=True, kw_only=True)
class Drag(Probe):
    """Press on the thing from above and drag it: friction of the table against that of the tips."""

    kind = "drag"
    _sizes: ClassVar[tuple[str, ...]] = ("distance_m",)

    distance_m: float = 0.05
    """How far to drag, towards the middle of the table."""
    press_m: float = 0.012
    """How far below the thing's top the fingertips are told to go."""
    drag_s: float = 1.5
    """How long it takes."""

    def __post_init__(self) -> None:
        self._check(0 < self.distance_m <= 0.2, f"{self.distance_m} m to drag", "Give up to 0.2.")
        self._check(0 < self.press_m <= 0.03, f"{self.press_m} m to press", "Give up to 0.03.")
        self._check(0.2 <= self.drag_s <= 30, f"{self.drag_s} s to drag", "Give 0.2 to 30.")

    def visit(self, course: Course) -> None:
        top = raised(course.thing, course.half[2] + course.hand.tip_m)
        low = raised(top, -self.press_m)
        line = course.along(low, _inwards(course), self.distance_m)
        course.go("above", raised(top, ABOVE_M), seconds=1.2, grip=course.shut)
        course.go("press", top, low, seconds=1.0)
        course.go("drag", *line, seconds=self.drag_s)
        course.go("let go", raised(line[-1], self.press_m + ABOVE_M), seconds=0.8)

    def found(self, episode: Episode) -> dict[str, float]:
        return _moved(episode, self.object, "press", "let go", "dragged_m")


@dataclass(frozen=True, kw_only=True)
class Push(Probe):
    """Shove the thing sideways and stop: where it goes, and how far it slides on."""

    kind = "push"
    _sizes: ClassVar[tuple[str, ...]] = ("distance_m",)

    distance_m: float = 0.06
    """How far the hand goes on from where it meets the thing, about."""
    gap_m: float = 0.05
    """From the thing's middle to the hand before it starts."""
    push_s: float = 0.8
    """How long it takes, from rest to rest."""

    def __post_init__(self) -> None:
        self._check(0 < self.distance_m <= 0.2, f"{self.distance_m} m to push", "Give up to 0.2.")
        self._check(0.02 <= self.gap_m <= 0.15, f"a gap of {self.gap_m} m", "Give 0.02 to 0.15.")
        self._check(0.2 <= self.push_s <= 30, f"{self.push_s} s to push", "Give 0.2 to 30.")

    def visit(self, course: Course) -> None:
        direction = _inwards(course)
        beside = course.beside(-self.gap_m * direction)
        line = course.along(beside, direction, self.gap_m + self.distance_m)
        back = line[-1] - 0.02 * direction
        course.go("above", course.over(beside), seconds=1.2, grip=course.shut)
        course.go("down", beside, seconds=0.8)
        course.go("push", *line, seconds=self.push_s)
        course.go("watch", seconds=0.6)
        course.go("up", back, course.over(back), seconds=1.0)

    def found(self, episode: Episode) -> dict[str, float]:
        return _moved(episode, self.object, "down", "up", "pushed_m")


@dataclass(frozen=True, kw_only=True)
class Tilt(_Holding):
    """Raise the thing, tilt the wrist, then loosen the grip until it slips: finger friction."""

    kind = "tilt"
    _sizes: ClassVar[tuple[str, ...]] = ("angle_rad",)

    height_m: float = 0.04
    """How far to raise it."""
    angle_rad: float = -0.6
    """How far to tilt the wrist."""
    joint: str = "wrist_flex"
    """Which joint tilts it."""
    slip_m: float = 0.006
    """A thing that moved this far in the hand has slipped."""
    loosen_s: float = 4.0
    """How long the grip takes to open if nothing slips."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(0 < self.height_m <= 0.1, f"a height of {self.height_m} m", "Give up to 0.1.")
        self._check(
            0 < abs(self.angle_rad) <= math.pi, f"a tilt of {self.angle_rad} rad", "Give up to π."
        )
        self._check(0 < self.slip_m <= 0.02, f"a slip of {self.slip_m} m", "Give up to 0.02.")
        self._check(0.5 <= self.loosen_s <= 60, f"{self.loosen_s} s to loosen", "Give 0.5 to 60.")

    def visit(self, course: Course) -> None:
        slipped = course.slipped(self.slip_m)
        course.grasp(self.press_rad)
        course.go("raise", raised(course.thing, self.height_m), seconds=1.2)
        course.turn("tilt", self.joint, self.angle_rad, seconds=1.5, until=slipped)
        course.go(
            "loosen",
            seconds=self.loosen_s,
            grip=course.shut + self.press_rad + _LOOSE_RAD,
            until=slipped,
            relative=True,
        )
        course.go("watch", seconds=0.4)
        course.go("let go", seconds=0.4, grip=course.opened)

    def found(self, episode: Episode) -> dict[str, float]:
        loosen = _phase(episode, "loosen")
        slip = loosen.get("early_s")
        if slip is None:
            return {}
        at = (slip - 0.1, slip + 1e-6)
        return {
            "slip_after_s": slip - loosen["begin_s"],
            **_column(episode, _FORCE, -1, at, "slip_torque_n_m"),
            **_column(episode, _JOINTS, -1, at, "slip_angle_rad"),
        }


@dataclass(frozen=True, kw_only=True)
class Drop(_Holding):
    """Raise the thing and let it fall: how it lands."""

    kind = "drop"
    _sizes: ClassVar[tuple[str, ...]] = ("height_m",)

    height_m: float = 0.06
    """How far to raise it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(0 < self.height_m <= 0.15, f"a height of {self.height_m} m", "Give up to 0.15.")

    def visit(self, course: Course) -> None:
        course.grasp(self.press_rad)
        course.go("raise", raised(course.thing, self.height_m), seconds=1.2)
        course.go("still", seconds=0.4)
        course.go("let go", seconds=0.5, grip=course.opened)
        course.go("watch", seconds=1.0)

    def found(self, episode: Episode) -> dict[str, float]:
        place = f"{self.object}_position"
        if place not in episode.signals:
            return {}
        height = episode[place].values[:, 2]
        time_s = episode[place].time_s
        fall = _between(time_s, *_span(episode, "still", "watch"))
        if not fall.any():
            return {}
        return {"fell_m": float(height[fall].max() - height[fall][-1])}


def _inwards(course: Course) -> np.ndarray:
    """(n, 3) level and square to the way to each thing, towards the middle of the table."""
    away = course.away
    left = np.stack([-away[:, 1], away[:, 0], np.zeros(len(away))], axis=1)
    return left * np.where(course.thing[:, 1:2] > 0, -1.0, 1.0)


def _phase(episode: Episode, name: str) -> dict[str, float]:
    return next((p for p in episode.origin.get("phases", []) if p["name"] == name), {})


def _span(episode: Episode, first: str, last: str) -> tuple[float, float]:
    """From the beginning of one phase to the end of another, by the clock of the episode."""
    begin, end = _phase(episode, first), _phase(episode, last)
    return begin.get("begin_s", math.inf), end.get("end_s", -math.inf)


def _during(episode: Episode, name: str, *, last_s: float) -> tuple[float, float]:
    begin, end = _span(episode, name, name)
    return max(begin, end - last_s), end


def _between(time_s: np.ndarray, begin: float, end: float) -> np.ndarray:
    return (time_s >= begin) & (time_s <= end)


def _column(
    episode: Episode, signal: str, column: int, span: tuple[float, float], name: str
) -> dict[str, float]:
    """The mean of one column over a span, if there is such a signal."""
    if signal not in episode.signals:
        return {}
    channel = episode[signal]
    rows = _between(channel.time_s, *span)
    return {name: float(channel.values[rows, column].mean())} if rows.any() else {}


def _moved(episode: Episode, thing: str, first: str, last: str, name: str) -> dict[str, float]:
    """How far a thing came, on the level, from the beginning of one phase to that of another."""
    place = f"{thing}_position"
    if place not in episode.signals:
        return {}
    channel = episode[place]
    begin, end = _phase(episode, first), _phase(episode, last)
    rows = _between(channel.time_s, begin.get("begin_s", math.inf), end.get("begin_s", -math.inf))
    if not rows.any():
        return {}
    way = channel.values[rows][-1] - channel.values[rows][0]
    return {name: float(np.linalg.norm(way[:2]))}
