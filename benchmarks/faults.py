"""Wiring and calibration faults to plant, of the kinds that people make."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from math import radians

from trueup.deploy import Fault, in_degrees
from trueup.worlds.so101 import JOINTS

_OFF = radians(3.0)
_JAW_RANGE = 1.9199  # rad: a jaw told and read as a share of it, as some drivers do
_SHARE = Fault(scale={"gripper": 1.0 / _JAW_RANGE}, offset={"gripper": 0.1745 / _JAW_RANGE})


def planted() -> Iterator[tuple[str, Fault, dict[str, float]]]:
    """Kind, fault, and what is to be true of the robot behind it."""
    for pair in combinations(JOINTS, 2):
        yield "swapped joints", Fault(swap=pair), {}
    for pair in pairwise(JOINTS):
        yield "swapped joints", Fault(swap=pair, side="told"), {}
        yield "swapped joints", Fault(swap=pair, side="read"), {}
    for joint in JOINTS:
        for side in ("told", "read"):
            yield "inverted sign", Fault(invert=joint, side=side), {}
        if joint != "shoulder_pan":  # both ways alike, a mirror image: nothing inside can tell
            yield "inverted sign", Fault(invert=joint), {}
    for side in ("told", "read", "both"):
        yield "degrees for radians", in_degrees(JOINTS, side), {}
        yield "degrees for radians", in_degrees(JOINTS[1:2], side), {}
    for joint in JOINTS:
        for sign in (1, -1):
            yield "offset of 3°", Fault(offset={joint: sign * _OFF}), {}
            yield "offset of 3°", Fault(), {f"actuation/{joint}/zero_offset": sign * _OFF}
        yield "offset of 3°", Fault(offset={joint: _OFF}, side="read"), {}
    for scale in (0.5, 2.0, 100.0 / _JAW_RANGE):
        for side in ("told", "read", "both"):
            if scale != 2.0 or side != "both":  # it meets no stop early: nothing inside can tell
                yield "gripper scale", Fault(scale={"gripper": scale}, side=side), {}
    yield "gripper scale", _SHARE, {}
    yield "wrong rate", Fault(declared_s=1 / 30), {}
    yield "wrong rate", Fault(slow_s=0.06), {}
    yield "wrong rate", Fault(stale=2), {}
    yield "wrong rate", Fault(stale=3), {}
    for error in (-0.2, 0.25):  # 20 Hz for 25, and 31
        yield "wrong rate", Fault(), {"latency/control_period_error": error}
