"""Rules about motion: torque, holding, commands and limits. They move each joint a little."""

from __future__ import annotations

import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.checks.rule import broken, rule
from trueup.hardware.robot import Robot

_STEP_RAD = 0.1
_SETTLE_S = 0.8
_SAG_RAD = 0.15  # a servo holds against gravity with an error of its own


def limp(robot: Robot) -> None:
    """Commands do nothing before enable: they are refused, or have no effect."""
    face, before = robot.interface, _joints(robot)
    if before is None:
        return
    target = np.clip(before + 0.3, face.low, face.high)
    try:
        robot.act(target)
    except TrueupError:
        return
    _pass(robot, _SETTLE_S)
    after = _joints(robot)
    assert after is not None
    asked, went = target - before, after - before
    followed = (np.abs(asked) > 0.1) & (np.abs(went - asked) < 0.25 * np.abs(asked))
    rule(
        not followed.all(),
        "all joints went where act() sent them before enable()",
        "Leave torque off in connect, and refuse act until enable",
    )


def holds(robot: Robot) -> None:
    """Torque on, and nothing moves."""
    before = _joints(robot)
    robot.enable()
    hold = robot.hold
    _shaped(robot, hold, "hold")
    if before is None:
        return
    _near(robot, hold, before, _SAG_RAD, "hold", "Set every goal to where its servo is")
    _pass(robot, _SETTLE_S)
    after = _joints(robot)
    assert after is not None
    _near(robot, after, before, _SAG_RAD, "after enable()", "Enable must not move anything")


def acts(robot: Robot) -> None:
    """It says what it sent, at once, and remembers it."""
    hold, before = robot.hold, robot.clock.now_s()
    sent = robot.act(hold)
    took = robot.clock.now_s() - before
    _shaped(robot, sent, "what act() returns")
    rule(
        took < robot.interface.period_s,
        f"act() took {took * 1e3:.0f} ms of a period of {robot.interface.period_s * 1e3:.0f} ms",
        "Return at once: the robot moves while time passes",
    )
    rule(
        np.allclose(sent, hold, atol=0.01),
        f"act(hold) sent something {np.abs(sent - hold).max():.3g} away from it",
        "Send what is inside the limits as it is",
    )
    rule(
        np.allclose(robot.hold, sent, atol=1e-9),
        "hold is not what was sent last",
        "Remember it: a caller that does nothing sends hold again",
    )


def clipped(robot: Robot) -> None:
    """What lies beyond the limits is not sent. A real robot is left out: it would go there."""
    if robot.real:
        return
    face, hold = robot.interface, robot.hold
    finite = np.isfinite(face.high)
    far = np.where(finite, np.array(face.high) + 1.0, hold)
    sent = robot.act(far)
    robot.act(hold)
    low, high = np.array(face.low) - 1e-6, np.array(face.high) + 1e-6
    outside = (sent < low) | (sent > high)
    if outside.any():
        row, servo = np.argwhere(outside)[0]
        broken(
            f"act() says that it sent {sent[row, servo]:.4g} to {face.commands[servo]!r}, which "
            f"may move from {face.low[servo]:.4g} to {face.high[servo]:.4g}",
            "Clip commands to the limits, and return what was sent",
        )


def refuses(robot: Robot) -> None:
    """NaN and wrong shapes are errors of the caller, and leave everything as it was."""
    hold = robot.hold
    odd = hold.copy()
    odd[0, 0] = np.nan
    for what, commands in (("NaN", odd), (f"the shape {hold[:, 1:].shape}", hold[:, 1:])):
        try:
            robot.act(commands)
        except TrueupError:
            continue
        except Exception as error:
            broken(
                f"act() with {what} raised {type(error).__name__}: {error}",
                "Raise a TrueupError that names the servo or the shape",
            )
        broken(f"act() accepted {what}", "Raise a TrueupError that names the servo or the shape")
    rule(np.array_equal(robot.hold, hold), "hold changed by a refused command", "Check it first")


def follows(robot: Robot) -> None:
    """A small step of one servo moves its own joint, that way, and no other."""
    if _joints(robot) is None:
        return
    names = robot.interface.commands
    robot.act(robot.hold)
    _pass(robot, _SETTLE_S)  # where commands reach the wrong servos, this has moved them
    for servo, name in enumerate(names):
        moved = _stepped(robot, servo)
        own, step = moved[0, servo], _direction(robot, servo) * _STEP_RAD
        others = np.where(np.arange(len(names)) == servo, 0.0, np.abs(moved[0]))
        rule(
            own * step > 0 and abs(own) > 0.3 * _STEP_RAD,
            f"{name!r} was sent {step:+.2f} further and moved {own:+.3f}",
            "Check its sign, its scale, and that commands reach the right servo",
        )
        rule(
            others.max() < 0.7 * abs(own),
            f"a step of {name!r} alone moved {names[int(others.argmax())]!r} by {others.max():.3f}",
            "Check the order of the joints in commands and observations",
        )


def apart(robot: Robot) -> None:
    """A command for one body moves only that one."""
    if robot.n < 2 or _joints(robot) is None:
        return
    moved = _stepped(robot, 0, rows=[0])
    rule(
        np.abs(moved[1:, 0]).max() < 0.5 * abs(moved[0, 0]),
        "a command for body 0 also moved another one",
        "Row i of the commands is for body i",
    )


def again(robot: Robot) -> None:
    """Torque off, then on again."""
    robot.disable()
    _pass(robot, 0.2)
    holds(robot)
    robot.disable()


# ------------------------------------------------------------------------------------------------


def _stepped(robot: Robot, servo: int, rows: list[int] | None = None) -> np.ndarray:
    """How far all joints moved by a small step of one servo, (n, nu); it goes back after it."""
    hold, before = robot.hold, _joints(robot)
    assert before is not None
    target = hold.copy()
    target[slice(None) if rows is None else rows, servo] += _direction(robot, servo) * _STEP_RAD
    robot.act(target)
    _pass(robot, _SETTLE_S)
    after = _joints(robot)
    assert after is not None
    robot.act(hold)
    _pass(robot, _SETTLE_S)
    return after - before


def _direction(robot: Robot, servo: int) -> float:
    """Towards the middle of its range."""
    low, high = robot.interface.low[servo], robot.interface.high[servo]
    middle = 0.5 * (low + high) if np.isfinite([low, high]).all() else np.inf
    return 1.0 if float(robot.hold[0, servo]) <= middle else -1.0


def _joints(robot: Robot) -> np.ndarray | None:
    measured = robot.interface.measured
    return None if measured is None else np.array(robot.observe()[measured], float)


def _pass(robot: Robot, seconds: float) -> None:
    robot.clock.wait_until(robot.clock.now_s() + seconds)


def _shaped(robot: Robot, values: object, what: str) -> None:
    wanted = (robot.n, len(robot.interface.commands))
    right = isinstance(values, np.ndarray) and values.shape == wanted and np.isfinite(values).all()
    rule(right, f"{what} is {values!r:.80}", f"Return finite numbers of shape {wanted}")


def _near(
    robot: Robot, values: np.ndarray, wanted: np.ndarray, within: float, what: str, fix: str
) -> None:
    off = np.abs(values - wanted)
    if (off > within).any():
        row, servo = np.argwhere(off > within)[0]
        broken(
            f"{what}: {robot.interface.commands[servo]!r} of body {row} is at "
            f"{values[row, servo]:.3f}, not at {wanted[row, servo]:.3f}",
            fix,
        )
