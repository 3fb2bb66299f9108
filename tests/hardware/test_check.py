"""The checker of the robot contract: it passes robots that keep it, and names what others break."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from trueup.errors import TrueupError
from trueup.hardware import Clock, ContractBroken, Robot, check_robot, open_robot
from trueup.hardware.reality import Reality
from trueup.hardware.rehearsal.cells import MujocoCells
from trueup.policies import Feature
from trueup.worlds import get

ARM = get("so101/arm")


class _Ticks(Clock):
    def __init__(self, cells: MujocoCells) -> None:
        self.cells, self.ticks = cells, 0

    def now_s(self) -> float:
        return self.ticks * self.cells.tick_s

    def wait_until(self, time_s: float) -> None:
        while self.now_s() < time_s - 1e-9:
            self.cells.step()
            self.ticks += 1


class Good(Robot):
    """The shortest robot that keeps the contract: two arms in this process."""

    name, kind, real, n = "two arms", "test", False, 2

    def __init__(self) -> None:
        self.cells = MujocoCells(Reality(story="A test."), ARM, self.n, threads=1)
        self.cells.reset(np.arange(self.n), np.arange(self.n))
        self.interface, self.columns = self.cells.interface, self.cells.columns
        self.clock: Clock = _Ticks(self.cells)
        self.connected = self.enabled = False
        self.last = self.cells.hold.copy()

    def _check(self) -> None:
        if not self.connected:
            raise TrueupError("These arms are not connected.", fix="Call connect first.")

    def connect(self) -> None:
        self.connected = True

    def disconnect(self) -> None:
        self.connected = False

    def enable(self) -> None:
        self._check()
        self.cells.power(True)
        self.enabled, self.last = True, self.cells.hold.copy()

    def disable(self) -> None:
        self._check()
        self.cells.power(False)
        self.enabled = False

    def observe(self) -> dict[str, np.ndarray]:
        self._check()
        return {name: values.copy() for name, values in self.cells.observation.items()}

    def act(self, commands: np.ndarray) -> np.ndarray:
        self._check()
        if not self.enabled or np.shape(commands) != self.hold.shape:
            raise TrueupError("This is no command for these arms now.")
        if not np.isfinite(commands).all():
            raise TrueupError("A command is not finite.")
        self.last = np.clip(commands, self.interface.low, self.interface.high)
        self.cells.command(self._wired(self.last))
        return self.last.copy()

    def _wired(self, commands: np.ndarray) -> np.ndarray:
        """What reaches the servos of what was sent."""
        return commands

    def reset(self, seeds=None, rows=None) -> None:
        self._check()
        rows = np.arange(self.n) if rows is None else rows
        self.cells.reset(rows, np.zeros(len(rows), np.uint64) if seeds is None else seeds)
        self.last = self.cells.hold.copy()

    @property
    def hold(self) -> np.ndarray:
        return self.last.copy()


def test_a_robot_that_keeps_the_contract_passes_every_rule() -> None:
    findings = check_robot(Good())
    assert {finding.verdict for finding in findings} == {"kept"}
    assert len(findings) >= 20


@pytest.mark.parametrize(
    "options",
    [
        {"cells": 1},
        {"cells": 2, "period_s": 0.02},
        pytest.param({"realtime": True}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_rehearsal_robots_keep_it(options) -> None:
    robot = open_robot("rehearsal:benign@so101/lift", **options)
    assert {finding.verdict for finding in check_robot(robot)} == {"kept"}


# Robots that break one rule each, and the words that must name it -------------------------------


class Nameless(Good):
    name = " "


class NoBodies(Good):
    n = 0

    def __init__(self) -> None:
        self.n = 2
        super().__init__()
        self.n = 0


class NoClock(Good):
    def __init__(self) -> None:
        super().__init__()
        self.clock = None  # type: ignore[assignment]


class _Faced(Good):
    """An interface with one thing changed."""

    def __init__(self) -> None:
        super().__init__()
        self.interface = replace(self.interface, **self.changed(self.interface))

    def changed(self, face) -> dict:
        raise NotImplementedError


class InDegrees(_Faced):
    def changed(self, face):
        return {"unit": ("deg",) * 6}


class WideLimits(_Faced):
    def changed(self, face):
        return {"low": (-180.0,) * 6, "high": (180.0,) * 6}


class TurnedLimits(_Faced):
    def changed(self, face):
        return {"low": face.high, "high": face.low}


class Promises(_Faced):
    def changed(self, face):
        return {"observations": (*face.observations, Feature(name="tilt", size=1, unit="rad"))}


class NoPeriod(_Faced):
    def changed(self, face):
        return {"period_s": 0.0}


class OtherOrder(Good):
    def __init__(self) -> None:
        super().__init__()
        self.columns = {**self.columns, "joint_position": self.interface.commands[::-1]}


class FewColumns(Good):
    def __init__(self) -> None:
        super().__init__()
        self.columns = {**self.columns, "joint_force": ("a",)}


class Eager(Good):
    def _check(self) -> None:
        pass


class Terse(Good):
    def _check(self) -> None:
        if not self.connected:
            raise KeyError("port")


class Unreachable(Good):
    def connect(self) -> None:
        raise OSError("no such port")


class _Seen(Good):
    """Observations with one thing changed."""

    def observe(self) -> dict[str, np.ndarray]:
        return self.changed(super().observe())

    def changed(self, seen: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        raise NotImplementedError


class Flat(_Seen):
    def changed(self, seen):
        return {name: values[0] for name, values in seen.items()}


class Whole(_Seen):
    def changed(self, seen):
        return {name: np.round(1000 * values).astype(int) for name, values in seen.items()}


class SeesNaN(_Seen):
    def changed(self, seen):
        return seen | {"joint_force": seen["joint_force"] * np.nan}


class ReadsDegrees(_Seen):
    def changed(self, seen):
        return seen | {"joint_position": np.degrees(seen["joint_position"])}


class SeesMore(_Seen):
    def changed(self, seen):
        return seen | {"secret": np.zeros((2, 1))}


class SharesArrays(Good):
    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, np.ndarray] = {}

    def observe(self) -> dict[str, np.ndarray]:
        for name, values in super().observe().items():
            self._kept.setdefault(name, values.copy())[:] = values
        return self._kept


class _Timed(Good):
    clock_kind: type[_Ticks]

    def __init__(self) -> None:
        super().__init__()
        self.clock = self.clock_kind(self.cells)


class _Impatient(_Ticks):
    def wait_until(self, time_s: float) -> None:
        super().wait_until(time_s - 0.06)


class _Sluggish(_Ticks):
    def wait_until(self, time_s: float) -> None:
        super().wait_until(max(time_s, self.now_s()) + 0.5)


class Early(_Timed):
    clock_kind = _Impatient


class Late(_Timed):
    clock_kind = _Sluggish


class AlwaysOn(Good):
    def connect(self) -> None:
        super().connect()
        self.enable()


class Decided(Good):
    def verdict(self):
        return {"success": np.zeros(2, bool), "over": np.ones(2, bool)}


class WordyVerdict(Good):
    def verdict(self) -> Any:
        return {"success": "yes", "over": "no"}


class Jumps(Good):
    def enable(self) -> None:
        super().enable()
        self.cells.command(np.zeros_like(self.cells.hold))


class Unlimited(Good):
    def act(self, commands: np.ndarray) -> np.ndarray:
        super().act(commands)
        return np.array(commands)


class TakesAnything(Good):
    def act(self, commands: np.ndarray) -> np.ndarray:
        return super().act(np.nan_to_num(commands))


class Slow(Good):
    def act(self, commands: np.ndarray) -> np.ndarray:
        sent = super().act(commands)
        self.clock.wait_until(self.clock.now_s() + 0.2)
        return sent


class Forgets(Good):
    @property
    def hold(self) -> np.ndarray:
        return super().hold + 0.001 * (self.enabled and self.clock.now_s() > 0.5)


class Swapped(Good):
    def _wired(self, commands):
        return commands[:, [0, 2, 1, 3, 4, 5]]


class Inverted(Good):
    def _wired(self, commands):
        return np.where(np.arange(6) == 4, 2 * 1.62 - commands, commands)


class Coupled(Good):
    def _wired(self, commands):
        return commands[[0, 0]]


class OnceOnly(Good):
    spent = False

    def enable(self) -> None:
        if not self.spent:
            super().enable()
        elif not self.enabled:
            self.cells.command(self.cells.hold + 0.5)
            self.cells.power(True)
            self.cells.command(self.cells.hold + 0.5)

    def disable(self) -> None:
        super().disable()
        self.spent = True


class ClosesOnce(Good):
    def disconnect(self) -> None:
        if not self.connected:
            raise RuntimeError("already closed")
        super().disconnect()


class StaysOpen(Good):
    def disconnect(self) -> None:
        pass


@pytest.mark.parametrize(
    ("robot", "words"),
    [
        (Nameless, ["it says what it is", "name is ' '"]),
        (NoBodies, ["it has 0 bodies"]),
        (NoClock, ["its clock is None"]),
        (InDegrees, ["units are SI", "'deg'", "Convert at the driver's door"]),
        (WideLimits, ["more than two turns", "degrees"]),
        (TurnedLimits, ["commands have limits", "'shoulder_pan' may move from"]),
        (Promises, ["columns['tilt'] is None"]),
        (NoPeriod, ["period_s is 0.0"]),
        (OtherOrder, ["measured joints", "gripper, wrist_roll", "same order"]),
        (FewColumns, ["columns['joint_force'] is ('a',), for 6 numbers"]),
        (Eager, ["observed before connect", "observe() before connect answered"]),
        (Terse, ["raised KeyError", "Raise a TrueupError"]),
        (Unreachable, ["connect opens", "OSError: no such port"]),
        (Flat, ["has the shape (6,), not (2, 6)", "leading axis"]),
        (Whole, ["is of int64", "ticks must not reach the contract"]),
        (SeesNaN, ["'joint_force' holds nan"]),
        (ReadsDegrees, ["reads", "degrees? ticks?"]),
        (SeesMore, ["also returns ['secret']"]),
        (SharesArrays, ["changed after it was returned", "copy them"]),
        (Early, ["returned at", "not before"]),
        (Late, ["returned only at", "as soon as"]),
        (AlwaysOn, ["torque is off after connect", "refuse act until enable"]),
        (Decided, ["'over' right after reset"]),
        (WordyVerdict, ["verdict()['success'] is 'yes'"]),
        (Jumps, ["enable holds where it is", "'shoulder_lift'"]),
        (Unlimited, ["act keeps the limits", "Clip commands"]),
        (TakesAnything, ["act() accepted NaN"]),
        (Slow, ["act() took 200 ms of a period of 40 ms"]),
        (Forgets, ["hold is not what was sent last"]),
        (Swapped, ["follows its own command", "'shoulder_lift'"]),
        (Inverted, ["'wrist_roll' was sent", "Check its sign"]),
        (Coupled, ["body 0 also moved another one"]),
        (OnceOnly, ["disable and enable again"]),
        (ClosesOnce, ["disconnect, twice", "already closed"]),
        (StaysOpen, ["after disconnect answered"]),
    ],
    ids=lambda part: part.__name__ if isinstance(part, type) else "",
)
def test_a_broken_rule_is_named(robot: type[Good], words: list[str]) -> None:
    with pytest.raises(ContractBroken) as found:
        check_robot(robot())
    message = str(found.value)
    assert [word for word in words if word not in message] == []
    assert "rules of the robot contract" in message


def test_a_real_robot_is_not_moved_unless_it_is_armed() -> None:
    class Matter(Good):
        real = True
        enables = 0

        def enable(self) -> None:
            self.enables += 1
            super().enable()

    robot = Matter()
    left_out = [f.rule for f in check_robot(robot) if f.verdict == "left out"]
    assert robot.enables == 0 and len(left_out) >= 8
    assert "enable holds where it is" in left_out
    armed = Matter()
    assert {f.verdict for f in check_robot(armed, armed=True)} == {"kept"}
    assert armed.enables > 0 and not armed.connected


def test_a_broken_robot_is_left_without_torque() -> None:
    robot = Jumps()
    robot.disconnect = lambda: (robot.disable(), setattr(robot, "connected", False))[0]  # type: ignore[method-assign]
    with pytest.raises(ContractBroken):
        check_robot(robot)
    assert not robot.enabled and not robot.connected
