"""What moves a robot before there is a policy."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from trueup.errors import TrueupError
from trueup.simulate import Worlds
from trueup.simulate.rollout import Controller
from trueup.streams import Streams
from trueup.worlds import World
from trueup.worlds.scripted import ScriptedLift
from trueup.worlds.so101 import JOINTS

Motion = Literal["auto", "hold", "random", "script"]

_SEEN = {"joint_position", "cube_position", "cube_orientation"}
_SALT = 91  # keeps these draws apart from those of the worlds
_SWAY_RAD = 0.35
_MOTIONS = {
    "hold": "nothing: the servos hold where they start",
    "random": "a gentle random motion",
    "script": "a scripted grasp that knows the nominal world only",
}
_ONLY_LIFTS = "; it only lifts, which is not the task"


def motion_of(world: World, motion: Motion) -> Motion:
    """What "auto" stands for in this world: the script where it can do the task."""
    if motion == "script" and not has_script(world):
        raise TrueupError(
            f"World {world.name!r} has no script: the scripted grasp needs an SO-101 and a cube "
            "that it can see.",
            fix="Use --actions random or --actions hold.",
        )
    if motion == "auto":
        return "script" if world.scripted and has_script(world) else "random"
    return motion


def described_motion(world: World, motion: Motion) -> str:
    """What moves the robot, in words; "auto" is told as what it stands for."""
    motion = motion_of(world, motion)
    only_lifts = motion == "script" and not world.scripted
    return _MOTIONS[motion] + (_ONLY_LIFTS if only_lifts else "")


def has_script(world: World) -> bool:
    """Whether the scripted grasp can play here."""
    seen = {signal.name for signal in world.observations}
    return seen >= _SEEN and world.commands == JOINTS


def controller(worlds: Worlds, motion: Motion) -> Controller:
    """Commands for a batch that was just reset."""
    motion = motion_of(worlds.world, motion)
    if motion == "script":
        return ScriptedLift(worlds.world, worlds.observation)
    if motion == "random":
        return Sway(worlds)
    hold = worlds.hold
    return lambda k, observation: hold


class Sway:
    """A gentle random motion: two slow waves per servo, from where the episode began.

    It follows from the seed of each episode, so a copy moves the same alone and among others.
    """

    def __init__(self, worlds: Worlds) -> None:
        model = worlds.compiled.model
        u = Streams(worlds.seeds, salt=_SALT).uniform(3, 2, model.nu)
        self._start = worlds.hold[:, None, :]
        self._amplitude = _SWAY_RAD * u[:, 0]
        self._omega = 2.0 * math.pi * (0.1 + 0.4 * u[:, 1])
        self._phase = 2.0 * math.pi * u[:, 2]
        limited = model.actuator_ctrllimited.astype(bool)
        low, high = model.actuator_ctrlrange.T
        self._low = np.where(limited, low, -np.inf)
        self._high = np.where(limited, high, np.inf)
        self._period_s = worlds.world.control_period_s

    def __call__(self, k: int, observation: dict[str, np.ndarray]) -> np.ndarray:
        angle = self._omega * (k + 1) * self._period_s + self._phase
        wave = self._amplitude * (np.sin(angle) - np.sin(self._phase))
        return np.clip(self._start[:, 0] + wave.sum(axis=1), self._low, self._high)
