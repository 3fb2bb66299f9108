"""Trials for tests of failure analysis: played in bent worlds, or bent after they were played."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from benchmarks.failure_truth import Trial, played
from trueup.episodes import Channel, Episode, Outcome
from trueup.hardware.reality import reality_from
from trueup.simulate import Worlds
from trueup.worlds import World, get
from trueup.worlds.scripted import ScriptedLift

LIFT, PLACE, PUSH, REACH = (f"so101/{task}" for task in ("lift", "place", "push", "reach"))
OILY = {
    "values": {"contact/fingertip-object/sliding": 0.3, "object/cube/mass": 0.08},
    "beyond": [{"effect": "oil_film", "share": 0.04}],
}
SHIFTED = {"values": {"visual/camera/shift_x": -0.015, "visual/camera/shift_y": 0.012}}
SEEN_TOO_LOW = {"values": {"visual/camera/shift_z": -0.03}}


@cache
def world(name: str = LIFT) -> World:
    return get(name)


def trials(
    bent: dict | None = None, n: int = 8, *, task: str = LIFT, begin: Callable | None = None
) -> list[Trial]:
    """Trials of the scripted grasp, or of another, in a reality."""
    reality = reality_from({"trueup_reality": 1, "story": "A test.", "world": task, **(bent or {})})
    return played(world(task), begin or scripted, reality, n, seed=3)


def scripted(worlds: Worlds) -> ScriptedLift:
    return ScriptedLift(worlds.world, worlds.observation)


def dropping(worlds: Worlds) -> Callable:
    """Grasps and lifts, and opens the hand after three seconds."""
    lift = scripted(worlds)

    def command(k: int, observation: dict[str, np.ndarray]) -> np.ndarray:
        told = lift(k, observation).copy()
        told[:, 5] = np.where(k >= 75, 0.75, told[:, 5])
        return told

    return command


def still(worlds: Worlds) -> Callable:
    """Holds where the episode began."""
    hold = worlds.hold.copy()
    return lambda k, observation: hold


def sweeping(worlds: Worlds) -> Callable:
    """Lowers the hand beside where objects lie, jaw shut, and sweeps across."""
    hold = worlds.hold.copy()
    low = np.array([0.0, 0.03, 0.495, 1.045, 1.62, 0.0])

    def command(k: int, observation: dict[str, np.ndarray]) -> np.ndarray:
        down, across = np.clip(k / 25, 0, 1), np.clip((k - 35) / 60, 0, 1)
        told = hold + down * (low - hold)
        told[:, 0] = (0.7 * down) - 1.4 * across
        return told

    return command


def changed(episode: Episode, name: str, change: Callable[[np.ndarray], np.ndarray]) -> Episode:
    """The same episode with the values of one signal changed."""
    channel = episode[name]
    values = change(np.array(channel.values, float))
    bent = Channel(values=values, time_s=channel.time_s, unit=channel.unit, names=channel.names)
    return replace(episode, signals={**episode.signals, name: bent})


def cut(episode: Episode, seconds: float) -> Episode:
    """The same episode, stopped early and failed."""
    signals = {}
    for name, c in episode.signals.items():
        keep = c.time_s < c.time_s[0] + seconds - 1e-9
        signals[name] = Channel(
            values=c.values[keep], time_s=c.time_s[keep], unit=c.unit, names=c.names
        )
    return failed(replace(episode, signals=signals))


def failed(episode: Episode) -> Episode:
    return replace(episode, outcome=Outcome.FAILURE)
