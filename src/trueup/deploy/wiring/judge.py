"""From evidence to findings: what is too far from what it should be.

The numbers were set on robots drawn from the whole default space of `so101/lift`, which has servos
a quarter weaker or stronger, half as much friction more or less, and zeros off by up to 0.9° and
readings by 0.3°: these must pass, and the same robots with a zero off by 3° more must not. See
`python -m benchmarks preflight` for how well that works.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import degrees

import numpy as np

from trueup.deploy.wiring.clearance import Clearance
from trueup.deploy.wiring.evidence import (
    Carriage,
    Response,
    Swept,
    at_rest,
    droop_at,
    pace_ratio,
    stale_share,
    sticking,
)
from trueup.deploy.wiring.finding import Finding
from trueup.deploy.wiring.gravity import Gravity
from trueup.hardware import Timing
from trueup.policies import Interface

_GAIN = (0.3, 1.8)  # while it moves; what is left of friction, delay and noise is in it
_WHOLE = (0.5, 1.3)  # of a whole wiggle: a joint that goes as far and back is no other scale
_CROSS = 0.2
_BEYOND_RAD = 0.1  # outside the limits, at rest
_HOLD_RAD, _ALIKE_RAD = 0.25, 0.12  # what weight and friction explain, and less
_INSIDE_M = 0.02
_ZERO_RAD, _UNEXPLAINED_RAD = 0.0272, 0.0078
_STUCK_RAD = 0.05  # what friction may hide at most
_BIAS_RAD = 0.0285
_WEIGHT = {0.02: (0.35, 2.5), 0.008: (0.0, 3.0)}  # by how much droop there is to weigh with
_LATE, _SLOW, _STALE, _PERIOD = 0.05, 0.05, 0.25, 0.12

_WIRING = "Check which servo is which, and the order of joints in the driver."
_DIRECTION = "Check the direction of this servo in the driver's calibration."
_CALIBRATION = "Calibrate the robot again, then repeat the check."
_UNITS = "Check the units of the driver: radians and SI are expected here."


def resting(position: np.ndarray, hold: np.ndarray, interface: Interface) -> Iterator[Finding]:
    """Readings (n, nu) that cannot be, before anything moves."""
    low, high = np.array(interface.low), np.array(interface.high)
    outside = np.maximum(low - position, position - high)
    for joint, name in enumerate(interface.commands):
        body = int(np.argmax(outside[:, joint]))
        reads = position[body, joint]
        if outside[body, joint] > _BEYOND_RAD:
            guess = np.deg2rad(reads)
            like = " That would be possible in degrees." if _fits(guess, low, high, joint) else ""
            yield Finding(
                check="units",
                joint=name,
                body=body,
                evidence=f"{name!r} reads {reads:.4g} rad, but it moves from {low[joint]:.4g} to "
                f"{high[joint]:.4g} rad.{like}",
                fix=_UNITS if like else _CALIBRATION,
            )
            continue
        yield from _held(position, hold, joint, interface)


def _held(
    position: np.ndarray, hold: np.ndarray, joint: int, interface: Interface
) -> Iterator[Finding]:
    """A joint that is told to be elsewhere in order to stay where it is."""
    body = int(np.argmax(np.abs(hold - position)[:, joint]))
    reads, told, name = position[body, joint], hold[body, joint], interface.commands[joint]
    if abs(told - reads) <= _HOLD_RAD:
        return
    alike = np.flatnonzero(np.abs(position[body] - told) < _ALIKE_RAD)
    mutual = [k for k in alike if abs(hold[body, k] - reads) < _ALIKE_RAD]
    check, guess, fix = "units", "", _UNITS
    if mutual:
        other = interface.commands[mutual[0]]
        check, guess, fix = "order", f", which is what {other!r} reads, and the reverse", _WIRING
    elif abs(told + reads) < _ALIKE_RAD:
        check, guess, fix = "sign", ", which is the opposite", _DIRECTION
    yield Finding(
        check=check,
        joint=name,
        body=body,
        evidence=f"{name!r} reads {reads:.4g} rad, but is told {told:.4g} rad to stay there"
        f"{guess}.",
        fix=fix,
    )


def standing(clearance: Clearance, pose: np.ndarray) -> Iterator[Finding]:
    """Readings (nu,) that would put a robot inside of something."""
    room, pair = clearance.depth(pose)
    if room < -_INSIDE_M:
        yield Finding(
            check="pose",
            joint=None,
            evidence=f"By its readings the robot stands with {pair} {-100 * room:.1f} cm inside "
            "each other.",
            fix="Check which servo is which, and the calibration of all of them.",
        )


def _fits(value: float, low: np.ndarray, high: np.ndarray, joint: int) -> bool:
    return bool(low[joint] - _BEYOND_RAD <= value <= high[joint] + _BEYOND_RAD)


def unreachable(joints: list[str]) -> Iterator[Finding]:
    """Joints that cannot be tried from where the robot is."""
    for name in joints:
        yield Finding(
            check="room",
            joint=name,
            evidence=f"There is no room to move {name!r} to either of its limits.",
            fix="Clear the robot's surroundings, or start it from a pose well above the table.",
        )


def wiggled(found: Response, joint: int, interface: Interface) -> Iterator[Finding]:
    """Joints that answer with another joint, the other way, or by another amount."""
    name = interface.commands[joint]
    others = np.delete(np.arange(found.gain.shape[1]), joint)
    body = int(np.argmax(np.abs(found.gain[:, others]).max(axis=1)))
    other = int(others[np.argmax(np.abs(found.gain[body, others]))])
    if abs(cross := found.gain[body, other]) > _CROSS:
        yield Finding(
            check="order",
            joint=name,
            body=body,
            evidence=f"{name!r} was told to move, and {interface.commands[other]!r} moved "
            f"({cross:+.0%} of it; {name!r} itself {found.gain[body, joint]:+.0%}).",
            fix=_WIRING,
        )
        return
    gain = found.gain[:, joint]
    low = int(np.argmin(gain))
    if gain[low] < -_CROSS:
        yield Finding(
            check="sign",
            joint=name,
            body=low,
            evidence=f"{name!r} moves against its command: {gain[low]:+.0%} of what it was told.",
            fix=_DIRECTION,
        )
        return
    slope = found.slope
    short = np.where(gain < _WHOLE[0], _GAIN[0] - slope, -np.inf)
    far = np.where(gain > _WHOLE[1], slope - _GAIN[1], -np.inf)
    body = int(np.argmax(np.maximum(short, far)))
    if max(short[body], far[body]) > 0.0:
        yield Finding(
            check="scale",
            joint=name,
            body=body,
            evidence=f"{name!r} moves by {slope[body]:.3g} of what it is told, where "
            f"{_GAIN[0]:g} to {_GAIN[1]:g} is sound.",
            fix=f"{_UNITS} A servo without power does not move at all.",
        )


def stopped_early(
    swept: Swept, carried: Carriage, wiggle: Response, gravity: Gravity, name: str
) -> Iterator[Finding]:
    """Joints whose stops are not where the model has them: a zero, a sign or a scale is wrong."""
    for word, end, short, explained, sign in _ends(swept, carried, wiggle, gravity):
        blocked = (short > _ZERO_RAD) & (short - explained > _UNEXPLAINED_RAD)
        beyond = short < -_ZERO_RAD
        for bodies, how in ((blocked, "stops {} short of"), (beyond, "goes {} beyond")):
            if bodies.any():
                body = int(np.argmax(np.where(bodies, np.abs(short), 0.0)))
                yield Finding(
                    check="zero",
                    joint=name,
                    body=body,
                    evidence=f"{name!r} {how.format(f'{degrees(abs(short[body])):.1f}°')} its "
                    f"{word} limit of {end:.3f} rad, where friction and weight explain "
                    f"{degrees(explained[body]):.1f}°: its zero is off by about "
                    f"{degrees(sign * short[body]):+.1f}°, or its scale or sign is wrong.",
                    fix=_CALIBRATION,
                )


def _ends(
    swept: Swept, carried: Carriage, wiggle: Response, gravity: Gravity
) -> Iterator[tuple[str, float, np.ndarray, np.ndarray, float]]:
    """Which limit, where it is, how far short of it (n,), what explains that (n,), and its sign.

    A wrong zero moves both stops the same way: one of them is met early, the other never. So what
    a joint lacks at one end through friction alone, it also lacks at the other.
    """
    sweep = swept.sweep
    low = at_rest(swept.bottom, sweep.joint) - sweep.low
    high = sweep.high - at_rest(swept.top, sweep.joint)
    droop_low, droop_high = (
        droop_at(swept, carried, gravity, end) for end in (sweep.low, sweep.high)
    )
    stick = sticking(wiggle, carried, sweep)
    if sweep.at_low:
        stuck = np.maximum(stick, np.minimum(high - droop_high, _STUCK_RAD))
        yield "lower", sweep.low, low, stuck - droop_low, 1.0
    if sweep.at_high:
        stuck = np.maximum(stick, np.minimum(low + droop_low, _STUCK_RAD))
        yield "upper", sweep.high, high, stuck + droop_high, -1.0


def loaded(carried: Carriage, name: str) -> Iterator[Finding]:
    """Joints that hang differently than the model says they must."""
    bias = int(np.argmax(np.abs(carried.bias)))
    if abs(carried.bias[bias]) > _BIAS_RAD:
        yield Finding(
            check="zero",
            joint=name,
            body=bias,
            evidence=f"{name!r} reads {degrees(-carried.bias[bias]):+.1f}° off from where it is "
            "told to be, wherever that is: it is read and told with different zeros.",
            fix=_CALIBRATION,
        )
    for felt, (least, most) in _WEIGHT.items():
        if carried.expected < felt:
            continue
        body = int(np.argmax(np.abs(carried.weight - 1.0)))
        if not least < carried.weight[body] < most:
            yield Finding(
                check="weight",
                joint=name,
                body=body,
                evidence=f"{name!r} hangs under {carried.weight[body]:.2f} of the weight that the "
                f"model says it carries, where {least:g} to {most:g} is sound.",
                fix="Check whether it is this joint, and which way it turns; then the load, and "
                "the servo's supply.",
            )
        break


def timed(timing: Timing, busy_s: np.ndarray, swept: Sequence[Swept]) -> Iterator[Finding]:
    """A loop, or a robot, that does not keep the rate that it declares."""
    period_s, periods = timing.period_s, timing.periods_s
    rate = f"{1 / period_s:.4g} Hz"
    typical = float(np.median(periods)) if len(periods) else period_s
    late = float((timing.late_s > _LATE * period_s).mean())
    if abs(typical / period_s - 1.0) > _SLOW or late > 0.5:
        yield _rate(
            f"The loop runs at {1 / typical:.4g} Hz where {rate} is meant: reading and commanding "
            f"take {1e3 * float(np.median(busy_s)):.0f} ms a turn."
        )
    if not swept:
        return
    stale = np.mean([stale_share(one) for one in swept], axis=0)
    if (body := int(np.argmax(stale))) is not None and stale[body] > _STALE:
        yield _rate(
            f"{stale[body]:.0%} of the readings of moving joints are the same as the turn before: "
            f"the robot is not read anew at {rate}."
        )
    ratios = [ratio for one in swept if (ratio := pace_ratio(one)) is not None]
    if ratios:
        ratio = np.mean(ratios, axis=0)
        body = int(np.argmax(np.abs(ratio - 1.0)))
        if abs(ratio[body] - 1.0) > _PERIOD:
            yield _rate(
                f"Joints go {ratio[body]:.2f} times as far as their speed readings say they do "
                f"within turns at {rate}: the true rate is about "
                f"{1 / (period_s * ratio[body]):.3g} Hz."
            )


def _rate(evidence: str) -> Finding:
    return Finding(
        check="rate",
        joint=None,
        evidence=evidence,
        fix="Mend the driver or the bus, or train the policy at the rate that it can keep.",
    )
