"""Joint units of LeRobot's SO-101, and the door between them and radians of our model.

LeRobot's driver gives arm joints in degrees, or from -100 to 100 over the calibrated range, and the
gripper from 0 (closed) to 100 (open) either way. Its zero of a joint is the middle of the
calibrated range, which lies on the middle of the model's range, as for a robot on the bus.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from trueup.episodes.episode import COMMAND, JOINTS, Channel, Episode
from trueup.episodes.storage.features import UNSTATED
from trueup.errors import TrueupError

_SUFFIX = ".pos"  # LeRobot's name of a joint's position is the motor's name and this
_GRIPPER = "gripper"
_RAD_PER_TICK = 2 * math.pi / 4096
_RAD_PER_DEGREE = 4095 / 360 * _RAD_PER_TICK  # LeRobot divides a turn by its last tick


class JointUnits(StrEnum):
    """How joint positions are told."""

    RAD = "rad"
    DEGREES = "degrees"
    NORMALIZED = "normalized"

    @property
    def unit(self) -> str:
        """What stands in a dataset; LeRobot's mix two units, so they carry its name."""
        return "rad" if self is JointUnits.RAD else f"lerobot-{self}"

    @classmethod
    def of(cls, unit: str) -> JointUnits | None:
        """Those of a channel; none where it is not one of them, or not stated."""
        return next((units for units in cls if units.unit == unit), None)


@dataclass(frozen=True, kw_only=True)
class Span:
    """A joint's calibrated range: its middle, and how far it goes to either side, rad."""

    middle: float
    half: float


SO101 = {
    "shoulder_pan": Span(middle=0.0, half=1.91986),
    "shoulder_lift": Span(middle=0.0, half=1.74533),
    "elbow_flex": Span(middle=0.0, half=1.69),
    "wrist_flex": Span(middle=0.0, half=1.65806),
    "wrist_roll": Span(middle=0.0486795, half=2047.5 * _RAD_PER_TICK),  # LeRobot keeps all its turn
    "gripper": Span(middle=0.7853981, half=0.9599311),
}
"""Ranges of the model. An arm's own calibration file is better where arm joints are normalized."""


def spans_from(path: Path) -> dict[str, Span]:
    """Ranges of one SO-101, from the calibration file that LeRobot keeps of it."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        ticks = {joint: stored[joint]["range_max"] - stored[joint]["range_min"] for joint in SO101}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise TrueupError(
            f"{path} is not LeRobot's calibration of an SO-101: {type(error).__name__}: {error}.",
            fix="Give the JSON file that lerobot-calibrate wrote.",
        ) from error
    arm = {
        joint: replace(span, half=ticks[joint] / 2 * _RAD_PER_TICK)
        for joint, span in SO101.items()
        if joint != _GRIPPER  # whose ends are those of the model's jaw
    }
    return {**arm, _GRIPPER: SO101[_GRIPPER]}


def converted(
    episode: Episode,
    to: JointUnits,
    *,
    read_as: JointUnits | None = None,
    spans: Mapping[str, Span] = SO101,
) -> Episode:
    """The same episode with commands and joint positions in other units.

    Args:
        episode: As it was read.
        to: The units wanted. LeRobot's come as float32 under LeRobot's names, as its own tools do.
        read_as: The units of a dataset that does not state them.
        spans: The calibrated range of each joint.
    """
    signals = dict(episode.signals)
    for name in (COMMAND, JOINTS):
        if name in signals:
            signals[name] = _channel(name, signals[name], to, read_as, spans)
    return replace(episode, signals=signals)


def _channel(
    name: str,
    channel: Channel,
    to: JointUnits,
    read_as: JointUnits | None,
    spans: Mapping[str, Span],
) -> Channel:
    start = JointUnits.of(channel.unit)
    if channel.unit == UNSTATED:
        start = read_as
    elif read_as is not None and read_as is not start:
        raise TrueupError(
            f"The signal {name!r} is stored in {channel.unit}, but was to be read as {read_as}.",
            fix="Leave out what it is to be read as: the dataset says it.",
        )
    if start is None:
        raise TrueupError(
            f"The signal {name!r} is in {channel.unit!r}, which says nothing about its joints.",
            fix="Say what it is read as: rad, degrees or normalized.",
        )
    if start is to:
        return replace(channel, unit=to.unit)
    joints = [joint.removesuffix(_SUFFIX) for joint in channel.names]
    scale, offset = to_radians(start, joints, spans)
    rad = channel.values.astype(float) * scale + offset
    if to is JointUnits.RAD:
        return replace(channel, values=rad, unit=to.unit, names=tuple(joints))
    scale, offset = to_radians(to, joints, spans)
    values = ((rad - offset) / scale).astype(np.float32)
    return replace(
        channel, values=values, unit=to.unit, names=tuple(f"{j}{_SUFFIX}" for j in joints)
    )


def to_radians(
    units: JointUnits, joints: Sequence[str], spans: Mapping[str, Span] = SO101
) -> tuple[np.ndarray, np.ndarray]:
    """What to multiply by and then to add to get radians, for each joint."""
    if units is JointUnits.RAD:
        return np.ones(len(joints)), np.zeros(len(joints))
    unknown = [joint for joint in joints if joint not in spans]
    if unknown:
        raise TrueupError(
            f"The range of the joint {unknown[0]!r} is not known; known: {', '.join(spans)}.",
            fix="Give a calibration file that has it.",
        )
    rows = [_joint_affine(units, joint, spans[joint]) for joint in joints]
    scale, offset = np.array(rows).T
    return scale, offset


def _joint_affine(units: JointUnits, joint: str, span: Span) -> tuple[float, float]:
    if joint == _GRIPPER:
        return span.half / 50, span.middle - span.half
    scale = _RAD_PER_DEGREE if units is JointUnits.DEGREES else span.half / 100
    return scale, span.middle
