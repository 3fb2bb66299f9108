"""A robot that is wired or calibrated wrongly on purpose, to see that preflight tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import degrees
from typing import Any, Literal

import numpy as np

from trueup.errors import UnknownName
from trueup.hardware import Clock, Robot
from trueup.worlds import World, sensor_slots


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One mistake of the kind that people make.

    Attributes:
        swap: Two joints that answer to each other's name.
        invert: A joint that turns the other way.
        scale: Joints whose numbers are in another unit: degrees, or a share of their range.
        offset: Joints whose zero is elsewhere, rad.
        side: Where the mistake is: in what is read, in what is told, or in both alike, when no
            encoder can show it.
        slow_s: How long reading takes.
        stale: How many turns a reading lasts.
        declared_s: The period that the robot claims.
    """

    swap: tuple[str, str] | None = None
    invert: str | None = None
    scale: Mapping[str, float] = field(default_factory=dict)
    offset: Mapping[str, float] = field(default_factory=dict)
    side: Literal["read", "told", "both"] = "both"
    slow_s: float = 0.0
    stale: int = 1
    declared_s: float | None = None


def in_degrees(joints: tuple[str, ...], side: Literal["read", "told", "both"] = "both") -> Fault:
    """Degrees where radians are meant."""
    return Fault(scale=dict.fromkeys(joints, degrees(1.0)), side=side)


class Miswired(Robot):
    """Another robot, through a fault. What it declares of itself stays as it was.

    Signals that a driver would compute from the joints are computed from the wrong ones, so that
    no reading knows better.

    Args:
        robot: The robot, sound or not.
        fault: What is wrong.
        world: Its world, which says how signals follow from joints.
    """

    def __init__(self, robot: Robot, fault: Fault, world: World) -> None:
        self._robot, self._fault, self._world = robot, fault, world
        self.name, self.real, self.n = robot.name, robot.real, robot.n
        self.interface, self.columns = robot.interface, robot.columns
        if fault.declared_s is not None:
            self.interface = replace(robot.interface, period_s=fault.declared_s)
        joints = robot.interface.commands
        self._order = np.arange(len(joints))
        if fault.swap is not None:
            one, other = (_index(joints, name) for name in fault.swap)
            self._order[[one, other]] = self._order[[other, one]]
        self._scale, self._offset = np.ones(len(joints)), np.zeros(len(joints))
        for name, scale in fault.scale.items():
            self._scale[_index(joints, name)] = scale
        for name, offset in fault.offset.items():
            self._offset[_index(joints, name)] = offset
        if fault.invert is not None:
            self._scale[_index(joints, fault.invert)] *= -1.0
        self._kept: dict[str, np.ndarray] | None = None
        self._turn = 0

    @property
    def clock(self) -> Clock:  # type: ignore[override]
        return self._robot.clock

    def connect(self) -> None:
        self._robot.connect()

    def disconnect(self) -> None:
        self._robot.disconnect()

    def enable(self) -> None:
        self._robot.enable()

    def disable(self) -> None:
        self._robot.disable()

    def reset(self, seeds: np.ndarray | None = None, rows: np.ndarray | None = None) -> None:
        self._kept = None
        self._robot.reset(seeds, rows)

    def observe(self) -> dict[str, np.ndarray]:
        if self._fault.slow_s:
            self.clock.wait_until(self.clock.now_s() + self._fault.slow_s)
        if self._kept is None or self._turn % self._fault.stale == 0:
            self._kept = self._read(self._robot.observe())
        self._turn += 1
        return {name: values.copy() for name, values in self._kept.items()}

    def act(self, commands: np.ndarray) -> np.ndarray:
        if self._fault.side == "read":
            return self._robot.act(commands)
        return self._shown(self._robot.act(self._meant(np.asarray(commands, float))))

    @property
    def hold(self) -> np.ndarray:
        return self._robot.hold if self._fault.side == "read" else self._shown(self._robot.hold)

    def verdict(self) -> dict[str, np.ndarray] | None:
        return self._robot.verdict()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._robot, name)

    # --------------------------------------------------------------------------------------------

    def _shown(self, positions: np.ndarray) -> np.ndarray:
        return positions[:, self._order] * self._scale + self._offset

    def _meant(self, commands: np.ndarray) -> np.ndarray:
        meant = np.empty_like(commands)
        meant[:, self._order] = (commands - self._offset) / self._scale
        return meant

    def _read(self, observation: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if self._fault.side == "told":
            return observation
        measured = self.interface.measured
        for name, values in observation.items():
            if name == measured:
                observation[name] = self._shown(values)
            elif name.startswith("joint_") and values.shape[1] == len(self._order):
                scale = np.sign(self._scale) if "force" in name else self._scale
                observation[name] = values[:, self._order] * scale
        return self._computed(observation)

    def _computed(self, observation: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The signals that follow from others, from what those now read."""
        widths = {n: s.stop - s.start for n, s in sensor_slots(self._world.model).items()}
        sensors: dict[str, np.ndarray] = {}
        for signal in self._world.observations:
            if signal.name not in observation:
                continue
            if signal.function is None:
                ends = np.cumsum([widths[name] for name in signal.sensors])[:-1]
                parts = np.split(observation[signal.name], ends, axis=1)
                sensors |= dict(zip(signal.sensors, parts, strict=True))
            else:
                read = np.concatenate([sensors[name] for name in signal.sensors], axis=1)
                observation[signal.name] = signal.function(self._world, read, observation)
        return observation


def _index(joints: tuple[str, ...], name: str) -> int:
    if name not in joints:
        raise UnknownName("joint", name, joints)
    return joints.index(name)
