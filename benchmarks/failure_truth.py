"""Trials whose failures are known: played in a bent world, watched by sensors no robot has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trueup.episodes import Channel, Episode, Outcome
from trueup.evaluate import Begin, trials
from trueup.hardware.hidden import Hidden, rehearsed
from trueup.hardware.reality import Reality
from trueup.simulate import CpuWorlds, Step
from trueup.space import Points, Space
from trueup.worlds import Compiled, World, columns_of

_GRIP_N = 0.2  # of force through the object: less is a touch
_FIRM = 3  # turns in a row that make a grip
_SHUT_RAD = 0.03  # of the gripper: less than the thinnest cube needs
_KNOCKED_M = 0.012


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One trial as a robot records it, and what really went wrong.

    Attributes:
        episode: What a robot knows.
        truth: The main event by the simulator's own contact forces; empty for a success.
    """

    episode: Episode
    truth: str


def played(world: World, begin: Begin, reality: Reality, n: int, *, seed: int = 0) -> list[Trial]:
    """Play n trials in a reality, and judge each by contact forces and true places.

    Args:
        world: Robot, scene and task as everybody knows it.
        begin: Who plays.
        reality: What it really is.
        n: How many trials.
        seed: Where they begin.
    """
    seeds = trials(world.space, n, seed)[1]
    real = rehearsed(world, reality.beyond, world.control_period_s)
    columns = {name: np.full(n, value) for name, value in reality.point(world).items()}
    for effect in (e for e in real.effects() if isinstance(e, Hidden)):
        columns |= effect.episode(np.zeros(n), seeds)
    space = Space(tuple(real.catalogue[name] for name in columns))
    worlds = CpuWorlds(Compiled(real, space), n, threads=1)
    values = np.stack(list(columns.values()), axis=1) if columns else np.zeros((n, 0))
    observation = worlds.reset(Points(tuple(columns), values), seeds)
    controller, tape = begin(worlds), _Tape(n)
    for k in range(world.steps):
        command = np.asarray(controller(k, observation), float)
        step = worlds.step(command)
        tape.add(observation, command, step)
        observation = step.observation
    return [tape.trial(row, world) for row in range(n)]


class _Tape:
    """Readings before each command, and the simulator's own after it."""

    def __init__(self, n: int) -> None:
        self._read: list[dict[str, np.ndarray]] = []
        self._told: list[np.ndarray] = []
        self._true: list[dict[str, np.ndarray]] = []
        self._end, self._success = np.full(n, -1), np.zeros(n, bool)

    def add(self, observation: Mapping[str, np.ndarray], command: np.ndarray, step: Step) -> None:
        now = (self._end < 0) & np.asarray(step.done)
        self._success[now] = np.asarray(step.success)[now]
        self._end[now] = len(self._told) + 1
        self._read.append({name: values.copy() for name, values in observation.items()})
        self._told.append(command.copy())
        self._true.append({name: values.copy() for name, values in step.privileged.items()})

    def trial(self, row: int, world: World) -> Trial:
        turns = int(self._end[row]) if self._end[row] > 0 else len(self._told)
        time_s = world.control_period_s * np.arange(turns)
        columns = columns_of(world)
        signals = {
            signal.name: Channel(
                values=np.stack([read[signal.name][row] for read in self._read[:turns]]),
                time_s=time_s,
                unit=signal.unit,
                names=columns[signal.name],
            )
            for signal in world.observations
        }
        command = np.stack([told[row] for told in self._told[:turns]])
        signals["command"] = Channel(
            values=command, time_s=time_s, unit="rad", names=world.commands
        )
        good = bool(self._success[row])
        episode = Episode(
            signals=signals,
            period_s=world.control_period_s,
            outcome=Outcome.SUCCESS if good else Outcome.FAILURE,
            origin={"world": world.name, "real": False, "trial": row},
        )
        handled = "grip_force" in self._true[0]
        truth = "" if good or not handled else self._truth(row, turns, episode)
        return Trial(episode=episode, truth=truth)

    def _truth(self, row: int, turns: int, episode: Episode) -> str:
        true = {k: np.stack([t[k][row] for t in self._true[:turns]]) for k in self._true[0]}
        jaw = episode["joint_position"].values[:, -1].astype(float)
        command = episode["command"].values[:, -1]
        return true_event(true, jaw, command)


def true_event(true: Mapping[str, np.ndarray], jaw: np.ndarray, command: np.ndarray) -> str:
    """What went wrong in a failed grasp, by forces and places that no robot knows.

    A grip that was lost counts before a closing on nothing, and both before running out of time.
    """
    force = true["grip_force"]
    through = np.sqrt(np.clip(-(force[:, :3] * force[:, 3:]).sum(axis=1), 0.0, None))
    gripped = _firm(through > _GRIP_N)
    if gripped[-_FIRM:].any():
        return "timeout"
    if gripped.any():
        end = int(np.flatnonzero(gripped[:-1] & ~gripped[1:])[0])
        opened = command[max(0, end - 2) : end + 1] > jaw[max(0, end - 2) : end + 1] + 0.02
        return "miss" if opened.any() else "slip"
    cube = true["true_cube_position"]
    closing = np.flatnonzero(jaw < jaw[0] - 0.25)
    before = cube[: closing[0] if len(closing) else len(cube)]
    if np.linalg.norm(before - cube[0], axis=1).max(initial=0.0) > _KNOCKED_M:
        return "collision"
    return "miss" if (jaw < _SHUT_RAD).any() else "timeout"


def _firm(gripped: np.ndarray) -> np.ndarray:
    """Grips that last; gaps of one turn are bridged."""
    bridged = gripped.copy()
    bridged[1:-1] |= gripped[:-2] & gripped[2:]
    kept, start = np.zeros_like(bridged), 0
    for k in range(len(bridged) + 1):
        if k == len(bridged) or not bridged[k]:
            kept[start:k] = k - start >= _FIRM
            start = k + 1
    return kept
