"""Rules about a session: connect, observe, let time pass, disconnect."""

from __future__ import annotations

import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.checks.rule import broken, rule
from trueup.hardware.pace import Pace
from trueup.hardware.robot import Robot

_TURNS = 25
_SLACK_RAD = 0.35  # how far beyond its limits a joint may read: stops give, zeros are off


def refused_before(robot: Robot) -> None:
    """No observation without a connection."""
    _refused(robot, "before connect")


def refused_after(robot: Robot) -> None:
    """No observation once it is closed."""
    _refused(robot, "after disconnect")


def connect(robot: Robot) -> None:
    """It must simply work."""
    robot.connect()


def observes(robot: Robot) -> None:
    """Names, shapes, kinds and plausible numbers."""
    seen = robot.observe()
    for feature in robot.interface.observations:
        rule(
            feature.name in seen,
            f"observe() has no {feature.name!r}: it has {', '.join(seen)}",
            "Return every observation that the interface declares",
        )
        values = seen[feature.name]
        what, wanted = f"{feature.name!r}", (robot.n, feature.size)
        rule(isinstance(values, np.ndarray), f"{what} is a {type(values).__name__}", "Use numpy")
        rule(
            values.shape == wanted,
            f"{what} has the shape {values.shape}, not {wanted}",
            "Return (n, size), with a leading axis also where n is 1",
        )
        rule(
            np.issubdtype(values.dtype, np.floating),
            f"{what} is of {values.dtype}",
            "Return floats: ticks must not reach the contract",
        )
        rule(np.isfinite(values).all(), f"{what} holds {_first_odd(values)}", "Return finite ones")
    extra = sorted(set(seen) - {f.name for f in robot.interface.observations})
    rule(not extra, f"observe() also returns {extra}", "Declare them in interface.observations")
    _plausible(robot, seen)


def own_arrays(robot: Robot) -> None:
    """What was returned once does not change, nor change the robot when it is written to."""
    first = robot.observe()
    kept = {name: values.copy() for name, values in first.items()}
    _wait(robot, 2)
    robot.observe()
    for name, values in first.items():
        rule(np.array_equal(values, kept[name]), f"{name!r} changed after it was returned", _COPY)
        values[:] = 1e6
    after = robot.observe()
    for name, values in after.items():
        rule((values != 1e6).all(), f"writing to {name!r} changed the next observation", _COPY)


def clock(robot: Robot) -> None:
    """Time rises, waiting reaches the time that was asked for, the past does not wait."""
    period = robot.interface.period_s
    before = robot.clock.now_s()
    rule(isinstance(before, float), f"now_s() is {before!r}", "Return seconds as a float")
    robot.clock.wait_until(before + 3 * period)
    after = robot.clock.now_s()
    rule(
        after >= before + 3 * period - 1e-6,
        f"wait_until({before + 3 * period:.4f}) returned at {after:.4f} s",
        "Return at that time, not before",
    )
    rule(
        after <= before + 4 * period + 0.25,
        f"wait_until({before + 3 * period:.4f}) returned only at {after:.4f} s",
        "Return as soon as the time has come",
    )
    robot.clock.wait_until(before)
    late = robot.clock.now_s() - after
    rule(0 <= late < 0.1, f"waiting for the past took {late:.3f} s", "Return at once")


def resets(robot: Robot) -> None:
    """An episode begins undecided, in all bodies and in some."""
    robot.reset()
    observes(robot)
    verdict = robot.verdict()
    if verdict is None:
        return
    for word in ("success", "over"):
        values = verdict.get(word)
        rule(
            isinstance(values, np.ndarray) and values.shape == (robot.n,) and values.dtype == bool,
            f"verdict()[{word!r}] is {values!r:.60}",
            f"Return {robot.n} booleans, or None for the whole verdict",
        )
        rule(not np.any(values), f"verdict() says {word!r} right after reset", "Begin undecided")
    robot.reset(rows=np.array([0]))


def rate(robot: Robot) -> None:
    """A loop of observing keeps the declared period."""
    pace = Pace(robot.clock, robot.interface.period_s)
    for _ in range(_TURNS):
        pace.wait()
        robot.observe()
    timing = pace.timing
    period, misses = float(np.median(timing.periods_s)), timing.misses(timing.period_s)
    rule(
        abs(period / timing.period_s - 1.0) < 0.05 and misses <= 1,
        f"{_TURNS} turns meant for {timing.period_s * 1e3:.1f} ms took {period * 1e3:.1f} ms each, "
        f"{misses} of them a whole period late",
        "Declare a period that the robot can keep, or make observe quicker",
    )


def disconnects(robot: Robot) -> None:
    """Closing twice does no harm."""
    robot.disconnect()
    robot.disconnect()


# ------------------------------------------------------------------------------------------------

_COPY = "Return arrays of the caller's own: copy them"


def _refused(robot: Robot, when: str) -> None:
    try:
        robot.observe()
    except TrueupError as error:
        rule(len(str(error)) > 20, f"its message is {str(error)!r}", "Say what to do, in sentences")
        return
    except Exception as error:
        broken(
            f"observe() {when} raised {type(error).__name__}: {error}",
            "Raise a TrueupError (RobotLost where the robot is gone) with a sentence",
        )
    broken(f"observe() {when} answered", "Raise a TrueupError with a sentence")


def _wait(robot: Robot, periods: int) -> None:
    robot.clock.wait_until(robot.clock.now_s() + periods * robot.interface.period_s)


def _plausible(robot: Robot, seen: dict[str, np.ndarray]) -> None:
    """Joints inside their limits, more or less: degrees and ticks are not."""
    face = robot.interface
    if face.measured is None:
        return
    joints = seen[face.measured]
    outside = (joints < np.array(face.low) - _SLACK_RAD) | (
        joints > np.array(face.high) + _SLACK_RAD
    )
    if outside.any():
        row, column = np.argwhere(outside)[0]
        broken(
            f"{face.commands[column]!r} reads {joints[row, column]:.4g} {face.unit[column]}, and "
            f"may move from {face.low[column]:.4g} to {face.high[column]:.4g}",
            "Check units (degrees? ticks?), the zero and the calibration",
        )


def _first_odd(values: np.ndarray) -> str:
    odd = values[~np.isfinite(values)]
    return str(odd[0]) if odd.size else "nothing odd"
